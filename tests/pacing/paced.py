"""A limiter on a Redis of its own, whose clock the test sets."""

import asyncio
from bisect import bisect_left
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from unittest.mock import patch

from redis import Redis

from postledger.pacing import limiter as module
from postledger.pacing.limiter import Limiter
from postledger.pacing.limits import (
    MICROSECONDS,
    AccountLimits,
    Day,
    Figures,
    Granted,
    Horizon,
    Limit,
    MemberLimit,
    Outcome,
    Quota,
    Refused,
    Request,
    SenderLimits,
    Unfilled,
    to_moment,
)

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
TODAY = Day(
    "2026-11-03 UTC",
    datetime(2026, 11, 3, tzinfo=UTC),
    datetime(2026, 11, 4, tzinfo=UTC),
    datetime(2026, 11, 4, 9, tzinfo=UTC),
)
PATIENT = 60.0  # seconds: how busy the machine is says nothing about the claims
_CLOCK = "test:clock"
_REAL_CLOCK = "local time = redis.call('TIME')"
_TEST_CLOCK = f"local time = {{ redis.call('GET', '{_CLOCK}'), 0 }}"
NOTHING_SENT = Figures(used_this_hour=0, used_today=0)


class Paced:
    """Asks as several workers do, and remembers what the ledger would know."""

    def __init__(self, url: str, horizon: Horizon | None = None, workers: int = 1) -> None:
        self.redis = Redis.from_url(url)
        self.now = NOON
        script = module._read_script()
        assert script.count(_REAL_CLOCK) == 1
        # Seconds and microseconds in one: the script adds them up.
        script = script.replace(_REAL_CLOCK, _TEST_CLOCK).replace(
            "time[1] * 1000000 + time[2]", "tonumber(time[1])"
        )
        with patch.object(module, "_read_script", lambda: script):
            self.limiters = [Limiter(url, horizon, PATIENT) for _ in range(workers)]
        self._runner = asyncio.Runner()
        self.empty()

    def empty(self) -> None:
        """Empties Redis; the test's clock stays."""
        self.redis.flushall()
        self._set_clock()

    def settle(self) -> None:
        """As if this Redis had been there for long."""
        settle(self.redis)

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)
        self._set_clock()

    def move_to(self, moment: datetime) -> None:
        self.now = moment
        self._set_clock()

    def _set_clock(self) -> None:
        self.redis.set(_CLOCK, to_moment(self.now))

    def ask(self, request: Request, worker: int = 0) -> Outcome:
        return self._runner.run(self.limiters[worker].grant(request))

    def take(self, request: Request, figures: Figures = NOTHING_SENT, worker: int = 0) -> Outcome:
        """Asks, and fills Redis first where it has to be filled."""
        outcome = self.ask(request, worker)
        if isinstance(outcome, Unfilled):
            assert self.fill(outcome, request, figures, worker)
            outcome = self.ask(request, worker)
        return outcome

    def prepare(self, request: Request, figures: Figures = NOTHING_SENT) -> None:
        """Fills a Redis that has long been there, and waits until the rate is free."""
        self.settle()
        unfilled = self.ask(request)
        assert isinstance(unfilled, Unfilled), unfilled
        assert self.fill(unfilled, request, figures)
        self.move(seconds=30)

    def fill(self, unfilled: Unfilled, request: Request, figures: Figures, worker: int = 0) -> bool:
        return self._runner.run(self.limiters[worker].fill(unfilled, request, figures))

    def give_back(self, granted: Granted, unsent: Sequence[int]) -> None:
        self._runner.run(self.limiters[0].give_back(granted, unsent))

    def run[T](self, step: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(step)

    def stored(self) -> dict[bytes, object]:
        """Everything in Redis but the test's clock."""
        return {
            key: self.redis.hgetall(key) if self.redis.type(key) == b"hash" else self.redis.get(key)
            for key in self.redis.scan_iter("postledger:*")
        }

    def close(self) -> None:
        for limiter in self.limiters:
            self._runner.run(limiter.close())
        self._runner.close()
        self.redis.close()


def settle(redis: Redis) -> None:
    """Lets a Redis look as if it had been there for long."""
    run_id = redis.info("server")["run_id"]
    redis.set("postledger:pacing:server", f"{run_id}:1")


@contextmanager
def paced(url: str, horizon: Horizon | None = None, workers: int = 1) -> Iterator[Paced]:
    made = Paced(url, horizon, workers)
    try:
        yield made
    finally:
        made.close()


def ask_for(
    count: int,
    *,
    sender_id: int = 1,
    rate: float | None = None,
    per_hour: int | None = None,
    per_day: int | None = None,
    account_rate: float | None = None,
    quota: Quota | None = None,
    member: MemberLimit | None = None,
    is_reserved: bool = False,
    day: Day = TODAY,
) -> Request:
    account = AccountLimits(7, rate=account_rate, quota=quota)
    limits = SenderLimits(sender_id, account, day, rate, per_hour, per_day)
    return Request(count, limits, member, is_reserved=is_reserved)


def granted(outcome: Outcome) -> Granted:
    assert isinstance(outcome, Granted), outcome
    return outcome


def refusals(outcome: Outcome) -> dict[Limit, datetime]:
    assert isinstance(outcome, Refused), outcome
    return {refusal.limit: refusal.until for refusal in outcome.refusals}


def least_interval(moments: Sequence[int]) -> int:
    moments = sorted(moments)
    return min(later - earlier for earlier, later in pairwise(moments))


def fullest_second(moments: Sequence[int]) -> int:
    moments = sorted(moments)
    return max(
        bisect_left(moments, moment + MICROSECONDS) - at for at, moment in enumerate(moments)
    )
