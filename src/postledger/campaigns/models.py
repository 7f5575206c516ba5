"""Campaigns, and each launch of one: what was frozen then, and how far its audience is planned."""

from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Sender, Workspace
from postledger.campaigns.states import Ending


class Campaign(models.Model):
    """What is to be said, to whom and when; it changes until it is launched, and for later runs."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    tag = models.TextField()
    name = models.TextField()
    sender = models.ForeignKey(Sender, on_delete=models.PROTECT, db_index=False)
    list_key = models.TextField(db_default="")  # empty: all that the workspace sends
    audience = models.JSONField(db_default={})  # a filter, as contacts.filter_parsing reads it
    material = models.JSONField()
    timing = models.JSONField(db_default={})
    created_by = models.TextField()
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            # Serves the look-up by tag.
            models.UniqueConstraint(fields=["workspace", "tag"], name="campaigns_campaign_once"),
            models.CheckConstraint(
                condition=models.Q(tag__regex=r"^[a-z0-9-]{1,200}$"), name="campaigns_campaign_tag"
            ),
        )
        indexes = (
            # Serves a workspace's campaigns, newest first.
            models.Index(fields=["workspace", "-id"], name="campaigns_campaign_newest"),
        )


class Run(models.Model):
    """One launch: what it says to whom is frozen here; its cursor is committed with its lines."""

    id = models.UUIDField(primary_key=True, db_default=RandomUUID())
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, db_index=False)
    batch_id = models.UUIDField()  # the caller's name for this launch: repeated, it is the same one
    input_digest = models.BinaryField()
    # The first of the runs that share their recipients: nobody gets mail of two of them.
    root = models.ForeignKey("self", on_delete=models.PROTECT, null=True, db_index=False)
    stream_id = models.BigIntegerField()
    is_test = models.BooleanField()
    actor = models.TextField()
    article_key = models.TextField(db_default="")  # of the article it says; else empty
    # The page of Notion it says.
    mailout = models.ForeignKey("Mailout", on_delete=models.PROTECT, null=True, db_index=False)
    launched_at = models.DateTimeField()
    # By the database's clock, which says when a contact came, too: who came later is not meant.
    frozen_at = models.DateTimeField(db_default=Now())
    list_key = models.TextField()
    audience = models.JSONField()
    letters = models.JSONField()  # how a recipient's letter is chosen, as campaigns.frozen reads it
    waves = models.JSONField()
    # Where planning goes on: the wave, and the last place in it.
    cursor_wave = models.IntegerField(db_default=0)
    cursor_place = models.TextField(db_default="", db_collation="C")
    excluded = models.JSONField(db_default={})  # how many of the audience are not planned, by why
    trouble = models.TextField(db_default="")  # why planning does not go on
    trouble_since = models.DateTimeField(null=True)
    planned_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_as = models.TextField(null=True)
    ended_by = models.TextField(db_default="")

    class Meta:
        constraints = (
            # Serves the look-up of a launch that is asked for again.
            models.UniqueConstraint(fields=["campaign", "batch_id"], name="campaigns_run_once"),
            # Serves the way from a stream to its run.
            models.UniqueConstraint(fields=["stream_id"], name="campaigns_run_of_stream"),
            models.CheckConstraint(
                condition=models.Q(ended_as=None, ended_at=None)
                | models.Q(
                    ended_as__in=sorted(ending.value for ending in Ending), ended_at__isnull=False
                ),
                name="campaigns_run_ended",
            ),
        )
        indexes = (
            # Serves a campaign's runs, newest first.
            models.Index(fields=["campaign", "-stream_id"], name="campaigns_run_of_campaign"),
            # Serves the runs that share recipients.
            models.Index(
                fields=["root"],
                condition=models.Q(root__isnull=False),
                name="campaigns_run_of_root",
            ),
            # Serves the runs of a page.
            models.Index(
                fields=["mailout"],
                condition=models.Q(mailout__isnull=False),
                name="campaigns_run_of_mailout",
            ),
            # Serves those that watch over runs which are not over.
            models.Index(
                fields=["launched_at"],
                condition=models.Q(ended_at=None),
                name="campaigns_run_alive",
            ),
        )


class Variant(models.Model):
    """Which letter of a run's stream serves some of its readers; without one, why none does."""

    pk = models.CompositePrimaryKey("run_id", "digest")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, db_index=False)
    digest = models.BinaryField()  # of the variant, which may be too long for an index
    variant = models.TextField(db_collation="C")  # their language, or their places
    letter = models.SmallIntegerField(null=True)
    code = models.TextField(db_default="")


class Mailout(models.Model):
    """A page of Notion that was to be mailed, and what its row was told of it there."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    page_id = models.UUIDField()
    sent_at = models.DateTimeField(null=True)  # when everything had a result for the first time
    # What stands in the row; told_at is null while that is not all there is to say.
    told_at = models.DateTimeField(null=True)
    sent_count = models.BigIntegerField(null=True)
    failed_count = models.BigIntegerField(null=True)
    word = models.TextField(db_default="")
    trouble = models.TextField(db_default="")  # why Notion could not be told
    tell_after = models.DateTimeField(null=True)  # not before, because it was refused

    class Meta:
        constraints = (
            # Serves the look-up by page.
            models.UniqueConstraint(fields=["workspace", "page_id"], name="campaigns_mailout_once"),
        )


class ErrorRow(models.Model):
    """One row of the table of errors in Notion, to be written or written already.

    It holds no address: that is read from the books when the row is written.
    """

    mailout = models.ForeignKey(Mailout, on_delete=models.CASCADE, db_index=False)
    reference = models.TextField()  # a delivery's id, else what the error is about
    code = models.TextField()
    detail = models.TextField(db_default="")
    at = models.DateTimeField(db_default=Now())
    begun_at = models.DateTimeField(null=True)  # from then on it may be there
    written_at = models.DateTimeField(null=True)
    write_after = models.DateTimeField(null=True)  # not before, because it was refused
    refusals = models.SmallIntegerField(db_default=0)

    class Meta:
        constraints = (
            # An error is told once, however often it is looked at.
            models.UniqueConstraint(
                fields=["mailout", "reference", "code"], name="campaigns_errorrow_once"
            ),
        )
        indexes = (
            # Serves those that are to be written, the oldest first.
            models.Index(
                fields=["id"],
                condition=models.Q(written_at=None),
                name="campaigns_errorrow_unwritten",
            ),
        )
