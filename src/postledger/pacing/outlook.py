"""When a stream will end: reads the plan of its workspace from the database and predicts it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.conf import settings

from postledger.accounts import sending_limits
from postledger.accounts.models import Member, Sender
from postledger.deliveries import causes, queries
from postledger.deliveries.entries import Hold
from postledger.deliveries.queries import LaterWork, StreamFacts
from postledger.deliveries.reasons import TRIED_AGAIN_REASONS, Reason
from postledger.pacing import forecast, prospects, stored
from postledger.pacing.forecast import Forecast
from postledger.pacing.forecast_days import ForecastDay, split_days
from postledger.pacing.plan import PerDay, PerHour, PerSecond, Plan, Quota
from postledger.pacing.prospects import (
    Binding,
    LimitName,
    Owner,
    PacedSender,
    Pacing,
    Part,
    Prospect,
)

# What one worker sends in a second where no limit holds it and nothing was measured.
MAILS_PER_WORKER = 50.0
_MEASURED = "measured"
# Holds that the plan knows as limits: it holds the stream itself while they last.
_PLANNED = frozenset({Reason.RATE_PER_HOUR, Reason.DAILY_LIMIT, Reason.OUTSIDE_HOURS})

# What sets a pace, and whose limit that is; nobody's, or both sender's and workspace's: None.
type _Cause = tuple[Binding, Owner | None]


@dataclass(frozen=True, slots=True)
class Change:
    """When a stream would end without a cause."""

    without: Binding
    owner: Owner | None
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class Outlook:
    """What becomes of a stream, as far as it can be predicted now."""

    waiting: int
    # None: waits for a person or for a provider that failed, or not within the horizon.
    ends_at: datetime | None
    left: int  # mails that wait at the horizon
    binding: Binding | None  # what sets the pace for the longest time; None: nothing waits
    owner: Owner | None
    changes: Sequence[Change]
    as_of: datetime
    days: Sequence[ForecastDay] = ()  # of the workspace's zone; none while it is held

    @property
    def starts_at(self) -> datetime | None:
        """When its first mail goes; None where that cannot be foreseen."""
        return self.days[0].starts_at if self.days else None


@dataclass(frozen=True, slots=True)
class Workforce:
    """How fast mail goes where no limit holds it."""

    worker_count: int
    measured: float | None = None  # mails a second of the stream that is asked about

    @property
    def capacity(self) -> float:
        return max(self.worker_count, 1) * MAILS_PER_WORKER


def predict_end(
    workspace_id: int, stream_id: int, *, workforce: Workforce, now: datetime
) -> Outlook:
    """When a stream of the workspace will end, beside the other streams that have work."""
    everything = _read_prospects(workspace_id, now)
    asked = next((one for one in everything if one.stream_id == stream_id), None)
    if asked is None:
        return Outlook(0, now, 0, None, None, (), now)
    return _predict(asked, everything, workforce, now)


def predict_launch(
    workspace_id: int, newcomer: Prospect, *, workforce: Workforce, now: datetime
) -> Outlook:
    """When a stream would end if it was opened now; its sender may be held."""
    holds = queries.find_sender_holds([newcomer.sender_id]).get(newcomer.sender_id, ())
    asked = _hold(newcomer, holds, now)
    return _predict(asked, [*_read_prospects(workspace_id, now), asked], workforce, now)


def _predict(
    asked: Prospect, everything: Sequence[Prospect], workforce: Workforce, now: datetime
) -> Outlook:
    if asked.is_held or not asked.waiting:
        binding = Binding.HELD if asked.is_held else None
        ends_at = None if asked.is_held else now
        return Outlook(asked.waiting, ends_at, asked.waiting, binding, None, (), now)
    pacing = _read_used(everything, _read_pacing(everything), now)
    plan = prospects.make_plan(everything, pacing, capacity=workforce.capacity, now=now)
    plan = _add_measured(plan, asked, workforce)
    results = forecast.forecast(plan, now)
    last, part = max(
        zip(asked.part_names, asked.parts, strict=True),
        key=lambda one: results[one[0]].ends_at or datetime.max.replace(tzinfo=UTC),
    )
    binding, owner = _find_cause(results[last], part, now)
    return Outlook(
        waiting=asked.waiting,
        ends_at=results[last].ends_at,
        left=sum(results[name].left for name in asked.part_names),
        binding=binding,
        owner=owner,
        changes=[
            Change(*_read_cause(change.without), change.ends_at)
            for change in forecast.find_changes(plan, last, now)
            if change.ends_at is not None
        ],
        as_of=now,
        days=split_days(
            (stretch for name in asked.part_names for stretch in results[name].stretches),
            pacing.senders[asked.sender_id].limits.zone,
        ),
    )


def _find_cause(result: Forecast, part: Part, now: datetime) -> _Cause:
    """What holds a part for the longest time; before it starts, that is what it waits for."""
    wait = part.starts_at - now if part.starts_at else timedelta()
    if result.binding is None or wait > result.held_by[result.binding]:
        return part.waits_for, None
    return _read_cause(result.binding)


def _read_cause(name: str) -> _Cause:
    if name == forecast.HOURS:
        return Binding.OUTSIDE_HOURS, None
    if name in {forecast.CAPACITY, _MEASURED}:
        return Binding.CAPACITY, None
    limit = LimitName.parse(name)
    return limit.binding, limit.owner


def _add_measured(plan: Plan, asked: Prospect, workforce: Workforce) -> Plan:
    """A stream that nothing limits goes on as fast as it went: that is known better than what
    workers can do. A pace under limits says nothing: it has their pauses in it.
    """
    names = set(asked.part_names)
    own = [plan.streams[name] for name in names]
    if workforce.measured is None or any(stream.limits or stream.hours for stream in own):
        return plan
    streams = {
        name: replace(stream, limits=(_MEASURED,)) if name in names else stream
        for name, stream in plan.streams.items()
    }
    limits = {**plan.limits, _MEASURED: PerSecond(workforce.measured)}
    capacity = max(plan.capacity, workforce.measured * len(streams))
    return Plan(streams, limits, capacity)


def _read_prospects(workspace_id: int, now: datetime) -> list[Prospect]:
    """The streams of the workspace that have work."""
    priorities = queries.list_live_streams(workspace_id)
    facts = queries.find_streams(list(priorities))
    books = queries.read_books(list(priorities))
    later: dict[int, list[LaterWork]] = {}
    for work in queries.list_later_work(list(priorities), now=now):
        later.setdefault(work.stream_id, []).append(work)
    return [
        _make_prospect(stream, priorities[id_], books[id_].waiting, later.get(id_, []), now=now)
        for id_, stream in facts.items()
    ]


def _make_prospect(
    facts: StreamFacts, priority: int, waiting: int, later: Iterable[LaterWork], *, now: datetime
) -> Prospect:
    parts = [Part(min(work.position_count, waiting), work.due_at) for work in later]
    due = Part(max(waiting - sum(part.mails for part in parts), 0))
    prospect = Prospect(
        stream_id=facts.id,
        sender_id=facts.sender_id,
        member_id=facts.member_id,
        kind=facts.kind,
        priority=priority,
        opened_at=facts.created_at,
        parts=tuple(part for part in (due, *parts) if part.mails),
        is_test=facts.is_test,
        is_held=facts.fenced_since is not None,
        delivery_window=facts.delivery_window,
    )
    return _hold(prospect, facts.holds, now)


def _hold(prospect: Prospect, holds: Iterable[Hold], now: datetime) -> Prospect:
    """What is held until a moment starts then, unless its provider is only tried again then."""
    in_force = causes.sort_in_force(holds, now=now)
    last = next((hold for hold in in_force if hold.reason not in _PLANNED), None)
    if last is None:
        return prospect
    parts = tuple(_delay(part, last) for part in prospect.parts)
    is_endless = any(hold.until is None or hold.reason in TRIED_AGAIN_REASONS for hold in in_force)
    return replace(prospect, parts=parts, is_held=prospect.is_held or is_endless)


def _delay(part: Part, hold: Hold) -> Part:
    if part.starts_at and hold.until and part.starts_at >= hold.until:
        return part
    is_quota = hold.reason is Reason.QUOTA_EXHAUSTED
    waits_for = Binding.QUOTA_EXHAUSTED if is_quota else Binding.HELD
    return replace(part, starts_at=hold.until, waits_for=waits_for)


def _read_pacing(everything: Sequence[Prospect]) -> Pacing:
    rows = Sender.objects.select_related("account__accountquota", "workspace")
    senders = {
        sender.pk: PacedSender(sender.account_id, sending_limits.describe(sender))
        for sender in rows.filter(pk__in={one.sender_id for one in everything})
    }
    members = Member.objects.filter(pk__in={one.member_id for one in everything if one.member_id})
    reserve = settings.DISPATCH_OPTIONS.reserve
    return Pacing(senders, dict(members.values_list("pk", "daily_limit")), reserve)


def _read_used(everything: Sequence[Prospect], pacing: Pacing, now: datetime) -> Pacing:
    """Adds what was used of every count; a workspace without such limits costs no query."""
    used = {
        name: _count_used(name, limit, pacing, now)
        for prospect in everything
        for name, limit in prospects.list_limits(prospect, everything, pacing, now=now)
        if not isinstance(limit, PerSecond)
    }
    return replace(pacing, used=used)


def _count_used(
    name: LimitName, limit: PerHour | PerDay | Quota, pacing: Pacing, now: datetime
) -> int:
    if isinstance(limit, Quota):
        return _count_since_sync(name.owner_id, pacing)
    since = now.replace(minute=0, second=0, microsecond=0)
    if isinstance(limit, PerDay):
        since = stored.find_day(limit.zone, (), now).starts_at
    if name.owner is Owner.MEMBER:
        return queries.count_sent_for_member(name.owner_id, since=since)
    return queries.count_sent_by_sender(name.owner_id, since=since)


def _count_since_sync(account_id: int, pacing: Pacing) -> int:
    quota = next(
        sender.limits.quota
        for sender in pacing.senders.values()
        if sender.account_id == account_id and sender.limits.quota is not None
    )
    return queries.count_sent_by_account(account_id, since=quota.synced_at)
