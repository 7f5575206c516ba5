"""Imports: the file, how far it is read, the results of its rows, and their problems."""

from enum import StrEnum

from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Workspace


class ImportState(StrEnum):
    """What happens next with the file."""

    UPLOADED = "uploaded"  # a person maps its columns and starts it
    PREVIEWING = "previewing"  # a worker makes a dry run
    RUNNING = "running"  # a worker or a command imports it, or can resume it
    FINISHED = "finished"  # every row has its result
    ABANDONED = "abandoned"  # a person ended it; imported rows stay


class Import(models.Model):
    """The import of one file. Its cursor is the position of the next row."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    list = models.ForeignKey("contacts.List", on_delete=models.PROTECT, null=True, db_index=False)
    file_name = models.TextField()
    sha256 = models.TextField()
    byte_count = models.BigIntegerField()
    row_count = models.BigIntegerField()  # without the header
    mapping = models.JSONField()  # the field of each column; empty until an upload is mapped
    state = models.TextField(db_default=ImportState.RUNNING.value)
    # Committed together with the results of the rows before it.
    cursor_byte = models.BigIntegerField()
    cursor_row = models.BigIntegerField(db_default=2)  # as spreadsheets count: the header is row 1
    # The results of the rows; their sum is the number of rows that were read.
    created_count = models.BigIntegerField(db_default=0)
    updated_count = models.BigIntegerField(db_default=0)
    unchanged_count = models.BigIntegerField(db_default=0)
    duplicate_count = models.BigIntegerField(db_default=0)
    refused_count = models.BigIntegerField(db_default=0)
    blank_count = models.BigIntegerField(db_default=0)
    # Of the rows with a contact: subscribed to the list, or not.
    subscribed_count = models.BigIntegerField(db_default=0)
    kept_back_count = models.BigIntegerField(db_default=0)
    kept_back_reasons = models.JSONField(db_default={})  # how many by reason
    problem_count = models.BigIntegerField(db_default=0)  # of all problems; the first are kept
    actor = models.TextField()
    # Of a file that came over HTTP: its dialect, header and first rows; the result of the dry run;
    # the error that stopped a worker, and the time of the next try.
    upload = models.JSONField(null=True)
    preview = models.JSONField(null=True)
    trouble = models.JSONField(null=True)
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
            # Every row before the cursor has exactly one result.
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
    """A piece of an uploaded file. It is in the database, which web and workers share."""

    of_import = models.ForeignKey(Import, on_delete=models.CASCADE, db_index=False)
    number = models.IntegerField()
    content = models.BinaryField()

    class Meta:
        constraints = (
            # Serves the file, in the order of its parts.
            models.UniqueConstraint(fields=["of_import", "number"], name="imports_filepart_once"),
        )


class ImportProblem(models.Model):
    """A row that was not imported unchanged, and why; a line of the error file."""

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
