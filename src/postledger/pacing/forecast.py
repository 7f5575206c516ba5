"""Predicts when streams end, which limit holds them back most, and what would change that.

Pure. Mail is taken as a flow whose rate changes only when a limit is reached or ends, hours open
or close, or a stream starts or ends: the work grows with these changes, not with the mails.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import inf

from postledger.pacing.forecast_days import Stretch
from postledger.pacing.hours import (
    WorkingHours,
    find_daily_resume,
    find_next_day,
    walk_intervals,
)
from postledger.pacing.plan import PerDay, PerHour, PerSecond, Plan, Quota, Stream
from postledger.pacing.sharing import Claim, Share, share_rates

HORIZON = timedelta(days=90)
CAPACITY = "capacity"  # the cause where no limit binds: the workers send as fast as they can
HOURS = "hours"  # the cause while the hours are closed
_HOUR = 3600.0
_NOTHING = 1e-6  # of a mail: what rounding leaves over

# Of two causes that end together, the one with the higher rank is shown first.
_RANKS: dict[type[object], int] = {PerDay: 3, Quota: 2, WorkingHours: 1, PerHour: 0}
type _Hold = tuple[float, int]  # its end and its rank
type _Key = tuple[str, bool]  # a rate's name, and whether its reserved part is left out


@dataclass(frozen=True, slots=True)
class Forecast:
    """Of one stream."""

    ends_at: datetime | None  # None: not before the horizon
    left: int  # mails that still wait at the horizon
    held_by: dict[str, timedelta]  # how long each limit, HOURS or CAPACITY set the pace
    stretches: tuple[Stretch, ...]  # in which its mails go

    @property
    def binding(self) -> str | None:
        """What set the pace for the longest time."""
        return max(self.held_by, key=lambda cause: self.held_by[cause], default=None)


@dataclass(frozen=True, slots=True)
class Change:
    """When a stream would end without one of the limits, or without its hours."""

    without: str
    ends_at: datetime | None


def forecast(plan: Plan, now: datetime, *, horizon: timedelta = HORIZON) -> dict[str, Forecast]:
    """The forecast of each stream."""
    flow = _Flow(plan, now)
    flow.run(horizon.total_seconds())
    return {name: state.to_forecast(now) for name, state in flow.states.items()}


def find_changes(plan: Plan, name: str, now: datetime, *, most: int = 3) -> list[Change]:
    """What would let a stream end earlier: each of its longest causes, taken away alone."""
    current = forecast(plan, now)[name]
    causes = sorted(current.held_by, key=lambda cause: current.held_by[cause], reverse=True)
    changes = [
        Change(cause, forecast(_leave_out(plan, name, cause), now)[name].ends_at)
        for cause in causes[:most]
        if cause != CAPACITY
    ]
    return [
        change
        for change in changes
        if change.ends_at and (current.ends_at is None or change.ends_at < current.ends_at)
    ]


def _leave_out(plan: Plan, name: str, cause: str) -> Plan:
    if cause == HOURS:
        stream = replace(plan.streams[name], hours=())
        return replace(plan, streams={**plan.streams, name: stream})
    limits = {key: limit for key, limit in plan.limits.items() if key != cause}
    streams = {
        key: replace(stream, limits=tuple(limit for limit in stream.limits if limit != cause))
        for key, stream in plan.streams.items()
    }
    return replace(plan, streams=streams, limits=limits)


@dataclass(slots=True)
class _Bucket:
    """A count that is used up and refilled; times are seconds since the forecast's start."""

    limit: PerHour | PerDay | Quota
    left: float
    refills_at: float

    @property
    def reserve(self) -> float:
        return self.limit.whole * self.limit.reserved if isinstance(self.limit, Quota) else 0.0

    def refill(self, start: datetime) -> None:
        match self.limit:
            case PerHour(count):
                self.left, self.refills_at = count, self.refills_at + _HOUR
            case PerDay(count, zone):
                midnight = start + timedelta(seconds=self.refills_at)
                self.left = count
                self.refills_at = (find_next_day(zone, midnight) - start).total_seconds()
            case Quota(whole=whole, every=every):
                self.left, self.refills_at = whole, self.refills_at + every.total_seconds()


