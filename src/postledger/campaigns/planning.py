"""Writes a run's audience into the ledger, chunk by chunk; killed at any moment, it goes on.

The cursor is committed with the lines that it stands behind: what is planned is before it, and
nothing else is.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models.functions import Now

from postledger.campaigns import chunks, earlier, frozen, variants
from postledger.campaigns.chunks import Chunk
from postledger.campaigns.frozen import ByPlaces
from postledger.campaigns.models import Run
from postledger.contacts import filter_parsing
from postledger.contacts import roll as rolls
from postledger.contacts.roll import Roll
from postledger.deliveries import ledger, queries
from postledger.deliveries.ledger import Planned
from postledger.deliveries.reasons import Reason
from postledger.lib import wake
from postledger.lib.errors import RefusedError

CHUNK = 10_000

_log = structlog.get_logger(__name__)


def plan_all() -> None:
    """Plans every run that is not planned yet, the oldest first."""
    waiting = Run.objects.filter(ended_at=None, planned_at=None).order_by("stream_id")
    for run_id in list(waiting.values_list("pk", flat=True)):
        plan(run_id)


def plan(run_id: UUID) -> None:
    """Plans what is left of a run, until another process is at it.

    A database that is away is away for every run; all else is the trouble of this one. That is
    also what the database refused: a row that is too large, a full disk, a statement that somebody
    cancelled.
    """
    stream_id = Run.objects.values_list("stream_id", flat=True).get(pk=run_id)
    try:
        while step(run_id):
            wake.ring(stream_id)
    except RefusedError as refused:
        _note_trouble(run_id, f"{refused.code}: {refused}")
    except Exception as error:  # one run that cannot be planned keeps no other from it
        if isinstance(error, (InterfaceError, OperationalError)) and not connection.is_usable():
            raise
        _log.exception("a run cannot be planned", run_id=str(run_id))
        _note_trouble(run_id, _BROKEN)


def step(run_id: UUID, *, size: int = CHUNK) -> bool:
    """Plans one chunk, all of it or nothing; False when there is nothing to go on with now.

    The run's row is locked meanwhile. Where another process has it, that one goes on.
    """
    with transaction.atomic():
        free = Run.objects.select_for_update(no_key=True, skip_locked=True)
        run = free.filter(pk=run_id).first()
        if run is None or run.planned_at is not None:
            return False
        is_cancelled = queries.is_cancelled(queries.stream(run.stream_id))
        if run.cursor_wave == len(run.waves) or is_cancelled:
            _finish(run)
            return False
        earlier.check(run)
        try:
            with transaction.atomic():
                _plan_chunk(run, size)
        except _ChangedMeanwhileError:
            return True
        except ledger.StreamClosedError:
            # Cancelled meanwhile: what is planned is booked as such, and no more is added.
            _finish(run)
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Wave:
    due_at: datetime | None
    zones: tuple[str, ...] | None
    default_zone: str
    is_last_look: bool


def _wave(stored: Mapping[str, Any]) -> _Wave:
    return _Wave(
        stored["due_at"] and datetime.fromisoformat(stored["due_at"]),
        None if stored["zones"] is None else tuple(stored["zones"]),
        stored.get("default_zone", "UTC"),
        bool(stored.get("is_last_look")),
    )


def _plan_chunk(run: Run, size: int) -> None:
    with connection.cursor() as cursor:
        # Compiling statements of this kind takes longer than executing them.
        cursor.execute("SET LOCAL jit = off")
    wave = _wave(run.waves[run.cursor_wave])
    chunk = _chunk(run, wave, size)
    if not chunk.has_one_letter:
        variants.resolve(run, chunk.chosen, chunks.variants(chunk))
    lines = chunks.lines(chunk, run.pk)
    planned = ledger.plan(
        run.stream_id,
        source=lines.sql,
        params=lines.params,
        due_at=wave.due_at,
        reason=Reason.READY if wave.due_at is None else Reason.SCHEDULED,
        is_interrupted=earlier.is_interrupted(run),
    )
    if chunks.UNKNOWN_VARIANT in planned.kept_back:
        raise _ChangedMeanwhileError
    # Whom the last look finds, a wave has counted before, but for few who moved meanwhile.
    kept_back = {} if wave.is_last_look else planned.kept_back
    _advance(run, planned, kept_back, is_wave_over=planned.given < size)


class _ChangedMeanwhileError(Exception):
    """Somebody came to get a variant that nobody of the chunk got when it was looked at."""


def _chunk(run: Run, wave: _Wave, size: int) -> Chunk:
    chosen = frozen.read(run.letters)
    return Chunk(
        people=rolls.chunk(run.workspace_id, _roll(run, wave), after=run.cursor_place, limit=size),
        chosen=chosen,
        scopes=frozen.scopes(chosen, now=run.launched_at) if isinstance(chosen, ByPlaces) else (),
        stream_id=run.stream_id,
        lineage=earlier.streams(run),
    )


def _roll(run: Run, wave: _Wave) -> Roll:
    return Roll(
        filter_parsing.parse(run.audience, now=run.launched_at),
        run.list_key or None,
        frozen_at=run.frozen_at,
        mailed_at=wave.due_at or run.launched_at,
        zones=wave.zones,
        default_zone=wave.default_zone,
        changed_since=run.frozen_at if wave.is_last_look else None,
    )


def _advance(
    run: Run, planned: Planned, kept_back: Mapping[str, int], *, is_wave_over: bool
) -> None:
    excluded = Counter(run.excluded) + Counter(kept_back)
    Run.objects.filter(pk=run.pk).update(
        cursor_wave=run.cursor_wave + is_wave_over,
        cursor_place="" if is_wave_over else planned.last_key,
        excluded=dict(excluded),
        trouble="",
        trouble_since=None,
    )


def _finish(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(planned_at=Now(), trouble="", trouble_since=None)


_BROKEN = (
    "internal_error: Its audience cannot be written into the ledger. The log of the worker says"
    " why; it is tried again all the time, and the run can be cancelled."
)


def _note_trouble(run_id: UUID, text: str) -> None:
    """Planning stands still until what it says is mended, and is tried again all the time."""
    there = Run.objects.filter(pk=run_id).exclude(trouble=text)
    there.update(trouble=text, trouble_since=Now())
