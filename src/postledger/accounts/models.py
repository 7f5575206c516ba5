"""Who sends: workspaces, and the From identities they send with."""

from django.db import models
from django.db.models.functions import Now


class Workspace(models.Model):
    """A tenant: nothing is ever shared between two of them."""

    name = models.TextField()
    created_at = models.DateTimeField(db_default=Now())


class Sender(models.Model):
    """A From identity; limits and holds apply to it as a whole."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    address = models.TextField()
    name = models.TextField(default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["workspace", "address"], name="accounts_sender_once"),
        )
