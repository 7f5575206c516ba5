"""Writes a run's audience into the ledger, chunk by chunk; after a crash it resumes.

The cursor is committed with the deliveries of its chunk: all contacts before it are planned, and
none after it.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from postledger.campaigns.launches import previous_runs
from postledger.campaigns.models import Run
from postledger.campaigns.planning import exclusions
from postledger.campaigns.runs import run_log
from postledger.contacts import audience
from postledger.contacts.audience import FrozenAudience
from postledger.contacts.filters import parsing
from postledger.deliveries import ledger, queries
from postledger.deliveries.reasons import Reason
from postledger.lib import database_outage, sentences, wake
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.mailing import chunks, send_times, snapshot, stream_letters
from postledger.mailing.chunks import Chunk
from postledger.mailing.send_times import Wave
from postledger.mailing.snapshot import ByPlaces
from postledger.supabase import passes

CHUNK = 10_000

_BROKEN = say(
    "The audience cannot be written into the ledger. The worker's log says why. Planning is retried"
    " continually, and the run can be cancelled."
)
_log = structlog.get_logger(__name__)


def plan_all() -> None:
    """Plans every unplanned run. Workspaces take turns: each has one chunk of its oldest run."""
    runs = defaultdict[int, deque[UUID]](deque)
    for workspace_id, run_id in (
        _unplanned().order_by("stream_id").values_list("workspace_id", "pk")
    ):
        runs[workspace_id].append(run_id)
    turns = deque(runs.values())
    while turns:
        of_one = turns.popleft()
        if not _plan_part(of_one[0]):
            of_one.popleft()
        if of_one:
            turns.append(of_one)


def count_unplanned(sender_ids: Collection[int]) -> int:
    """How many runs of some senders have recipients who are not planned yet."""
    streams = queries.find_streams(list(_unplanned().values_list("stream_id", flat=True)))
    return sum(
        stream.sender_id in sender_ids and not queries.is_cancelled(stream)
        for stream in streams.values()
    )


def _unplanned() -> QuerySet[Run]:
    return Run.objects.filter(ended_at=None, planned_at=None)


def plan_run(run_id: UUID) -> None:
    """Plans the remaining audience, unless another process is planning it."""
    while _plan_part(run_id):
        pass


def _plan_part(run_id: UUID) -> bool:
    """Plans one chunk, and wakes a worker for it; False if there is nothing more to plan now.

    An unreachable database fails every run and is raised. Any other error is this run's trouble,
    also an error of the database: a row that is too large, a full disk, a cancelled statement.
    """
    try:
        if plan_next_chunk(run_id):
            wake.notify(Run.objects.values_list("stream_id", flat=True).get(pk=run_id))
            return True
    except RefusedError as error:
        _store_trouble(run_id, error.code, error.sentence)
    except Exception as error:  # a broken run must not stop the others
        if database_outage.is_away(error):
            raise
        _log.exception("run_not_planned", run_id=str(run_id))
        _store_trouble(run_id, "internal_error", _BROKEN)
    return False


def plan_next_chunk(run_id: UUID, *, size: int = CHUNK) -> bool:
    """Plans one chunk as a whole or not at all; False if there is nothing more to plan now.

    The run's row stays locked meanwhile; a locked run is left to the process that has it.
    """
    with transaction.atomic():
        unlocked = Run.objects.select_for_update(no_key=True, skip_locked=True)
        run = unlocked.filter(pk=run_id).first()
        if run is None or run.planned_at is not None:
            return False
        is_cancelled = queries.is_cancelled(queries.find_stream(run.stream_id))
        if run.cursor_wave == len(run.waves) or is_cancelled:
            _finish(run)
            return False
        previous_runs.check_lineage(run)
        if not _fix_recipients(run):
            return False
        try:
            with transaction.atomic():
                _plan_chunk(run, size)
        except _VariantAppearedError:
            return True
        except ledger.StreamClosedError:
            # Cancelled meanwhile: planned mail is booked as cancelled, and none is added.
            _finish(run)
            return False
    return True


def _fix_recipients(run: Run) -> bool:
    """Ends the wait for Supabase when the pass has ended; False while the run must wait."""
    if run.awaited_pass is None:
        return True
    runs = Run.objects.filter(pk=run.pk)
    if not passes.is_complete(run.workspace_id, run.awaited_pass):
        runs.exclude(trouble="").update(trouble="", trouble_since=None)
        return False
    runs.update(awaited_pass=None, synced_at=Now())
    run.refresh_from_db(fields=["awaited_pass", "synced_at"])
    return True


class _VariantAppearedError(Exception):
    """A contact changed to a variant that no contact had when the letters were resolved."""


def _plan_chunk(run: Run, size: int) -> None:
    with connection.cursor() as cursor:
        # Compiling these statements takes longer than executing them.
        cursor.execute("SET LOCAL jit = off")
    wave = send_times.wave_from_json(run.waves[run.cursor_wave])
    chunk = _select_chunk(run, wave, size)
    if not chunk.has_one_letter:
        stream_letters.resolve_letters(
            run.letter_stream,
            chunk.choice,
            chunks.list_variants(chunk),
            launched_at=run.launched_at,
        )
    if chunk.lineage:
        recipients = chunks.build_recipients(chunk)
        ledger.supersede(
            chunk.lineage, source=recipients.sql, params=recipients.params, actor=run.actor
        )
    lines = chunks.build_lines(chunk)
    planned = ledger.plan(
        run.stream_id,
        source=lines.sql,
        params=lines.params,
        due_at=wave.due_at,
        reason=_find_reason(wave),
        is_interrupted=previous_runs.is_interrupted(run),
    )
    if chunks.UNKNOWN_VARIANT in planned.kept_back:
        raise _VariantAppearedError
    # An earlier wave has counted nearly all contacts of the last look.
    excluded = {} if wave.is_last_look else planned.kept_back
    exclusions.store(run.pk, excluded)
    counts = Counter({reason: len(contacts) for reason, contacts in excluded.items()})
    is_wave_over = planned.given < size
    Run.objects.filter(pk=run.pk).update(
        cursor_wave=run.cursor_wave + is_wave_over,
        cursor_address="" if is_wave_over else planned.last_key,
        excluded=dict(Counter(run.excluded) + counts),
        trouble="",
        trouble_since=None,
    )


def _find_reason(wave: Wave) -> Reason:
    if wave.due_at is None:
        return Reason.READY
    return Reason.OUTSIDE_HOURS if wave.is_outside_hours else Reason.SCHEDULED


def _select_chunk(run: Run, wave: Wave, size: int) -> Chunk:
    choice = snapshot.from_json(run.letter_choice)
    frozen = FrozenAudience(
        parsing.parse(run.audience, now=run.launched_at),
        run.list_key or None,
        frozen_at=previous_runs.read_cutoff(run),
        mailed_at=wave.due_at or run.launched_at,
        zones=wave.zones,
        default_zone=wave.default_zone,
        changed_since=run.frozen_at if wave.is_last_look else None,
    )
    now = run.launched_at
    return Chunk(
        people=audience.compile_chunk(
            run.workspace_id, frozen, after=run.cursor_address, limit=size
        ),
        choice=choice,
        places=snapshot.list_places(choice, now=now) if isinstance(choice, ByPlaces) else (),
        stream_id=run.stream_id,
        lineage=previous_runs.list_streams(run),
    )


def _finish(run: Run) -> None:
    run_log.log("campaign planned", run)
    Run.objects.filter(pk=run.pk).update(planned_at=Now(), trouble="", trouble_since=None)


def _store_trouble(run_id: UUID, code: str, reason: str) -> None:
    """Keeps the time since when planning has had this trouble; planning is retried continually."""
    said = say("%(code)s: %(reason)s", code=code, reason=reason)
    trouble = sentences.write_document(said)
    runs = Run.objects.filter(pk=run_id).exclude(trouble=trouble)
    runs.update(trouble=trouble, trouble_since=Now())
