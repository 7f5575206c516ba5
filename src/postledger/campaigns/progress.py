"""How a run stands: its books, why the rest waits, and what will move it; counted from counters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from postledger.campaigns import states
from postledger.campaigns.launching import unknown, unknown_run
from postledger.campaigns.models import Campaign, Run
from postledger.campaigns.states import Ending, Facts, RunState
from postledger.deliveries import queries, speed
from postledger.deliveries.entries import Held
from postledger.deliveries.queries import Books, StreamFacts, Waits
from postledger.deliveries.states import State

PAGE = 25


@dataclass(frozen=True, slots=True)
class Pace:
    mails_per_second: float
    ends_at: datetime | None  # None: something waits for more than its turn


@dataclass(frozen=True, slots=True)
class Progress:
    """One run, as people see it at one moment."""

    run_id: UUID
    number: int  # rises from run to run
    campaign_id: int
    batch_id: UUID
    state: RunState
    is_test: bool
    actor: str
    launched_at: datetime
    planned_at: datetime | None
    ended_at: datetime | None
    ended_by: str
    books: Books
    excluded: Mapping[str, int]  # of the audience, by why they are not planned
    trouble: str  # why planning does not go on
    trouble_since: datetime | None
    hold: Held | None  # the widest hold in force: the sender's, or the run's own
    waits: Sequence[Waits]  # what waits, by reason
    pace: Pace | None  # of a run that sends, as far as it can be told

    @property
    def waiting(self) -> int:
        return self.books.waiting


def of(workspace_id: int, run_id: UUID, *, now: datetime) -> Progress:
    run = Run.objects.filter(workspace_id=workspace_id, pk=run_id).first()
    if run is None:
        raise unknown_run()
    return _of_run(run, now)


def listing(
    workspace_id: int,
    campaign_id: int,
    *,
    before: int = 2**63 - 1,
    limit: int = PAGE,
    now: datetime,
) -> list[Progress]:
    """A campaign's runs, the newest first; `before` is the number of the last one seen."""
    if not Campaign.objects.filter(workspace_id=workspace_id, pk=campaign_id).exists():
        raise unknown()
    there = Run.objects.filter(campaign_id=campaign_id, stream_id__lt=before)
    return [_of_run(run, now) for run in there.order_by("-stream_id")[:limit]]


def _of_run(run: Run, now: datetime) -> Progress:
    stream = queries.stream(run.stream_id)
    books = queries.books_of([run.stream_id])[run.stream_id]
    hold = _hold(stream, now)
    is_cancelled = queries.is_cancelled(stream)
    state = states.state_of(facts(run, books, is_cancelled=is_cancelled, is_held=bool(hold)))
    waits = queries.waits(run.stream_id)
    is_on_its_way = state in {RunState.PLANNING, RunState.SENDING}
    return Progress(
        run_id=run.pk,
        number=run.stream_id,
        campaign_id=run.campaign_id,
        batch_id=run.batch_id,
        state=state,
        is_test=run.is_test,
        actor=run.actor,
        launched_at=run.launched_at,
        planned_at=run.planned_at,
        ended_at=run.ended_at,
        ended_by=run.ended_by,
        books=books,
        excluded=run.excluded,
        trouble=run.trouble,
        trouble_since=run.trouble_since,
        hold=hold,
        waits=waits,
        pace=_pace(run, books.waiting, waits, now) if is_on_its_way else None,
    )


def facts(run: Run, books: Books, *, is_cancelled: bool, is_held: bool) -> Facts:
    return Facts(
        is_planned=run.planned_at is not None,
        is_held=is_held,
        is_cancelled=is_cancelled,
        ended_as=None if run.ended_as is None else Ending(run.ended_as),
        waiting=books.waiting,
        failed=books.counts[State.FAILED],
        in_doubt=books.counts[State.IN_DOUBT],
    )


def _pace(run: Run, waiting: int, waits: Sequence[Waits], now: datetime) -> Pace | None:
    rate = speed.per_second(speed.seen(run.stream_id), now=now)
    if rate is None:
        return None
    # What is planned for later, or is not even planned, ends when it will.
    can_be_told = run.planned_at is not None and all(wait.next_due_at <= now for wait in waits)
    ends_at = now + timedelta(seconds=waiting / rate) if can_be_told else None
    return Pace(round(rate, 1), ends_at)


def _hold(stream: StreamFacts | None, now: datetime) -> Held | None:
    if stream is None:
        return None
    return _in_force(stream.sender_hold, now) or _in_force(stream.stream_hold, now)


def _in_force(hold: Held | None, now: datetime) -> Held | None:
    return hold if hold is not None and (hold.until is None or hold.until > now) else None