def _make_bucket(limit: PerHour | PerDay | Quota, now: datetime) -> _Bucket:
    match limit:
        case PerHour(count, used):
            return _Bucket(limit, max(count - used, 0), _HOUR - now.timestamp() % _HOUR)
        case PerDay(count, zone, used):
            next_day = find_next_day(zone, now) - now
            return _Bucket(limit, max(count - used, 0), next_day.total_seconds())
        case Quota(left, _, refills_at):
            seconds = inf if refills_at is None else max((refills_at - now).total_seconds(), 0)
            return _Bucket(limit, left, seconds)


@dataclass(slots=True)
class _State:
    """Of one stream while time goes by."""

    stream: Stream
    left: float
    starts_at: float
    intervals: Iterator[tuple[float, float]]
    open_from: float = 0.0
    open_until: float = 0.0
    holds: dict[str, _Hold] = field(default_factory=dict)  # by limits that were reached
    held_by: dict[str, float] = field(default_factory=dict)
    stretches: list[tuple[float, float, float]] = field(default_factory=list)
    ends_at: float | None = None

    def move_to(self, now: float) -> None:
        """Brings the hours and the holds up to date."""
        while self.open_until <= now:
            self.open_from, self.open_until = next(self.intervals, (inf, inf))
        self.holds = {name: hold for name, hold in self.holds.items() if hold[0] > now}

    def find_cause(self, now: float) -> str | None:
        """What keeps the stream from sending; of several, the one that ends last."""
        holds = dict(self.holds)
        if self.open_from > now:
            holds[HOURS] = (self.open_from, _RANKS[WorkingHours])
        return max(holds, key=lambda name: holds[name], default=None)

    def find_next_change(self, now: float) -> float:
        ends = [end for end, _ in self.holds.values()]
        changes = (self.starts_at, self.open_from, self.open_until, *ends)
        return min((moment for moment in changes if moment > now), default=inf)

    def to_forecast(self, start: datetime) -> Forecast:
        held_by = {name: timedelta(seconds=seconds) for name, seconds in self.held_by.items()}
        stretches = tuple(
            Stretch(start + timedelta(seconds=begin), start + timedelta(seconds=end), mails)
            for begin, end, mails in self.stretches
        )
        if self.ends_at is None:
            return Forecast(None, max(round(self.left), 1), held_by, stretches)
        return Forecast(start + timedelta(seconds=self.ends_at), 0, held_by, stretches)


def _make_state(stream: Stream, now: datetime) -> _State:
    starts_at = (stream.starts_at - now).total_seconds() if stream.starts_at else 0.0
    intervals = (
        ((interval.start - now).total_seconds(), (interval.end - now).total_seconds())
        for interval in walk_intervals(stream.hours, now)
    )
    ends_at = None if stream.waiting else 0.0
    return _State(stream, stream.waiting, max(starts_at, 0.0), intervals, ends_at=ends_at)


