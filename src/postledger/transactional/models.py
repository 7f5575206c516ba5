"""Idempotency keys, and the monthly streams of senders."""

from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Sender, Workspace


class IdempotencyKey(models.Model):
    """An accepted request: a repeat under its key gets the same receipt, also in later months."""

    pk = models.CompositePrimaryKey("workspace_id", "is_test", "key")
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    is_test = models.BooleanField()
    key = models.TextField()
    digest = models.BinaryField()  # of the request: another one under the key is refused
    answer = models.JSONField()
    created_at = models.DateTimeField(db_default=Now())


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
