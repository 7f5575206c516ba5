"""What a worker does with uploaded files: dry runs and imports, each by one worker at a time."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from itertools import islice
from typing import LiteralString

import structlog
from django.db import InterfaceError, OperationalError, connection
from django.db.models.functions import Now

from postledger.contacts import sql
from postledger.contacts.importing import (
    columns,
    holding,
    preview,
    records,
    running,
    uploads,
)
from postledger.contacts.importing.models import Import, ImportState
from postledger.contacts.importing.preview import Preview
from postledger.contacts.importing.problems import Problem
from postledger.contacts.importing.refusals import ImportAbandonedError
from postledger.contacts.importing.running import Progress
from postledger.lib.errors import RefusedError

_log = structlog.get_logger(__name__)

# What went wrong once is tried again after so long.
PATIENCE = timedelta(minutes=1)

_SHOWN_PROBLEMS = 20
_SHOWN_REASONS = 10

type IsStopping = Callable[[], bool]


class _StoppedError(Exception):
    """Somebody wants the worker, or this work, to end."""


# People wait for a dry run; an import goes on by itself. Those of the command have no upload.
_DUE: LiteralString = """
SELECT workspace_id, id FROM contacts_import
WHERE state IN ('previewing', 'running') AND due_at <= statement_timestamp() AND upload IS NOT NULL
ORDER BY state, due_at LIMIT 100
"""


def do_next(is_stopping: IsStopping) -> bool:
    """Does what is due of one upload that nobody works on; says whether there was any."""
    for workspace_id, import_id in sql.rows(_DUE, {}):
        with holding.alone(import_id) as is_alone:
            if is_alone:
                _do(records.of(workspace_id, import_id), is_stopping)
                return True
    return False


def _do(found: Import, is_stopping: IsStopping) -> None:
    """A database that is away is the caller's matter; all else is told where people look.

    That is also what the database itself refused: a full disk, a deadlock, a statement that
    somebody cancelled. Tried again at once, it would keep all others waiting.
    """
    work = {ImportState.PREVIEWING: _preview, ImportState.RUNNING: _run}.get(
        ImportState(found.state), _nothing
    )
    try:
        work(found, is_stopping)
    except (_StoppedError, ImportAbandonedError):
        _log.info("an import was stopped", import_id=found.pk)
    except Exception as error:  # the work's edge: one file must not stop the others
        if isinstance(error, (InterfaceError, OperationalError)) and not connection.is_usable():
            raise
        _log.exception("an import cannot go on", import_id=found.pk)
        _note_trouble(found.pk, error)


def _nothing(found: Import, is_stopping: IsStopping) -> None:
    """Somebody did it between the look and the lock."""


def _run(found: Import, is_stopping: IsStopping) -> None:
    def check(_: Progress) -> None:
        if is_stopping():
            raise _StoppedError

    with uploads.file_of(found.pk) as path:
        running.run(found.workspace_id, path, import_id=found.pk, tell=check)


def _preview(found: Import, is_stopping: IsStopping) -> None:
    def check(_: Preview) -> None:
        if is_stopping() or records.state(found.pk) is not ImportState.PREVIEWING:
            raise _StoppedError

    problems: list[Problem] = []
    with uploads.file_of(found.pk) as path:
        told = preview.preview(
            found.workspace_id,
            path,
            mapping=columns.whole(uploads.header(found), found.mapping),
            list_key=found.list.key if found.list else None,
            tell=check,
            keep=lambda more: problems.extend(islice(more, _SHOWN_PROBLEMS - len(problems))),
        )
    there = Import.objects.filter(pk=found.pk, state=ImportState.PREVIEWING.value)
    there.update(
        state=ImportState.UPLOADED.value,
        preview=_document(told, problems),
        trouble=None,
        changed_at=Now(),
    )


def _document(found: Preview, problems: list[Problem]) -> dict[str, object]:
    """A dry run as it is kept; `problems` are the first ones."""
    return {
        "row_count": found.row_count,
        "created": found.created,
        "updated": found.updated,
        "unchanged": found.unchanged,
        "duplicates": found.duplicates,
        "refused": found.refused,
        "blank": found.blank,
        "subscribed": found.subscribed,
        "kept_back": dict(found.kept_back),
        "reasons": dict(found.reasons.most_common(_SHOWN_REASONS)),
        "samples": found.samples,
        "problems": [asdict(problem) for problem in problems],
    }


def _note_trouble(import_id: int, error: Exception) -> None:
    told = str(error) if isinstance(error, RefusedError) else "A fault of the server; see its log."
    there = Import.objects.filter(pk=import_id)
    there.filter(state=ImportState.RUNNING.value).update(trouble=told, due_at=Now() + PATIENCE)
    # A dry run is not tried again: whoever wanted it may have meant something else.
    there.filter(state=ImportState.PREVIEWING.value).update(
        state=ImportState.UPLOADED.value, trouble=told, changed_at=Now()
    )
