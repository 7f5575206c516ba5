"""Idempotency keys, and the monthly streams of senders."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Sender, Workspace


class IdempotencyKey(models.Model):
    """An accepted request: a repeat under its key gets the same receipt, also in later months.

    Callers write addresses into their keys: only keyed hashes of a key and of its request are kept.
    """

    pk = models.CompositePrimaryKey("workspace_id", "is_test", "key_hash")
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    is_test = models.BooleanField()
    key_hash = models.BinaryField()
    digest = models.BinaryField()  # of the request: another one under the key is refused
    mail_ids = ArrayField(models.TextField())
    created_at = models.DateTimeField(db_default=Now())
    look_at = models.DateTimeField()  # when it may have expired

    class Meta:
        indexes = (
            # Serves the deletion of expired keys.
            models.Index(fields=["look_at"], name="transactional_key_expiry"),
        )


class Flow(models.Model):
    """The stream that carries a sender's transactional mail in one month."""

    sender = models.ForeignKey(Sender, on_delete=models.PROTECT)
    month = models.IntegerField()
    is_test = models.BooleanField()
    stream_id = models.BigIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["sender", "month", "is_test"], name="transactional_flow_once"
            ),
        )
