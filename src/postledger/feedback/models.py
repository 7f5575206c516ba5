"""The topics and webhooks that we listen to, the messages that came, and events without a mail."""

from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import ProviderAccount, Workspace


class Topic(models.Model):
    """An SNS topic of one account; only its messages are believed, and only for its workspace."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    account = models.ForeignKey(ProviderAccount, on_delete=models.PROTECT)
    arn = models.TextField()
    # Empty: the messages come by HTTPS.
    queue_url = models.TextField(db_default="")
    created_at = models.DateTimeField(db_default=Now())
    # By ConfirmSubscription, of a topic that posts to us.
    confirmed_at = models.DateTimeField(null=True)
    # Of a queue: when it last answered, and why it does not. A topic that posts to us has a
    # trouble once its subscription was ended.
    last_polled_at = models.DateTimeField(null=True)
    trouble = models.TextField(db_default="")
    # No longer listened to; a message that still comes is refused as unknown.
    removed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["arn"], condition=models.Q(removed_at=None), name="feedback_topic_once"
            ),
            # Whoever polls a queue believes the messages of one topic only.
            models.UniqueConstraint(
                fields=["queue_url"],
                condition=models.Q(removed_at=None) & ~models.Q(queue_url=""),
                name="feedback_queue_once",
            ),
        )


class WebhookKey(models.Model):
    """The public key of one account's event webhook at SendGrid; what it signed is believed.

    Several are in use while the key is changed.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    account = models.ForeignKey(ProviderAccount, on_delete=models.PROTECT)
    public_key = models.TextField()  # in base64, as SendGrid shows it
    webhook_id = models.TextField(db_default="")  # SendGrid's; empty: not known
    created_at = models.DateTimeField(db_default=Now())
    last_used_at = models.DateTimeField(null=True)  # to the minute; None: it has signed nothing
    # No longer believed.
    removed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            # A post for one account cannot be sent to another again.
            models.UniqueConstraint(
                fields=["public_key"],
                condition=models.Q(removed_at=None),
                name="feedback_webhook_key_once",
            ),
        )


class InboxMessage(models.Model):
    """One message of a provider as it came, with one event or many; applied later, in bulk.

    It goes once it was applied. One that cannot be applied stays, with its fault.
    """

    # References are written by those who have just read the account, which is never deleted.
    account = models.ForeignKey(
        ProviderAccount, on_delete=models.PROTECT, db_constraint=False, db_index=False
    )
    message_id = models.TextField()  # the provider's
    body = models.TextField()  # the events alone: without envelope and signature
    sent_at = models.DateTimeField(null=True)  # as the provider says
    received_at = models.DateTimeField(db_default=Now())
    fault = models.TextField(db_default="")  # why it is not applied
    failed_at = models.DateTimeField(null=True)  # when applying it failed; None: it was refused

    class Meta:
        # Serves the application, which takes the oldest first.
        indexes = (
            models.Index(
                fields=["id"], condition=models.Q(fault=""), name="feedback_inbox_waiting"
            ),
        )


class ReceivedMessage(models.Model):
    """The id of a message, so that a repetition of it is not stored again; kept for 30 days."""

    pk = models.CompositePrimaryKey("account_id", "message_id")
    account_id = models.BigIntegerField()
    message_id = models.TextField()
    received_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["received_at"], name="feedback_received_at"),)


class UnmatchedEvent(models.Model):
    """An event that could not be applied to a mail, and why; without address, for 30 days."""

    account = models.ForeignKey(ProviderAccount, on_delete=models.PROTECT)
    key = models.TextField()  # the same for every repetition
    kind = models.TextField()
    name = models.TextField()  # the provider's own
    why = models.TextField()
    reference = models.TextField(db_default="")
    provider_id = models.TextField(db_default="")
    happened_at = models.DateTimeField(null=True)
    received_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["account", "key"], name="feedback_unmatched_once"),
        )
        indexes = (
            models.Index(fields=["account", "-received_at"], name="feedback_unmatched_newest"),
            models.Index(fields=["received_at"], name="feedback_unmatched_at"),
        )
