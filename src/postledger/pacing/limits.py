"""The limits of a sender and its account, and what the limiter answers.

Moments are whole microseconds since 1970 on Redis's clock, unless a name says otherwise.
"""

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

MICROSECONDS = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Limit(StrEnum):
    """What may refuse a mail."""

    SENDER_RATE = "sender_rate"
    ACCOUNT_RATE = "account_rate"
    SENDER_HOUR = "sender_hour"
    SENDER_DAY = "sender_day"
    MEMBER_DAY = "member_day"
    QUOTA = "quota"
    # Redis was emptied or a limit added, and mails that it does not count may be on their way.
    REFILL = "refill"


@dataclass(frozen=True, slots=True)
class Day:
    """A calendar day of a workspace."""

    key: str  # names the day and its zone, such as 2026-11-03 Europe/Berlin
    starts_at: datetime
    ends_at: datetime
    resumes_at: datetime  # when mail goes on after a daily limit: the next opening


@dataclass(frozen=True, slots=True)
class Mark:
    """How many mails of an account had been granted at one moment.

    Take it before the provider is asked for its quota, and ask once the mails granted by then are
    sent or given back: `Horizon.lifetime` later.
    """

    count_id: str  # of the count that `granted` belongs to; it starts again in an empty Redis
    granted: int


@dataclass(frozen=True, slots=True)
class Quota:
    """What a provider still took at the last sync. An unlimited account has no quota."""

    remaining: int
    size: int  # of the whole quota; `remaining` where the provider does not say it
    sync_id: int  # a later sync has a larger one
    mark: Mark | None  # None: taken without Redis, so only a fill can use it
    next_sync_at: datetime
    reserved_share: float = 0.05  # of the size, for transactional and notification mail

    @property
    def reserved(self) -> int:
        return math.ceil(self.size * self.reserved_share)


@dataclass(frozen=True, slots=True)
class Reserve:
    """The shares of an account that only transactional and notification mail may use."""

    of_rate: float = 0.2
    of_quota: float = 0.05


@dataclass(frozen=True, slots=True)
class AccountLimits:
    account_id: int
    rate: float | None = None  # mails a second, of all its senders
    reserved_share: float = 0.2  # of the rate, for transactional and notification mail
    quota: Quota | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.reserved_share <= 0.5:  # noqa: PLR2004  bulk mail gets one slot in two
            raise ValueError("The reserved share of a rate is between 0 and one half.")


@dataclass(frozen=True, slots=True)
class SenderLimits:
    sender_id: int
    account: AccountLimits
    day: Day
    rate: float | None = None  # mails a second
    per_hour: int | None = None  # of the clock, in UTC
    per_day: int | None = None
    # When a limit was last added: what was sent before may not have been counted.
    counted_since: datetime = EPOCH


@dataclass(frozen=True, slots=True)
class MemberLimit:
    """The member who launched a run."""

    member_id: int
    per_day: int | None = None
    counted_since: datetime = EPOCH  # as that of a sender


@dataclass(frozen=True, slots=True)
class Request:
    """Asks for up to `count` mails of one sender."""

    count: int
    limits: SenderLimits
    member: MemberLimit | None = None
    is_reserved: bool = False  # transactional or notification mail, which may use reserved shares


@dataclass(frozen=True, slots=True)
class Horizon:
    """How far ahead moments are granted, in seconds.

    A block begins at most `start` ahead and ends at most `end` ahead: blocks stay large while
    several workers ask. Reserved mail sees further than bulk mail, so bulk mail that asks all the
    time never takes every moment that reserved mail could get.
    """

    start: float = 0.5
    end: float = 1.0
    reserved_start: float = 1.5
    reserved_end: float = 2.0
    # So long after a limit was added, workers may not have read it and send uncounted mail.
    settling: float = 10.0
    # A mail that is not armed so long after its grant is given back. An emptied Redis grants
    # nothing for this time: afterwards the ledger knows every mail that was granted before.
    lifetime: float = 3.0

    def __post_init__(self) -> None:
        if self.lifetime < max(self.end, self.reserved_end):
            raise ValueError("A grant lives at least until its last moment.")


