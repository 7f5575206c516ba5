"""Who may be mailed: a workspace's contacts, and the addresses it must not mail."""

from django.db import models
from django.db.models.functions import Lower, Now

from postledger.accounts.models import Workspace


class Contact(models.Model):
    """A person a workspace knows by an address; a deleted one is never mailed."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    address = models.TextField()
    external_id = models.TextField(null=True)  # the workspace's own name for this person
    name = models.TextField(default="")
    created_at = models.DateTimeField(db_default=Now())
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                "workspace",
                Lower("address"),
                condition=models.Q(deleted_at=None),
                name="contacts_contact_once",
            ),
            models.UniqueConstraint(
                fields=["workspace", "external_id"],
                condition=models.Q(deleted_at=None),
                name="contacts_contact_external_once",
            ),
        )


class Suppression(models.Model):
    """An address that a workspace must not mail, whatever the mail is."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    address = models.TextField()
    reason = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(
                "workspace", Lower("address"), name="contacts_suppression_once"
            ),
        )