class _Flow:
    """All streams and counts of a plan, moved from one change to the next."""

    def __init__(self, plan: Plan, now: datetime) -> None:
        self.start = now
        self.now = 0.0
        self.states = {name: _make_state(stream, now) for name, stream in plan.streams.items()}
        self._capacities: dict[_Key, float] = {(CAPACITY, False): plan.capacity}
        self._buckets: dict[str, _Bucket] = {}
        for name, limit in plan.limits.items():
            if isinstance(limit, PerSecond):
                self._capacities[name, False] = limit.rate
                self._capacities[name, True] = limit.rate * (1 - limit.reserved)
            else:
                self._buckets[name] = _make_bucket(limit, now)
        self._claims = {name: self._make_claim(name) for name in self.states}
        self._shares: tuple[list[str], dict[str, Share[_Key]]] = ([], {})

    def run(self, horizon: float) -> None:
        while self.now < horizon:
            waiting = {name: state for name, state in self.states.items() if state.ends_at is None}
            if not waiting:
                return
            self._refill()
            started = {key: one for key, one in waiting.items() if one.starts_at <= self.now}
            for state in waiting.values():
                state.move_to(self.now)
            for state in started.values():
                self._hold(state)
            causes = {key: state.find_cause(self.now) for key, state in started.items()}
            shares = self._share([key for key, cause in causes.items() if cause is None])
            moment = min(self._find_next_change(waiting, shares), horizon)
            for key, cause in causes.items():
                self._pass(key, cause or shares[key].bound_by[0], moment - self.now)
            self._use(shares, moment)

    def _make_claim(self, name: str) -> Claim[_Key]:
        stream = self.states[name].stream
        is_bulk = not stream.may_use_reserve
        rates = [key for key in stream.limits if key not in self._buckets]
        keys = [(key, bulk) for key in rates for bulk in {False, is_bulk}]
        return Claim(name, stream.priority, stream.workspace, (*keys, (CAPACITY, False)))

    def _refill(self) -> None:
        for bucket in self._buckets.values():
            while bucket.refills_at <= self.now:
                bucket.refill(self.start)

    def _hold(self, state: _State) -> None:
        """Holds a stream that meets a reached limit while its hours are open."""
        if state.open_from > self.now:
            return
        for name in state.stream.limits:
            bucket = self._buckets.get(name)
            if bucket is None or name in state.holds:
                continue
            if bucket.left <= self._find_floor(state, bucket) + _NOTHING:
                state.holds[name] = (self._find_resume(state, bucket), _RANKS[type(bucket.limit)])

    def _find_floor(self, state: _State, bucket: _Bucket) -> float:
        return 0.0 if state.stream.may_use_reserve else bucket.reserve

    def _find_resume(self, state: _State, bucket: _Bucket) -> float:
        if not isinstance(bucket.limit, PerDay):
            return bucket.refills_at
        moment = self.start + timedelta(seconds=self.now)
        resume = find_daily_resume(state.stream.hours, bucket.limit.zone, moment)
        return (resume - self.start).total_seconds()

    def _share(self, names: list[str]) -> dict[str, Share[_Key]]:
        if names != self._shares[0]:  # most changes leave the same streams at work
            claims = [self._claims[name] for name in names]
            self._shares = (names, share_rates(claims, self._capacities))
        return self._shares[1]

    def _find_next_change(
        self, waiting: dict[str, _State], shares: dict[str, Share[_Key]]
    ) -> float:
        moments = [state.find_next_change(self.now) for state in waiting.values()]
        for name, share in shares.items():
            if share.rate:
                moments.append(self.now + self.states[name].left / share.rate)
        for name, bucket in self._buckets.items():
            moments.append(bucket.refills_at)
            use = self._find_use(name, shares)
            floors = (bucket.reserve, 0.0) if use else ()
            moments += [
                self.now + (bucket.left - floor) / use
                for floor in floors
                if bucket.left > floor + _NOTHING
            ]
        return min(moments)

    def _find_use(self, limit: str, shares: dict[str, Share[_Key]]) -> float:
        return sum(
            share.rate for name, share in shares.items() if limit in self.states[name].stream.limits
        )

    def _pass(self, name: str, cause: str, seconds: float) -> None:
        held_by = self.states[name].held_by
        held_by[cause] = held_by.get(cause, 0.0) + seconds

    def _use(self, shares: dict[str, Share[_Key]], moment: float) -> None:
        """Sends until the moment."""
        seconds = moment - self.now
        for name, bucket in self._buckets.items():
            bucket.left -= self._find_use(name, shares) * seconds
        for name, share in shares.items():
            state = self.states[name]
            left_before = state.left
            state.left -= share.rate * seconds
            is_closing = moment >= state.open_until and state.left < 1
            if state.left < _NOTHING or is_closing:  # a flow is up to one mail behind the mails
                state.left, state.ends_at = 0.0, moment
            if state.left < left_before:
                state.stretches.append((self.now, moment, left_before - state.left))
        self.now = moment
