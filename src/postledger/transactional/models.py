"""What makes a repeated request the same request, and which stream carries a sender's mail."""

from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Sender, Workspace


class IdempotencyKey(models.Model):
    """A request that was taken under a key: asked again, it gets the same answer.

    In a table of its own, not in monthly parts: a month's end does not make a key new.
    """

    pk = models.CompositePrimaryKey("workspace_id", "key")
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    key = models.TextField()
    digest = models.BinaryField()  # of the request's body: another body under the key is refused
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
