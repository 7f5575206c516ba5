"""The streams that a forecast is about, and the limits that pace them, made into a plan. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, override

from postledger.accounts.sending_limits import SendingLimits, StoredQuota
from postledger.deliveries.entries import StreamKind
from postledger.pacing import stored
from postledger.pacing.hours import WorkingHours
from postledger.pacing.limits import Reserve
from postledger.pacing.plan import Limit, PerDay, PerHour, PerSecond, Plan, Quota, Stream

_DAY = timedelta(days=1)


class Binding(StrEnum):
    """What sets the pace of a stream, in the words that waits and holds have for it."""

    RATE_PER_SECOND = "rate_per_second"
    RATE_PER_HOUR = "rate_per_hour"
    DAILY_LIMIT = "daily_limit"
    QUOTA_EXHAUSTED = "quota_exhausted"
    OUTSIDE_HOURS = "outside_hours"
    CAPACITY = "capacity"  # the workers send as fast as they can
    SCHEDULED = "scheduled"
    HELD = "held"


class Owner(StrEnum):
    """Whose limit it is."""

    SENDER = "sender"
    ACCOUNT = "account"
    MEMBER = "member"


@dataclass(frozen=True, slots=True)
class LimitName:
    owner: Owner
    owner_id: int
    binding: Binding

    @override
    def __str__(self) -> str:
        return f"{self.owner} {self.owner_id} {self.binding}"

    @classmethod
    def parse(cls, name: str) -> "LimitName":
        owner, owner_id, binding = name.split()
        return cls(Owner(owner), int(owner_id), Binding(binding))


@dataclass(frozen=True, slots=True)
class Part:
    """Mails of a stream that may go from one moment on."""

    mails: int
    starts_at: datetime | None = None  # None: at once
    waits_for: Binding = Binding.SCHEDULED  # until it starts


@dataclass(frozen=True, slots=True)
class Prospect:
    """A stream with mail to come."""

    stream_id: int  # 0: not launched yet
    sender_id: int
    member_id: int | None
    kind: StreamKind
    priority: int
    opened_at: datetime
    parts: tuple[Part, ...]
    is_test: bool = False  # its mail goes to the sandbox, which has no limits
    is_held: bool = False  # until a person acts or its provider answers
    delivery_window: Mapping[str, Any] | None = None  # hours of each recipient's own day

    @property
    def waiting(self) -> int:
        return sum(part.mails for part in self.parts)

    @property
    def part_names(self) -> list[str]:
        """The names that the parts have as streams of a plan."""
        return [f"{self.stream_id}/{number}" for number in range(len(self.parts))]


@dataclass(frozen=True, slots=True)
class PacedSender:
    account_id: int | None
    limits: SendingLimits


@dataclass(frozen=True, slots=True)
class Pacing:
    """What paces the streams of one workspace."""

    senders: Mapping[int, PacedSender]
    member_limits: Mapping[int, int | None]
    reserve: Reserve = field(default_factory=Reserve)
    used: Mapping[LimitName, int] = field(default_factory=dict)  # of the counts


def make_plan(
    prospects: Sequence[Prospect], pacing: Pacing, *, capacity: float, now: datetime
) -> Plan:
    """The plan of these streams; those that wait for a person use nothing of it."""
    limits: dict[str, Limit] = {}
    streams: dict[str, Stream] = {}
    for prospect in prospects:
        if prospect.is_held:
            continue
        own = dict(list_limits(prospect, prospects, pacing, now=now))
        limits |= {str(name): limit for name, limit in own.items()}
        for name, part in zip(prospect.part_names, prospect.parts, strict=True):
            streams[name] = _make_stream(prospect, part, pacing, tuple(map(str, own)))
    return Plan(streams, limits, capacity)


def _make_stream(prospect: Prospect, part: Part, pacing: Pacing, limits: tuple[str, ...]) -> Stream:
    is_bulk = prospect.kind is StreamKind.CAMPAIGN
    sender = pacing.senders[prospect.sender_id]
    return Stream(
        waiting=part.mails,
        limits=limits,
        hours=_read_hours(prospect, sender.limits) if is_bulk and not prospect.is_test else (),
        starts_at=part.starts_at,
        priority=prospect.priority,
        may_use_reserve=not is_bulk,
    )


def _read_hours(prospect: Prospect, limits: SendingLimits) -> tuple[WorkingHours, ...]:
    """The hours of a stream. A delivery window is taken in the workspace's zone: that is near
    enough where most recipients live in it, and who lives elsewhere gets mail at other times.
    """
    hours = stored.read_all_hours(limits)
    if prospect.delivery_window is None:
        return hours
    return (*hours, stored.read_hours(prospect.delivery_window, zone=limits.zone))


def list_limits(
    prospect: Prospect, prospects: Sequence[Prospect], pacing: Pacing, *, now: datetime
) -> Iterator[tuple[LimitName, Limit]]:
    """The limits of one of these streams."""
    if prospect.is_test:
        return
    sender = pacing.senders[prospect.sender_id]
    yield from _list_sender_limits(prospect.sender_id, sender.limits, pacing.used)
    member_limit = pacing.member_limits.get(prospect.member_id or 0)
    if prospect.member_id is not None and member_limit is not None:
        name = LimitName(Owner.MEMBER, prospect.member_id, Binding.DAILY_LIMIT)
        yield name, PerDay(member_limit, sender.limits.zone, pacing.used.get(name, 0))
    if sender.account_id is None:
        return
    rates = (stored.lower_rate(sender.limits.account_rate), sender.limits.tuned_rate)
    if known := [rate for rate in rates if rate is not None]:
        name = LimitName(Owner.ACCOUNT, sender.account_id, Binding.RATE_PER_SECOND)
        yield name, PerSecond(min(known), pacing.reserve.of_rate)
    if sender.limits.quota is not None:
        name = LimitName(Owner.ACCOUNT, sender.account_id, Binding.QUOTA_EXHAUSTED)
        first = min(
            other.opened_at
            for other in prospects
            if pacing.senders[other.sender_id].account_id == sender.account_id
        )
        used = pacing.used.get(name, 0)
        yield name, _make_quota(sender.limits.quota, used, pacing.reserve, first, now)


def _list_sender_limits(
    sender_id: int, limits: SendingLimits, used: Mapping[LimitName, int]
) -> Iterator[tuple[LimitName, Limit]]:
    rate = stored.lower_rate(limits.rate_per_second)
    if rate is not None:
        name = LimitName(Owner.SENDER, sender_id, Binding.RATE_PER_SECOND)
        yield name, PerSecond(rate)
    if limits.rate_per_hour is not None:
        name = LimitName(Owner.SENDER, sender_id, Binding.RATE_PER_HOUR)
        yield name, PerHour(limits.rate_per_hour, used.get(name, 0))
    if limits.daily_limit is not None:
        name = LimitName(Owner.SENDER, sender_id, Binding.DAILY_LIMIT)
        yield name, PerDay(limits.daily_limit, limits.zone, used.get(name, 0))


def _make_quota(
    quota: StoredQuota, used: int, reserve: Reserve, first: datetime, now: datetime
) -> Quota:
    """A mail gives its part of the quota back after a day: that of the account's first stream,
    a day after it was opened, and so on.
    """
    days = max((now - first) // _DAY, 0) + 1
    return Quota(
        left=max(quota.remaining - used, 0),
        whole=quota.remaining if quota.size is None else quota.size,
        refills_at=first + days * _DAY,
        every=_DAY,
        reserved=reserve.of_quota,
    )
