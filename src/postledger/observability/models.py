"""The totals of what all processes counted."""

from django.contrib.postgres.fields import ArrayField
from django.db import models


class MetricTotal(models.Model):
    """One series; a few dozen rows in all, whatever the ledger holds."""

    pk = models.CompositePrimaryKey("name", "labels")
    name = models.TextField()
    labels = ArrayField(models.TextField())  # values, in the order of the catalogue
    value = models.FloatField()
