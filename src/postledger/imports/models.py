"""Imports: which file, how far it is read, what came of its rows, and what is wrong with some."""

from enum import StrEnum

from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Workspace


class ImportState(StrEnum):
    """What is to be done with the file, and by whom."""

    UPLOADED = "uploaded"  # somebody is to say what its columns are, and to start it
    PREVIEWING = "previewing"  # a worker finds out what it would do
    RUNNING = "running"  # it goes on, or can be resumed
    FINISHED = "finished"  # every row of the file is accounted for
    ABANDONED = "abandoned"  # somebody ended it; what it had imported stays


class Import(models.Model):
    """One file on its way into a workspace's contacts. Its cursor is where the next row begins."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    list = models.ForeignKey("contacts.List", on_delete=models.PROTECT, null=True, db_index=False)
    file_name = models.TextField()
    sha256 = models.TextField()
    byte_count = models.BigIntegerField()
    row_count = models.BigIntegerField()  # without the header
    mapping = models.JSONField()  # what each column is; of an upload, once somebody said so
    state = models.TextField(db_default=ImportState.RUNNING.value)
    # Both are committed together with what the rows before them came to.
    cursor_byte = models.BigIntegerField()
    cursor_row = models.BigIntegerField(db_default=2)  # as spreadsheets count: the header is row 1
    # What came of each row; the sum of these is the number of rows that were read.
    created_count = models.BigIntegerField(db_default=0)
    updated_count = models.BigIntegerField(db_default=0)
    unchanged_count = models.BigIntegerField(db_default=0)
    duplicate_count = models.BigIntegerField(db_default=0)
    refused_count = models.BigIntegerField(db_default=0)
    blank_count = models.BigIntegerField(db_default=0)
    # What came of those with a contact, as to the list.
    subscribed_count = models.BigIntegerField(db_default=0)
    kept_back_count = models.BigIntegerField(db_default=0)
    problem_count = models.BigIntegerField(db_default=0)  # of all problems; the first are kept
    actor = models.TextField()
    # Of a file that came over HTTP: how it is read, its header and first rows; what the dry run
    # found; and what kept a worker from going on, with the time at which one tries again.
    upload = models.JSONField(null=True)
    preview = models.JSONField(null=True)
    trouble = models.TextField(null=True)
    due_at = models.DateTimeField(db_default=Now())
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    changed_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=sorted(state.value for state in ImportState)),
                name="imports_import_state",
            ),
            # Every row before the cursor came to something, and to one thing.
            models.CheckConstraint(
                condition=models.Q(
                    cursor_row=2
                    + models.F("created_count")
                    + models.F("updated_count")
                    + models.F("unchanged_count")
                    + models.F("duplicate_count")
                    + models.F("refused_count")
                    + models.F("blank_count")
                ),
                name="imports_import_balances",
            ),
        )
        indexes = (
            # Serves a workspace's imports, newest first.
            models.Index(fields=["workspace", "-id"], name="imports_import_newest"),
            # Serves workers that look for work, every few seconds; of few rows.
            models.Index(
                fields=["due_at"],
                condition=models.Q(state__in=["previewing", "running"]),
                name="imports_import_due",
            ),
        )


class FilePart(models.Model):
    """A piece of an uploaded file: web and workers share a database, and perhaps no folder."""

    of_import = models.ForeignKey(Import, on_delete=models.CASCADE, db_index=False)
    number = models.IntegerField()
    content = models.BinaryField()

    class Meta:
        constraints = (
            # Serves the file, in the order of its parts.
            models.UniqueConstraint(fields=["of_import", "number"], name="imports_filepart_once"),
        )


class ImportProblem(models.Model):
    """A row that was not imported as it stands, and why; a line of the error file."""

    of_import = models.ForeignKey(Import, on_delete=models.CASCADE, db_index=False)
    row_number = models.BigIntegerField()
    column_name = models.TextField()
    value = models.TextField()
    problem = models.TextField()
    remedy = models.TextField()

    class Meta:
        indexes = (
            # Serves the error file, in the order of the rows.
            models.Index(fields=["of_import", "row_number"], name="imports_problem_of_import"),
        )
