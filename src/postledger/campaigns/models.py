"""Campaigns, their runs with the frozen content and the planning cursor, and mailed pages."""

from typing import override

from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Sender, Workspace
from postledger.campaigns.states import Ending
from postledger.mailing.models import LetterStream


class KeptCampaigns(models.Manager["Campaign"]):
    """Campaigns that nobody deleted."""

    @override
    def get_queryset(self) -> "models.QuerySet[Campaign]":
        return super().get_queryset().filter(deleted_at=None)


class Campaign(models.Model):
    """Content, audience and timing; changes affect only later runs.

    A deleted one is emptied, and keeps its row for its tests, whose mail stays in the books.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    tag = models.TextField()
    name = models.TextField()
    sender = models.ForeignKey(Sender, on_delete=models.PROTECT, db_index=False)
    list_key = models.TextField(db_default="")  # empty: all that the workspace sends
    # Made on a page, where nobody has chosen yet between the lists and all contacts.
    lacks_list = models.BooleanField(db_default=False)
    # What it is a copy of.
    origin = models.ForeignKey("self", on_delete=models.PROTECT, null=True, db_index=False)
    audience = models.JSONField(db_default={})  # a filter for contacts.filters.parsing
    content = models.JSONField()  # see mailing.content_source
    # The text of its own while its content is of another kind, for who writes it; nothing sends it.
    kept_text = models.JSONField(null=True)
    timing = models.JSONField(db_default={})  # see mailing.send_times
    # Hours of each contact's own day, as `accounts.working_hours` writes them; None: always.
    delivery_window = models.JSONField(null=True)
    created_by = models.TextField()
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    deleted_at = models.DateTimeField(null=True)

    objects = KeptCampaigns()
    with_deleted = models.Manager()  # noqa: DJ012  no field, as ruff takes it for

    class Meta:
        constraints = (
            # Serves the lookup by tag; that of a deleted campaign is free.
            models.UniqueConstraint(
                fields=["workspace", "tag"],
                condition=models.Q(deleted_at=None),
                name="campaigns_campaign_once",
            ),
            models.CheckConstraint(
                condition=models.Q(tag__regex=r"^[a-z0-9-]{1,200}$"), name="campaigns_campaign_tag"
            ),
        )
        indexes = (
            # Serves a workspace's campaigns, newest first.
            models.Index(fields=["workspace", "-id"], name="campaigns_campaign_newest"),
        )


class Run(models.Model):
    """One launch, with its frozen content and audience; its cursor is committed with its mails."""

    id = models.UUIDField(primary_key=True, db_default=RandomUUID())
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, db_index=False)
    launch_id = models.UUIDField()  # the caller's name for this launch: a repeat is the same run
    input_digest = models.BinaryField()
    # The first run of a lineage: each recipient gets mail of one of its runs only.
    root = models.ForeignKey("self", on_delete=models.PROTECT, null=True, db_index=False)
    stream_id = models.BigIntegerField()
    is_test = models.BooleanField()
    is_sandboxed = models.BooleanField()  # of a test key: nobody gets it
    # Whose values fill the mails of a test; no foreign key, because the person may be erased.
    test_contact_id = models.BigIntegerField(null=True)
    actor = models.TextField()
    article_key = models.TextField(db_default="")  # empty: its content is no article
    mailout = models.ForeignKey("Mailout", on_delete=models.PROTECT, null=True, db_index=False)
    launched_at = models.DateTimeField()
    # By the database's clock, as a contact's created_at: later contacts get no mail.
    frozen_at = models.DateTimeField(db_default=Now())
    # The pass over the subscribers of Supabase that must end before planning; None: no pass.
    awaited_pass = models.BigIntegerField(null=True)
    # When that pass had ended, by the database's clock; then this decides in place of frozen_at.
    synced_at = models.DateTimeField(null=True)
    list_key = models.TextField()
    audience = models.JSONField()
    letter_choice = models.JSONField()  # how a recipient's letter is chosen: mailing.snapshot
    waves = models.JSONField()
    # Where planning resumes: the wave, and the last address in it.
    cursor_wave = models.IntegerField(db_default=0)
    cursor_address = models.TextField(db_default="", db_collation="C")
    excluded = models.JSONField(db_default={})  # counts of contacts without mail, by cause
    # Why planning stopped, as `lib.sentences` writes it.
    trouble = models.JSONField(db_default="")
    trouble_since = models.DateTimeField(null=True)
    planned_at = models.DateTimeField(null=True)
    first_mail_at = models.DateTimeField(null=True)  # when its first acceptance was noticed
    ended_at = models.DateTimeField(null=True)
    ended_as = models.TextField(null=True)
    ended_by = models.TextField(db_default="")

    class Meta:
        constraints = (
            # Serves the lookup of a repeated launch.
            models.UniqueConstraint(fields=["campaign", "launch_id"], name="campaigns_run_once"),
            # Serves the lookup by stream.
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
            # Serves the runs of a lineage.
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
            # Serves planning and ending of live runs.
            models.Index(
                fields=["launched_at"],
                condition=models.Q(ended_at=None),
                name="campaigns_run_alive",
            ),
        )

    @property
    def letter_stream(self) -> LetterStream:
        """Where its letters go, with what each of them says of the run."""
        return LetterStream(
            self.stream_id, self.workspace_id, self.list_key, str(self.pk), is_test=self.is_test
        )


class ExcludedContact(models.Model):
    """A contact of a run's audience that got no mail of it, and why."""

    pk = models.CompositePrimaryKey("run_id", "contact_id")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, db_index=False)
    # No foreign key: contacts are deleted by statements that know nothing of runs.
    contact_id = models.BigIntegerField()
    reason = models.TextField()

    class Meta:
        indexes = (
            # Serves the erasure of a person.
            models.Index(fields=["contact_id"], name="campaigns_excluded_contact"),
        )


