"""The table of the leases of work; `work_leases` reads and writes it."""

from django.db import models


class WorkLease(models.Model):
    """A piece of work that one process does, and until when nobody else begins it."""

    pk = models.CompositePrimaryKey("work", "number")
    work = models.TextField()
    number = models.BigIntegerField()
    holder = models.UUIDField()
    until = models.DateTimeField()
