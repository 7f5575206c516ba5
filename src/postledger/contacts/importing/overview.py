"""Imports as people see them: how far, how fast, until when, and what they wait for."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from postledger.contacts.importing import columns, holding, records, running, uploads
from postledger.contacts.importing.models import Import, ImportState
from postledger.contacts.importing.running import Progress

# Of fewer rows a rate says nothing.
_FEWEST = 1_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """Who or what has to move, and why."""

    on: str
    why: str


@dataclass(frozen=True, slots=True)
class Pace:
    rows_per_second: float
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class Overview:
    progress: Progress
    list_key: str | None
    mapping: Mapping[str, str]
    header: list[str]
    upload: Mapping[str, Any] | None
    preview: Mapping[str, Any] | None
    waiting: Waiting | None
    pace: Pace | None
    created_at: datetime
    started_at: datetime | None
    changed_at: datetime
    finished_at: datetime | None

    def suggested(self) -> dict[str, str]:
        """What the columns are when nobody says otherwise."""
        return {name: columns.usual(name) for name in self.header if name}


def look(workspace_id: int, import_id: int) -> Overview:
    found = records.of(workspace_id, import_id)
    return _overview(found, holding.all_held())


def newest(workspace_id: int, *, limit: int, before: int | None = None) -> list[Overview]:
    """A workspace's imports, or those before one of them, the newest first."""
    there = Import.objects.filter(workspace_id=workspace_id).select_related("list", "workspace")
    if before is not None:
        there = there.filter(pk__lt=before)
    held = holding.all_held()
    return [_overview(found, held) for found in there.order_by("-pk")[:limit]]


def _overview(found: Import, held: frozenset[int]) -> Overview:
    progress = running.of(found)
    return Overview(
        progress,
        list_key=found.list.key if found.list else None,
        mapping=found.mapping,
        header=uploads.header(found),
        upload=found.upload,
        preview=found.preview,
        waiting=waiting(
            progress.state,
            trouble=found.trouble,
            is_worked_on=found.pk in held,
            resume=None if found.upload else _resume(found),
        ),
        pace=pace(progress, since=found.started_at, until=found.changed_at),
        created_at=found.created_at,
        started_at=found.started_at,
        changed_at=found.changed_at,
        finished_at=found.finished_at,
    )


def _resume(found: Import) -> str:
    """The command that goes on with a file of which no worker has a copy."""
    words = ("postledger", "contacts", "resume", str(found.pk))
    return shlex.join((*words, found.file_name, found.workspace.name))


def waiting(
    state: ImportState, *, trouble: str | None, is_worked_on: bool, resume: str | None = None
) -> Waiting | None:
    """None while it is worked on, and once it has ended; `resume` is for those of the command."""
    if state in {ImportState.FINISHED, ImportState.ABANDONED}:
        return None
    if state is ImportState.UPLOADED:
        why = f"The dry run failed: {trouble}" if trouble else "Nobody has started it yet."
        return Waiting("you", f"{why} Start it, or give it up.")
    if is_worked_on:
        return None
    if resume:
        return Waiting("you", f"Nobody works on it. Go on where the file is, with: {resume}")
    if trouble:
        return Waiting("another try", f"{trouble} A worker tries again within some minutes.")
    return Waiting("a worker", "No worker has taken it yet; one looks every few seconds.")


def pace(progress: Progress, *, since: datetime | None, until: datetime) -> Pace | None:
    """How fast rows are done, from its start to its last chunk, and when that will be all."""
    if progress.state is not ImportState.RUNNING or since is None or progress.done < _FEWEST:
        return None
    seconds = (until - since).total_seconds()
    if seconds <= 0:
        return None
    rate = progress.done / seconds
    left = progress.row_count - progress.done
    return Pace(round(rate, 1), until + timedelta(seconds=left / rate))