class Mailout(models.Model):
    """A Notion page that was to be mailed, and the last status report that was written to it."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    page_id = models.UUIDField()
    sent_at = models.DateTimeField(null=True)  # when all mails had a result for the first time
    # The last report; reported_at is null while a further one must follow.
    reported_at = models.DateTimeField(null=True)
    sent_count = models.BigIntegerField(null=True)
    failed_count = models.BigIntegerField(null=True)
    word = models.TextField(db_default="")
    # What providers reported, as it was last written.
    delivered_count = models.BigIntegerField(db_default=0)
    bounced_count = models.BigIntegerField(db_default=0)
    complained_count = models.BigIntegerField(db_default=0)
    counted_at = models.DateTimeField(null=True)
    trouble = models.TextField(db_default="")  # why the report could not be written
    report_after = models.DateTimeField(null=True)  # the next try, after Notion refused one

    class Meta:
        constraints = (
            # Serves the lookup by page.
            models.UniqueConstraint(fields=["workspace", "page_id"], name="campaigns_mailout_once"),
        )


class ErrorRow(models.Model):
    """One row of the error table in Notion, to be written or already written.

    It contains no address: that is read from the books when the row is written.
    """

    mailout = models.ForeignKey(Mailout, on_delete=models.CASCADE, db_index=False)
    reference = models.TextField()  # a delivery's id, or the subject of the error
    code = models.TextField()
    detail = models.TextField(db_default="")
    at = models.DateTimeField(db_default=Now())
    begun_at = models.DateTimeField(null=True)  # from then on it may be in Notion
    written_at = models.DateTimeField(null=True)
    write_after = models.DateTimeField(null=True)  # the next try, after Notion refused one
    refusals = models.SmallIntegerField(db_default=0)

    class Meta:
        constraints = (
            # An error is written once, however often it is found.
            models.UniqueConstraint(
                fields=["mailout", "reference", "code"], name="campaigns_errorrow_once"
            ),
        )
        indexes = (
            # Serves the unwritten rows, the oldest first.
            models.Index(
                fields=["id"],
                condition=models.Q(written_at=None),
                name="campaigns_errorrow_unwritten",
            ),
        )
