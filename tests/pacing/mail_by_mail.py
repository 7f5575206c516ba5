"""A slow simulator that sends every mail of a plan, one after the other."""

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile
from math import inf

from postledger.pacing.hours import find_daily_resume, find_next_day, walk_intervals
from postledger.pacing.plan import Limit, PerDay, PerHour, PerSecond, Plan, Quota, Stream

_AHEAD = timedelta(days=60)


@dataclass
class Rate:
    """Keeps a mean rate exactly: a mail that had to wait for another reason is made up for."""

    interval: float
    due: float = 0.0

    def take(self, now: float) -> None:
        self.due = max(self.due, now - self.interval) + self.interval


@dataclass
class Post:
    """The mails of a plan, and what was counted of them; times are seconds since the start."""

    plan: Plan
    start: datetime
    now: float = 0.0
    counts: dict[tuple[str, float], int] = field(default_factory=dict)
    held_until: dict[tuple[str, str], float] = field(default_factory=dict)
    ends: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        streams = self.plan.streams
        self.days = {
            limit.zone: self.find_days(limit.zone)
            for limit in self.plan.limits.values()
            if isinstance(limit, PerDay)
        }
        self.left = {name: stream.waiting for name, stream in streams.items()}
        self.workspace_turns = dict.fromkeys((one.workspace for one in streams.values()), -1)
        self.stream_turns = dict.fromkeys(streams, -1)
        self.rates = {name: self.find_rates(stream) for name, stream in streams.items()}
        self.intervals = {name: self.find_intervals(stream) for name, stream in streams.items()}
        for name, limit in self.plan.limits.items():
            if not isinstance(limit, PerSecond):
                used = limit.whole - limit.left if isinstance(limit, Quota) else limit.used
                self.counts[name, self.period(limit, 0.0)] = used

    def find_rates(self, stream: Stream) -> list[Rate]:
        known: dict[tuple[str, bool], Rate] = self.__dict__.setdefault("known_rates", {})
        found = [known.setdefault(("", False), Rate(1 / self.plan.capacity))]
        for name in stream.limits:
            limit = self.plan.limits[name]
            if isinstance(limit, PerSecond):
                found.append(known.setdefault((name, False), Rate(1 / limit.rate)))
                if not stream.may_use_reserve:
                    bulk = Rate(1 / limit.rate / (1 - limit.reserved))
                    found.append(known.setdefault((name, True), bulk))
        return found

    def find_intervals(self, stream: Stream) -> tuple[list[float], list[float]]:
        end = self.start + _AHEAD
        walk = walk_intervals(stream.hours, self.start)
        near = list(takewhile(lambda interval: interval.start < end, walk))
        return (
            [(interval.start - self.start).total_seconds() for interval in near],
            [(interval.end - self.start).total_seconds() for interval in near],
        )

    def find_days(self, zone: str) -> list[float]:
        """The starts of the days that follow."""
        days = [find_next_day(zone, self.start)]
        while days[-1] < self.start + _AHEAD:
            days.append(find_next_day(zone, days[-1]))
        return [(day - self.start).total_seconds() for day in days]

    def moment(self, now: float) -> datetime:
        return self.start + timedelta(seconds=now)

    def period(self, limit: Limit, now: float) -> float:
        match limit:
            case PerHour():
                return (self.start.timestamp() + now) // 3600
            case PerDay(zone=zone):
                return bisect_right(self.days[zone], now)
            case Quota(refills_at=None):
                return -1
            case Quota(refills_at=datetime() as refills_at, every=every):
                refill = (refills_at - self.start).total_seconds()
                return (now - refill) // every.total_seconds()
            case _:
                raise AssertionError(limit)

    def allowed(self, limit: Limit, stream: Stream) -> float:
        match limit:
            case PerHour(count) | PerDay(count):
                return count
            case Quota(whole=whole, reserved=reserved):
                return whole if stream.may_use_reserve else whole * (1 - reserved)
            case _:
                raise AssertionError(limit)

    def resume(self, limit: Limit, stream: Stream, now: float) -> float:
        match limit:
            case PerHour():
                epoch = self.start.timestamp()
                return ((epoch + now) // 3600 + 1) * 3600 - epoch
            case PerDay(zone=zone):
                resume = find_daily_resume(stream.hours, zone, self.moment(now))
            case Quota(refills_at=datetime() as refills_at, every=every):
                resume = refills_at + ((self.moment(now) - refills_at) // every + 1) * every
            case _:
                return inf
        return (resume - self.start).total_seconds()

    def next_opening(self, name: str, now: float) -> float:
        starts, ends = self.intervals[name]
        place = bisect_right(ends, now)
        return max(now, starts[place]) if place < len(starts) else inf

    def next_moment(self, name: str) -> float:
        """The first moment at which the stream's next mail may go."""
        stream = self.plan.streams[name]
        start = (stream.starts_at - self.start).total_seconds() if stream.starts_at else 0.0
        now, before = max(self.now, start), -1.0
        for rate in self.rates[name]:
            now = max(now, rate.due - rate.interval)
        while before < now < inf:
            before = now
            now = self.next_opening(name, now)
            for limit_name in stream.limits:
                now = max(now, self.next_count(name, limit_name, now))
        return now

    def next_count(self, name: str, limit_name: str, now: float) -> float:
        limit, stream = self.plan.limits[limit_name], self.plan.streams[name]
        if isinstance(limit, PerSecond) or now == inf:
            return now
        now = max(now, self.held_until.get((name, limit_name), 0.0))
        # A whole hour less a rounding error is that hour.
        used = self.counts.get((limit_name, self.period(limit, now + 1e-6)), 0)
        if used + 1 > self.allowed(limit, stream):
            self.held_until[name, limit_name] = now = self.resume(limit, stream, now + 1e-6)
        return now

    def run(self) -> dict[str, float]:
        """The moment of each stream's last mail."""
        turn = 0
        while waiting := [name for name, left in self.left.items() if left]:
            moments = {name: self.next_moment(name) for name in waiting}
            self.now = min(moments.values())
            if self.now == inf:
                break
            ready = [name for name in waiting if moments[name] <= self.now + 1e-9]
            turn += 1
            self.send(min(ready, key=self.rank), turn)
        return self.ends

    def rank(self, name: str) -> tuple[int, int, int]:
        stream = self.plan.streams[name]
        return stream.priority, self.workspace_turns[stream.workspace], self.stream_turns[name]

    def send(self, name: str, turn: int) -> None:
        stream = self.plan.streams[name]
        self.workspace_turns[stream.workspace] = self.stream_turns[name] = turn
        for rate in self.rates[name]:
            rate.take(self.now)
        for limit_name in stream.limits:
            limit = self.plan.limits[limit_name]
            if not isinstance(limit, PerSecond):
                key = (limit_name, self.period(limit, self.now + 1e-6))
                self.counts[key] = self.counts.get(key, 0) + 1
        self.left[name] -= 1
        self.ends[name] = self.now
