"""Imports as people see them: how far, how fast, until when, and what they wait for."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from postledger.imports import problems, queries, uploads
from postledger.imports.columns import suggest_targets
from postledger.imports.models import Import, ImportState
from postledger.imports.queries import ImportProgress
from postledger.lib import sentences, work_leases
from postledger.lib.work_leases import Work

# The rate of fewer rows means nothing.
_FEWEST = 1_000


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """Who or what has to act, and why."""

    on: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportOverview(ImportProgress):
    list: str | None
    mapping: Mapping[str, str]
    upload: Mapping[str, Any] | None
    preview: Mapping[str, Any] | None
    waiting: WaitingFor | None
    trouble: str | None
    actor: str
    byte_count: int
    rows_per_second: float | None
    ends_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    changed_at: datetime
    finished_at: datetime | None

    @property
    def new_list(self) -> str:
        """The name of the list that is created when the import starts, if its dry run had one."""
        return str(self.upload.get("new_list", "")) if self.upload else ""


def find_overview(workspace_id: int, import_id: int) -> ImportOverview:
    return _overview(queries.find_import(workspace_id, import_id), work_leases.held(Work.IMPORT))


def list_newest(
    workspace_id: int, *, limit: int, before: int | None = None
) -> list[ImportOverview]:
    """A workspace's imports, or those before one of them, the newest first."""
    imports = Import.objects.filter(workspace_id=workspace_id).select_related("list", "workspace")
    if before is not None:
        imports = imports.filter(pk__lt=before)
    held = work_leases.held(Work.IMPORT)
    return [_overview(record, held) for record in imports.order_by("-pk")[:limit]]


def _overview(record: Import, held: frozenset[int]) -> ImportOverview:
    rate = _rows_per_second(record)
    remaining = record.row_count - record.cursor_row + 2
    return ImportOverview.of(
        record,
        list=record.list.key if record.list else None,
        mapping=record.mapping,
        upload=record.upload and record.upload | {"suggested": _suggest(record.upload)},
        preview=_read_preview(record),
        waiting=None if record.pk in held else _waiting_for(record),
        trouble=_read_trouble(record),
        actor=record.actor,
        byte_count=record.byte_count,
        rows_per_second=round(rate, 1) if rate else None,
        ends_at=record.changed_at + timedelta(seconds=remaining / rate) if rate else None,
        created_at=record.created_at,
        started_at=record.started_at,
        changed_at=record.changed_at,
        finished_at=record.finished_at,
    )


def _suggest(upload: Mapping[str, Any]) -> Mapping[str, str]:
    state_like, forms = upload.get("state_like", ()), uploads.read_forms(upload)
    return suggest_targets(upload["header"], state_like, forms)


def _read_preview(record: Import) -> Mapping[str, Any] | None:
    if record.preview is None:
        return None
    kept = map(problems.read_document, record.preview["problems"])
    notes = map(sentences.read_document, record.preview.get("notes", ()))  # older ones have none
    return {**record.preview, "problems": list(kept), "notes": list(notes)}


def _read_trouble(record: Import) -> str | None:
    return None if record.trouble is None else sentences.read_document(record.trouble)


def _rows_per_second(record: Import) -> float | None:
    """The rate from the start of a running import to its last chunk."""
    done = record.cursor_row - 2
    if record.state != ImportState.RUNNING or record.started_at is None or done < _FEWEST:
        return None
    seconds = (record.changed_at - record.started_at).total_seconds()
    return done / seconds if seconds > 0 else None


def _waiting_for(record: Import) -> WaitingFor | None:
    """What an import waits for that nobody works on; None once it has ended."""
    if record.state in {ImportState.FINISHED, ImportState.ABANDONED}:
        return None
    if record.state == ImportState.UPLOADED:
        failed = f"The dry run failed: {_read_trouble(record)}"
        why = failed if record.trouble else "Nobody has started it yet."
        return WaitingFor("you", f"{why} Start it, or abandon it.")
    if not record.upload:  # the command line imports it, and no worker has a copy of the file
        resume = ("postledger", "contacts", "resume", str(record.pk))
        command = shlex.join((*resume, record.file_name, record.workspace.name))
        return WaitingFor("you", f"Nobody works on it. Resume it where the file is: {command}")
    if record.trouble:
        why = f"{_read_trouble(record)} A worker tries again within minutes."
        return WaitingFor("another try", why)
    return WaitingFor("a worker", "No worker has taken it yet; one looks every few seconds.")
