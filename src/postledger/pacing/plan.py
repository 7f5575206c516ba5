"""What a forecast is made from: the streams that wait, the limits they share, and their hours."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from postledger.pacing.hours import WorkingHours


@dataclass(frozen=True, slots=True)
class PerSecond:
    rate: float
    reserved: float = 0.0  # the share that only streams with `may_use_reserve` get


@dataclass(frozen=True, slots=True)
class PerHour:
    """Of the clock, in UTC."""

    count: int
    used: int = 0  # in the current hour


@dataclass(frozen=True, slots=True)
class PerDay:
    """Of a zone. Once reached, it holds a stream until that stream's daily resume time."""

    count: int
    zone: str
    used: int = 0  # today


@dataclass(frozen=True, slots=True)
class Quota:
    """The provider's count: what is left of it, and when it is whole again.

    A quota over rolling 24 hours is whole again step by step; the forecast takes it in one step.
    """

    left: int
    whole: int
    refills_at: datetime | None  # None: not known to be refilled
    every: timedelta = timedelta(days=1)
    reserved: float = 0.0  # a share of `whole`, as in PerSecond


type Limit = PerSecond | PerHour | PerDay | Quota


@dataclass(frozen=True, slots=True)
class Stream:
    waiting: int
    limits: tuple[str, ...] = ()  # names of limits: those of its account, sender and member
    hours: tuple[WorkingHours, ...] = ()
    starts_at: datetime | None = None  # None: at once
    priority: int = 0  # strict; the lowest goes first
    workspace: str = ""  # workspaces take equal turns, and so do the streams of one
    may_use_reserve: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    streams: Mapping[str, Stream]
    limits: Mapping[str, Limit]
    capacity: float  # mails per second that the workers send when no limit holds them
