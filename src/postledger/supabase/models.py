"""The progress of the sync with Supabase, the contacts it created, and the rows that failed."""

from enum import StrEnum

from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Workspace


class RowFailure(StrEnum):
    """What could not be done with a row."""

    NOT_APPLIED = "not_applied"  # here
    NOT_WRITTEN = "not_written"  # to Supabase
    NOT_FOUND = "not_found"  # in Supabase, where it was before


class Sync(models.Model):
    """The pass over a workspace's subscribers; its cursor is the last email that was applied.

    Cursor, counts and problems are committed together with the changes of the rows before it.
    """

    workspace = models.OneToOneField(Workspace, on_delete=models.PROTECT, primary_key=True)
    cursor = models.TextField(db_default="")
    pass_count = models.BigIntegerField(db_default=0)  # how many started: this one's number
    requested_pass = models.BigIntegerField(db_default=0)  # by the last launch that waits for one
    complete_pass = models.BigIntegerField(db_default=0)  # the last that ended without a failure
    started_at = models.DateTimeField(null=True)  # None: no pass is running
    finished_at = models.DateTimeField(null=True)  # of the last pass that read every row
    # Of this pass, or of the last one when none is running.
    read_count = models.BigIntegerField(db_default=0)
    created_count = models.BigIntegerField(db_default=0)
    renamed_count = models.BigIntegerField(db_default=0)
    ended_count = models.BigIntegerField(db_default=0)
    written_count = models.BigIntegerField(db_default=0)
    gone_count = models.BigIntegerField(db_default=0)
    returned_count = models.BigIntegerField(db_default=0)
    # Why the pass does not continue, or failed at its end, and since when.
    trouble = models.TextField(null=True)
    troubled_at = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True)  # after a failure: not before


class Subscriber(models.Model):
    """A contact that was created from a row of Supabase, and the last pass that saw the row.

    The row is identified by the keyed hash of its address: a contact that gets another address
    here is no longer that row's.
    """

    # Serves the erasure of a contact.
    contact = models.OneToOneField("contacts.Contact", on_delete=models.PROTECT, primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    row_hash = models.BinaryField()
    seen_in = models.BigIntegerField(db_default=0)  # the number of the pass; in no index: it moves
    # When a pass found the row missing and deleted the contact; None: it did not.
    gone_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            # Serves the marking of a page's rows, and the look-up of rows that exist again.
            models.UniqueConstraint(
                fields=["workspace", "row_hash"], name="supabase_subscriber_once"
            ),
        )


class SyncProblem(models.Model):
    """A row that could not be applied, written or found; deleted by a pass without the problem.

    The row is identified by the keyed hash of its email, and shown by a masked one.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    row_hash = models.BinaryField()
    failure = models.TextField()
    shown = models.TextField()
    problem = models.TextField()
    since = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            # Serves the look-up of a row's problems, and the list of a workspace's.
            models.UniqueConstraint(
                fields=["workspace", "row_hash", "failure"], name="supabase_syncproblem_once"
            ),
            models.CheckConstraint(
                condition=models.Q(failure__in=sorted(failure.value for failure in RowFailure)),
                name="supabase_syncproblem_failure",
            ),
        )
