"""Erasures whose mail must be looked for again."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Workspace


class Pending(models.Model):
    """One erasure, until no mail of the person waits; it contains no readable address."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    address_hash = models.BinaryField()  # keyed, as in the suppression list
    contact_ids = ArrayField(models.BigIntegerField())
    erased_at = models.DateTimeField(db_default=Now())
    look_at = models.DateTimeField()
