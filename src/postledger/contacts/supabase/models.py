"""How far the sync with Supabase is, who came by it, and which rows made trouble."""

from enum import StrEnum

from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Workspace


class Way(StrEnum):
    """In which direction a row did not go."""

    TAKEN = "taken"  # from Supabase to here
    WRITTEN = "written"  # from here to Supabase
    FOUND = "found"  # in Supabase, where it was before


class SupabaseSync(models.Model):
    """The pass over a workspace's subscribers; its cursor is the last email that is done with.

    Cursor, counts and problems are committed together with what the rows before it came to.
    """

    workspace = models.OneToOneField(Workspace, on_delete=models.PROTECT, primary_key=True)
    cursor = models.TextField(db_default="")
    pass_count = models.BigIntegerField(db_default=0)  # how many have begun: the number of this one
    started_at = models.DateTimeField(null=True)  # None: no pass is under way
    finished_at = models.DateTimeField(null=True)  # of the last whole pass
    # What came of the rows of this pass; of the last one when none is under way.
    read_count = models.BigIntegerField(db_default=0)
    created_count = models.BigIntegerField(db_default=0)
    renamed_count = models.BigIntegerField(db_default=0)
    ended_count = models.BigIntegerField(db_default=0)
    written_count = models.BigIntegerField(db_default=0)
    gone_count = models.BigIntegerField(db_default=0)
    returned_count = models.BigIntegerField(db_default=0)
    # Why the pass does not go on, or did not end as it should, and since when.
    trouble = models.TextField(null=True)
    troubled_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "contacts"


class SupabaseSubscriber(models.Model):
    """A contact that came from a row of Supabase, and the last pass that saw the row there.

    The row is known by the salted hash of its address: a contact that was given another address
    here is no longer that row's.
    """

    # Serves the erasing of a contact.
    contact = models.OneToOneField("contacts.Contact", on_delete=models.PROTECT, primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    row_hash = models.BinaryField()
    seen_in = models.BigIntegerField(db_default=0)  # the number of the pass; in no index: it moves
    # When a pass found the row missing and deleted the contact; None: it did not.
    gone_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "contacts"
        constraints = (
            # Serves the marking of those that a page has, and the look-up of who comes back.
            models.UniqueConstraint(
                fields=["workspace", "row_hash"], name="contacts_supabase_subscriber_once"
            ),
        )


class SupabaseProblem(models.Model):
    """A row that could not be taken or written, or rows that were not found any more;
    it goes when a pass finds nothing wrong.

    The row is known by the salted hash of its email, and shown by a masked one.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    row_hash = models.BinaryField()
    way = models.TextField()
    shown = models.TextField()
    problem = models.TextField()
    since = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        app_label = "contacts"
        constraints = (
            # Serves the look-up of a row's problems, and the list of a workspace's.
            models.UniqueConstraint(
                fields=["workspace", "row_hash", "way"], name="contacts_supabase_problem_once"
            ),
            models.CheckConstraint(
                condition=models.Q(way__in=sorted(way.value for way in Way)),
                name="contacts_supabase_problem_way",
            ),
        )
