"""Files that came over HTTP: kept in the database until they are imported or abandoned.

The process that receives a file and the worker that imports it may be on different machines; they
share the database.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import constraints, trail
from postledger.contacts import lists
from postledger.imports import queries, running
from postledger.imports.columns import map_columns
from postledger.imports.dates import DateColumn
from postledger.imports.files import reading
from postledger.imports.files.reading import FileSurvey
from postledger.imports.forms import FormColumn
from postledger.imports.models import FilePart, Import, ImportProblem, ImportState
from postledger.imports.numbers import NumberColumn
from postledger.imports.refusals import ImportNotReadyError
from postledger.lib import sentences, unnamed_files
from postledger.lib.sentences import Sentence, say
from postledger.providers import addresses

# An upload that is not started by then is abandoned: it holds personal data.
KEPT = timedelta(days=7)

_PART = 1 << 20
_SHOWN_ROWS = 5
_SHOWN_LETTERS = 100
_LONGEST_NAME = 255
_LONGEST_MATCH = 400  # more than an address has letters, and the one before it
_UNSTARTED = (ImportState.UPLOADED, ImportState.PREVIEWING)
_NAMED_ERASED = say("The file named a person who was erased, so it was deleted.")
_KINDS: Mapping[str, type[FormColumn]] = {"dates": DateColumn, "numbers": NumberColumn}
_UNENDED = (*_UNSTARTED, ImportState.RUNNING)


def store_upload(
    workspace_id: int, path: Path, *, made_of: Path | None = None, file_name: str, actor: str
) -> int:
    """Keeps a CSV file that can be read to its end; returns the number of its import.

    `made_of` is what people know as the file: itself, or the workbook that it was made of.
    """
    survey = reading.survey_new_file(path)
    is_workbook = made_of is not None and made_of != path
    visible_name = "".join(char for char in file_name if char.isprintable()).strip()
    with transaction.atomic():
        record = Import.objects.create(
            workspace_id=workspace_id,
            file_name=visible_name[:_LONGEST_NAME] or "upload",
            sha256=survey.sha256,
            byte_count=made_of.stat().st_size if made_of else survey.size,
            row_count=survey.row_count,
            mapping={},
            state=ImportState.UPLOADED.value,
            cursor_byte=survey.first_byte,
            upload=_summarize(path, survey) | {"is_workbook": is_workbook},
            actor=actor,
        )
        with path.open("rb") as file:
            for number, content in enumerate(iter(lambda: file.read(_PART), b"")):
                FilePart.objects.create(of_import=record, number=number, content=content)
        trail.note(
            workspace_id,
            actor=actor,
            action="import.uploaded",
            subject=f"import {record.pk}",
            data={"rows": survey.row_count, "sha256": survey.sha256},
        )
    return record.pk


def _summarize(path: Path, survey: FileSurvey) -> dict[str, object]:
    """How the file is read, and its first rows, for the person who maps the columns."""
    with path.open("rb") as file:
        chunks = reading.read_chunks(
            file, survey.dialect, offset=survey.first_byte, row=2, size=_SHOWN_ROWS
        )
        first = next(chunks, None)
    rows = first.records if first else []
    return {
        "encoding": survey.dialect.encoding,
        "delimiter": survey.dialect.delimiter,
        "header": list(survey.header),
        "state_like": list(survey.state_like),
        **{key: _summarize_columns(survey.forms, kind) for key, kind in _KINDS.items()},
        "rows": [[cell[:_SHOWN_LETTERS] for cell in row[: len(survey.header)]] for row in rows],
    }


def _summarize_columns(
    columns: Mapping[str, FormColumn], kind: type[FormColumn]
) -> dict[str, object]:
    return {name: asdict(column) for name, column in columns.items() if type(column) is kind}


def read_forms(upload: Mapping[str, Any]) -> dict[str, FormColumn]:
    """The columns of dates and numbers of a kept upload; older ones have none."""
    return {
        name: kind(**counts)
        for key, kind in _KINDS.items()
        for name, counts in upload.get(key, {}).items()
    }


@contextmanager
def open_upload(import_id: int) -> Iterator[Path]:
    """The uploaded file, on this machine while the context lasts."""
    parts = FilePart.objects.filter(of_import_id=import_id)
    contents = parts.values_list("content", flat=True)
    # One at a time: a file may be large.
    blocks = (bytes(contents.get(number=n)) for n in range(parts.count()))
    with unnamed_files.keep_bytes(blocks) as path:
        yield path


def request_preview(
    workspace_id: int,
    import_id: int,
    *,
    mapping: Mapping[str, str],
    list_key: str | None,
    new_list: str = "",
) -> None:
    """Lets a worker make a dry run; its result will be in `preview` of the import.

    A new list is only named: it is created when the import starts.
    """
    record = queries.find_import(workspace_id, import_id)
    changes = _check_settings(record, mapping, list_key)
    if new_list:
        constraints.check_name("a list", new_list)
        lists.refuse_taken_name(workspace_id, new_list)
    if record.upload:
        changes["upload"] = record.upload | {"new_list": new_list}
    with transaction.atomic():
        _change_state(
            record, (ImportState.UPLOADED,), ImportState.PREVIEWING, preview=None, **changes
        )
        _delete_dry_run_problems(record)


def start_import(  # noqa: PLR0913  an upload, its destination, and the actor
    workspace_id: int,
    import_id: int,
    *,
    mapping: Mapping[str, str],
    list_key: str | None,
    new_list: str = "",
    actor: str,
) -> None:
    """Lets a worker import the file; a dry run that is under way is given up.

    A new list is created together with the start, or not at all.
    """
    record = queries.find_import(workspace_id, import_id)
    changes = _check_settings(record, mapping, list_key)
    with transaction.atomic():
        _change_state(
            record, _UNSTARTED, ImportState.RUNNING, actor=actor, started_at=Now(), **changes
        )
        _delete_dry_run_problems(record)
        if new_list:  # only now: who starts it twice reads that it is running
            list_key = _create_list(record, new_list, actor=actor)
        running.note_start(record, actor=actor, list_key=list_key)


def _delete_dry_run_problems(record: Import) -> None:
    ImportProblem.objects.filter(of_import=record).delete()


def _create_list(record: Import, name: str, *, actor: str) -> str:
    """Gives an import a list of its own; returns the key."""
    lists.refuse_taken_name(record.workspace_id, name)
    key = lists.find_free_key(record.workspace_id, name)
    list_id = lists.create_list(record.workspace_id, key=key, name=name, actor=actor)
    Import.objects.filter(pk=record.pk).update(list_id=list_id)
    return key


def _check_settings(
    record: Import, mapping: Mapping[str, str], list_key: str | None
) -> dict[str, object]:
    """The columns of the record to change; checks what can be checked without the file."""
    header = read_header(record)
    upload = record.upload or {}
    looks = (upload.get("state_like", ()), read_forms(upload))
    return {
        "mapping": map_columns(header, mapping, *looks).targets() if header else {},
        "list_id": None if list_key is None else lists.get_active_id(record.workspace_id, list_key),
        "trouble": None,
        "due_at": Now(),
    }


def read_header(record: Import) -> list[str]:
    """The columns of an upload; empty once the file is deleted."""
    return list(record.upload["header"]) if record.upload else []


def abandon_import(workspace_id: int, import_id: int, *, actor: str) -> None:
    """Ends an import, a running one before its next chunk; imported rows stay."""
    _abandon(queries.find_import(workspace_id, import_id), _UNENDED, actor=actor)


def _abandon(
    record: Import,
    from_states: Collection[ImportState],
    *,
    actor: str,
    because: Sentence | None = None,
) -> None:
    with transaction.atomic():
        _change_state(record, from_states, ImportState.ABANDONED, finished_at=Now())
        running.delete_upload(record.pk)
        if record.started_at is None:
            _delete_dry_run_problems(record)
        if because:
            Import.objects.filter(pk=record.pk).update(trouble=sentences.write_document(because))
        trail.note(
            record.workspace_id,
            actor=actor,
            action="import.abandoned",
            subject=f"import {record.pk}",
        )


def abandon_old_uploads(now: datetime) -> int:
    """Abandons uploads that nobody started; returns how many."""
    states = [state.value for state in _UNSTARTED]
    count = 0
    for record in Import.objects.filter(state__in=states, created_at__lt=now - KEPT):
        with suppress(ImportNotReadyError):  # it was started or ended since the query
            _abandon(record, _UNSTARTED, actor="postledger")
            count += 1
    return count


def abandon_uploads_naming(
    workspace_id: int, *, person_addresses: Collection[str], actor: str
) -> int:
    """Abandons the unstarted uploads that name one of these canonical addresses; returns how many.

    A running import refuses the rows of an erased person, and its file is deleted when it ends.
    """
    by_word = _index_by_word(person_addresses)
    states = [state.value for state in _UNSTARTED]
    count = 0
    for record in Import.objects.filter(workspace_id=workspace_id, state__in=states):
        if _names_one_of(record, by_word):
            with suppress(ImportNotReadyError):  # it was started or ended since the query
                _abandon(record, _UNSTARTED, actor=actor, because=_NAMED_ERASED)
                count += 1
    return count


# The letters around an @. What follows it is only looked at, because it may begin the next word.
_WORD = re.compile(r"(?<![\w.+-])([\w.+-]*+@)(?=([\w-]*+(?:\.\w[\w-]*+)*+))")


def _index_by_word(person_addresses: Collection[str]) -> dict[str, list[str]]:
    """All spellings of these addresses, by the word around their @.

    An address with other signs than . + - is longer than its word.
    """
    by_word: dict[str, list[str]] = {}
    for spelling in {text for each in person_addresses for text in addresses.spellings(each)}:
        for word in _WORD.finditer(spelling):
            by_word.setdefault(word[1] + word[2], []).append(spelling)
    return by_word


def _names_one_of(record: Import, by_word: Mapping[str, list[str]]) -> bool:
    """Whether the uploaded file has one of the addresses, in any capitals; read part by part.

    The cost of a word does not depend on the number of addresses.
    """
    if not record.upload:
        return False
    decoder = getincrementaldecoder(record.upload["encoding"])(errors="replace")
    parts = FilePart.objects.filter(of_import=record).order_by("number")
    text = ""
    for content in parts.values_list("content", flat=True).iterator(chunk_size=1):
        # With the end of the part before: an address may begin there.
        text = text[-_LONGEST_MATCH:] + decoder.decode(bytes(content)).lower()
        for word in _WORD.finditer(text):
            for spelling in by_word.get(word[1] + word[2], ()):
                if text.startswith(spelling, max(0, word.end() - 1 - spelling.index("@"))):
                    return True
    return False


def _change_state(
    record: Import, from_states: Collection[ImportState], to: ImportState, **changes: object
) -> None:
    """Refuses if the import is in none of `from_states` by now."""
    imports = Import.objects.filter(pk=record.pk, state__in=[state.value for state in from_states])
    if not imports.update(state=to.value, changed_at=Now(), **changes):
        state = queries.read_state(record.pk)
        raise ImportNotReadyError(
            say("Import %(number)s is %(state)s", number=str(record.pk), state=_STATES[state])
        )


_STATES = {
    ImportState.UPLOADED: say("uploaded: its dry run ended meanwhile. Try again."),
    ImportState.PREVIEWING: say("previewing: wait for its dry run, start it, or abandon it."),
    ImportState.RUNNING: say("running: wait for it to finish, or abandon it."),
    ImportState.FINISHED: say(
        "finished: nothing is left to do. Upload the file again to import it again."
    ),
    ImportState.ABANDONED: say("abandoned: upload the file again to import it."),
}
