"""Who was erased a short while ago, as far as their mail is still to be looked for."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Workspace


class Pending(models.Model):
    """One erasing, until no mail is left that waits; no address can be read from it."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    address_hash = models.BinaryField()  # salted, as in the suppression list
    contact_ids = ArrayField(models.BigIntegerField())
    erased_at = models.DateTimeField(db_default=Now())
    look_at = models.DateTimeField()
