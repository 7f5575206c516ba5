"""Files that came over HTTP: kept in the database until they are imported or given up.

Whoever took a file and whoever imports it may be on different machines; the database is what they
share.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import trail
from postledger.contacts import lists
from postledger.contacts.importing import columns as headers
from postledger.contacts.importing import leftovers, reading, records
from postledger.contacts.importing.models import Import, ImportPart, ImportState
from postledger.contacts.importing.reading import Survey
from postledger.contacts.importing.refusals import ImportNotReadyError

# What is not started by then is given up: people are in such a file.
KEPT = timedelta(days=7)

_PART = 1 << 20
_SHOWN_ROWS = 5
_SHOWN_LETTERS = 100
_LONGEST_NAME = 255
_UNSTARTED = (ImportState.UPLOADED, ImportState.PREVIEWING)
_UNENDED = (*_UNSTARTED, ImportState.RUNNING)


def take(workspace_id: int, path: Path, *, file_name: str, actor: str) -> int:
    """Keeps a CSV file that can be read to its end, and the import that may come of it."""
    survey = reading.survey(path)
    shown = _shown(path, survey)
    with transaction.atomic():
        made = Import.objects.create(
            workspace_id=workspace_id,
            file_name=_visible(file_name) or "upload",
            sha256=survey.sha256,
            byte_count=survey.size,
            row_count=survey.row_count,
            mapping={},
            state=ImportState.UPLOADED.value,
            cursor_byte=survey.body,
            upload=shown,
            actor=actor,
        )
        _keep(made.pk, path)
        trail.note(
            workspace_id,
            actor=actor,
            action="import.uploaded",
            subject=f"import {made.pk}",
            data={"rows": survey.row_count, "sha256": survey.sha256},
        )
    return made.pk


def _visible(name: str) -> str:
    return "".join(sign for sign in name if sign.isprintable()).strip()[:_LONGEST_NAME]


def _shown(path: Path, survey: Survey) -> dict[str, object]:
    """How the file is read, and its first rows, for whoever says what the columns are."""
    with path.open("rb") as file:
        chunk = next(
            reading.chunks(file, survey.shape, offset=survey.body, row=2, size=_SHOWN_ROWS), None
        )
    rows = chunk.records if chunk else []
    return {
        "encoding": survey.shape.encoding,
        "delimiter": survey.shape.delimiter,
        "header": list(survey.header),
        "rows": [[cell[:_SHOWN_LETTERS] for cell in row[: len(survey.header)]] for row in rows],
    }


def _keep(import_id: int, path: Path) -> None:
    number = 0
    with path.open("rb") as file:
        while content := file.read(_PART):
            ImportPart.objects.create(of_import_id=import_id, number=number, content=content)
            number += 1


@contextmanager
def file_of(import_id: int) -> Iterator[Path]:
    """The uploaded file, on this machine while this lasts."""
    with TemporaryDirectory(prefix="postledger-") as folder:
        path = Path(folder) / "upload.csv"
        number = 0
        with path.open("wb") as file:
            while (content := _part(import_id, number)) is not None:
                file.write(content)
                number += 1
        yield path


def _part(import_id: int, number: int) -> bytes | None:
    there = ImportPart.objects.filter(of_import_id=import_id, number=number)
    content = there.values_list("content", flat=True).first()
    return None if content is None else bytes(content)


def ask_preview(
    workspace_id: int, import_id: int, *, mapping: Mapping[str, str], list_key: str | None
) -> None:
    """Has a worker find out what the import would do; `preview` of its row will tell."""
    found = records.of(workspace_id, import_id)
    changes = _said(found, mapping, list_key)
    _move(found, (ImportState.UPLOADED,), ImportState.PREVIEWING, preview=None, **changes)


def start(
    workspace_id: int,
    import_id: int,
    *,
    mapping: Mapping[str, str],
    list_key: str | None,
    actor: str,
) -> None:
    """Has a worker do the import; a dry run that is under way is given up."""
    found = records.of(workspace_id, import_id)
    changes = _said(found, mapping, list_key)
    with transaction.atomic():
        _move(found, _UNSTARTED, ImportState.RUNNING, actor=actor, started_at=Now(), **changes)
        trail.note(
            workspace_id,
            actor=actor,
            action="import.started",
            subject=f"import {import_id}",
            data={"rows": found.row_count, "sha256": found.sha256, "list": list_key},
        )


def _said(found: Import, mapping: Mapping[str, str], list_key: str | None) -> dict[str, object]:
    """What is to become of the file, as far as it can be wrong before anybody reads on."""
    there = header(found)
    return {
        "mapping": headers.read(there, mapping).targets() if there else {},
        "list_id": None if list_key is None else lists.named(found.workspace_id, list_key),
        "trouble": None,
        "due_at": Now(),
    }


def header(found: Import) -> list[str]:
    """The columns of an upload; none where there is no file any more."""
    return list(found.upload["header"]) if found.upload else []


def abandon(workspace_id: int, import_id: int, *, actor: str) -> None:
    """Ends an import, a running one before its next chunk; what it had imported stays."""
    _abandon(records.of(workspace_id, import_id), _UNENDED, actor=actor)


def _abandon(found: Import, from_states: Collection[ImportState], *, actor: str) -> None:
    with transaction.atomic():
        _move(found, from_states, ImportState.ABANDONED, finished_at=Now())
        leftovers.take_away(found.pk)
        trail.note(
            found.workspace_id,
            actor=actor,
            action="import.abandoned",
            subject=f"import {found.pk}",
        )


def abandon_old(now: datetime) -> int:
    """Gives up what was uploaded and never started; says how many."""
    states = [state.value for state in _UNSTARTED]
    given_up = 0
    for found in Import.objects.filter(state__in=states, created_at__lt=now - KEPT):
        with suppress(ImportNotReadyError):  # somebody started it, or ended it, since the look
            _abandon(found, _UNSTARTED, actor="postledger")
            given_up += 1
    return given_up


def _move(
    found: Import, from_states: Collection[ImportState], to: ImportState, **changes: object
) -> None:
    there = Import.objects.filter(pk=found.pk, state__in=[state.value for state in from_states])
    if not there.update(state=to.value, changed_at=Now(), **changes):
        state = records.state(found.pk)
        raise ImportNotReadyError(f"Import {found.pk} is {state}: {_REMEDIES[state]}")


_REMEDIES = {
    ImportState.UPLOADED: "start it first.",
    ImportState.PREVIEWING: "wait for its dry run, start it, or abandon it.",
    ImportState.RUNNING: "wait for it to finish, or abandon it.",
    ImportState.FINISHED: "nothing is left to do. Upload the file again to import it again.",
    ImportState.ABANDONED: "upload the file again to import it.",
}