@dataclass(frozen=True, slots=True)
class Granted:
    """One moment for each mail; send none before its moment, nor arm one after `expires_at`."""

    moments: tuple[int, ...]
    now: int  # when it was granted
    expires_at: int
    request: Request
    generation: str  # of the counters that counted it
    hour: int  # the clock hour that it was counted in, in hours since 1970

    @property
    def count(self) -> int:
        return len(self.moments)


@dataclass(frozen=True, slots=True)
class Refusal:
    limit: Limit
    until: datetime  # asking earlier is in vain


@dataclass(frozen=True, slots=True)
class Refused:
    """Every limit that refuses; nothing was counted."""

    refusals: tuple[Refusal, ...]
    now: int

    @property
    def until(self) -> datetime:
        """When the last of them ends."""
        return max(refusal.until for refusal in self.refusals)

    @property
    def wait(self) -> timedelta:
        return max(self.until - to_datetime(self.now), timedelta())


@dataclass(frozen=True, slots=True)
class Unfilled:
    """Redis does not know what was sent. Read the figures from the ledger now, then fill it."""

    generation: str
    now: int
    hour: int  # the clock hour to count, in hours since 1970

    @property
    def hour_starts_at(self) -> datetime:
        return EPOCH + timedelta(hours=self.hour)


@dataclass(frozen=True, slots=True)
class WrongDay:
    """The request's day is not today by Redis's clock; ask with the day of `now`."""

    now: int


@dataclass(frozen=True, slots=True)
class Away:
    """Redis does not answer. It may have granted a block, which then stays counted."""

    detail: str


type Outcome = Granted | Refused | Unfilled | WrongDay | Away


@dataclass(frozen=True, slots=True)
class Figures:
    """What the ledger says was sent, with the mails that are armed and those in doubt."""

    used_this_hour: int  # in the hour that `Unfilled` names
    used_today: int  # of the sender, in the request's day
    member_used_today: int = 0
    sent_since_sync: int = 0  # by the account, since its quota was read
    # The last mail of the sender or another sender of its account.
    last_sent_at: datetime | None = None
    tuned_rate: float | None = None  # of the account


@dataclass(frozen=True, slots=True)
class Tuning:
    """The account's rate that its provider bears, shared by all workers. None: not throttled."""

    rate: float | None = None
    state: str = ""  # what the rule that tunes it remembers
    version: int = 0
    now: int = field(default=0, compare=False)  # when it was read


@dataclass(frozen=True, slots=True)
class LocalPace:
    """Mails a second that one worker may send without Redis; infinite where there is no limit."""

    sender: float
    account: float


def divide_rates(request: Request, live_workers: int) -> LocalPace | None:
    """The pace of one of the live workers while Redis is away.

    None if the mail has to wait: a limit of an hour, a day or a quota needs a common count.
    """
    limits, account = request.limits, request.limits.account
    counts = (limits.per_hour, limits.per_day, request.member and request.member.per_day)
    if account.quota is not None or any(count is not None for count in counts):
        return None
    share = 1.0 if request.is_reserved else 1.0 - account.reserved_share
    workers = max(live_workers, 1)
    return LocalPace(
        sender=math.inf if limits.rate is None else limits.rate / workers,
        account=math.inf if account.rate is None else account.rate * share / workers,
    )


def to_datetime(moment: int) -> datetime:
    return EPOCH + timedelta(microseconds=moment)


def to_moment(time: datetime) -> int:
    return (time - EPOCH) // timedelta(microseconds=1)


def to_interval(rate: float) -> int:
    """The least distance of two mails, in microseconds; rounded up, so never above the rate."""
    return math.ceil(MICROSECONDS / rate)
