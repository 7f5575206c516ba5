"""Alerts, when a worker last looked for them, and the last recounts of the books."""

from django.db import models

from postledger.accounts.models import Workspace


class Alert(models.Model):
    """Something that needs a person; open until its cause ends.

    A cause that comes back soon opens the same row again, so that nobody is told twice.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    cause = models.TextField()
    subject = models.TextField(default="")  # an address, a topic; empty: the workspace
    first_at = models.DateTimeField()  # when the cause began
    last_at = models.DateTimeField()  # when it was last seen
    count = models.BigIntegerField()  # mails or streams, when it was last seen
    times = models.IntegerField(default=1)  # how often it came
    data = models.JSONField(default=dict)
    opened_at = models.DateTimeField()
    told_at = models.DateTimeField(null=True)  # when a mail to the members was put into the ledger
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "cause", "subject"],
                condition=models.Q(closed_at=None),
                name="alerts_alert_open_once",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    cause__in=(
                        "no_worker",
                        "books_unbalanced",
                        "sender_held",
                        "no_feedback",
                        "in_doubt",
                        "failed_notifications",
                    )
                ),
                name="alerts_alert_cause",
            ),
        )
        # Serves the pages of a workspace's alerts, the newest first.
        indexes = (models.Index(fields=["workspace", "-id"], name="alerts_alert_newest"),)


class Watch(models.Model):
    """One row: when a worker last looked for alerts."""

    id = models.BooleanField(primary_key=True, default=True)
    watched_at = models.DateTimeField()


class Recount(models.Model):
    """The last recount of a stream's books by the workers."""

    stream_id = models.BigIntegerField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    counted_at = models.DateTimeField()
    seconds = models.FloatField()  # it took
    wrong_since = models.DateTimeField(null=True)  # None: the books balance

    class Meta:
        # Serves the streams whose books are wrong; there are few.
        indexes = (
            models.Index(
                fields=["workspace"],
                condition=models.Q(wrong_since__isnull=False),
                name="alerts_recount_wrong",
            ),
        )
