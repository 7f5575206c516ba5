"""The rate that a provider takes is found by its answers."""

import heapq
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field

import pytest

from postledger.pacing import tuning
from postledger.pacing.tuning import Accepted, Throttled, Tuning

TUNED = Tuning(rate=10.0, throttled_rate=14.0, lowered_at=100.0, counted_since=100.0)


def test_an_account_that_was_never_throttled_sends_at_its_limit() -> None:
    assert tuning.find_rate(Tuning(), None) is None
    assert tuning.find_rate(Tuning(), 14.0) == 14.0
    assert tuning.find_rate(TUNED, 8.0) == 8.0
    assert tuning.find_rate(TUNED, None) == 10.0


def test_a_throttle_lowers_the_rate() -> None:
    state = tuning.tune(TUNED, Throttled(granted_at=101.5), 102.0)
    assert state.rate == pytest.approx(7.0)
    state = tuning.tune(Tuning(), Throttled(granted_at=101.5), 102.0, limit=20.0)
    assert state.rate == pytest.approx(14.0)


def test_the_throttles_of_one_window_count_once() -> None:
    state = TUNED
    for number in range(50):
        state = tuning.tune(state, Throttled(granted_at=101.0), 102.0 + number / 100)
    assert state.rate == pytest.approx(7.0)


def test_a_throttle_of_a_mail_that_was_granted_at_the_old_rate_changes_nothing() -> None:
    assert tuning.tune(TUNED, Throttled(granted_at=99.0), 105.0) == TUNED


def test_a_clock_that_was_set_back_does_not_hide_throttles() -> None:
    state = tuning.tune(TUNED, Throttled(granted_at=49.0), 50.0)
    assert state.rate == pytest.approx(7.0)


def test_without_a_limit_the_first_rate_is_what_was_taken() -> None:
    state = tuning.tune(Tuning(), Accepted(20), 1.0)
    state = tuning.tune(state, Throttled(granted_at=1.0), 1.4)
    assert state.rate == pytest.approx(14.0)


def test_the_rate_never_falls_so_low_that_nothing_goes() -> None:
    state = TUNED
    for number in range(1000):
        state = tuning.tune(state, Throttled(granted_at=200.0 + 2 * number), 200.0 + 2 * number)
    assert state.rate == tuning.LOWEST_RATE


def test_clean_seconds_raise_the_rate_up_to_the_limit() -> None:
    state = TUNED
    for second in range(1, 121):
        raised = tuning.tune(state, Accepted(10), 100.0 + second, limit=12.0)
        assert (raised.rate or 0) >= (state.rate or 0)
        state = raised
    assert state.rate == 12.0


def test_a_second_that_used_little_of_the_rate_raises_nothing() -> None:
    assert tuning.tune(TUNED, Accepted(4), 101.0).rate == TUNED.rate
    assert tuning.tune(TUNED, Accepted(5), 160.0).rate == TUNED.rate


def test_the_lowest_rate_recovers_within_three_minutes() -> None:
    state = Tuning(rate=0.1, throttled_rate=0.14, lowered_at=0.0, counted_since=0.0)
    now = 0.0
    while (state.rate or 0) < 14:
        now += 1 / (state.rate or 1)
        state = tuning.tune(state, Accepted(), now)
    assert now < 180


@dataclass
class Provider:
    """Takes as many mails in each sliding second as it allows, and counts the rest."""

    allowed: int
    taken: deque[float] = field(default_factory=deque)
    throttles: int = 0

    def takes(self, now: float) -> bool:
        while self.taken and self.taken[0] <= now - 1:
            self.taken.popleft()
        if len(self.taken) < self.allowed:
            self.taken.append(now)
            return True
        self.throttles += 1
        return False


@dataclass
class Sender:
    """Grants blocks of mails at the tuned rate; answers come after a while.

    A throttled mail waits again: a throttle is no attempt, so the queue is all there is to count.
    """

    provider: Provider
    waiting: int
    limit: float | None = None
    block: int = 25
    latency: float = 0.15
    state: Tuning = field(default_factory=Tuning)
    accepted_at: list[float] = field(default_factory=list)
    answers: list[tuple[float, int, tuning.Event]] = field(default_factory=list)
    calls: int = 0
    now: float = 0.0

    def run(self, until: float = float("inf")) -> None:
        while (self.waiting or self.answers) and self.now < until:
            rate = tuning.find_rate(self.state, self.limit) or 1000.0
            granted_at = self.now
            for _ in range(min(self.block, self.waiting)):
                self.now += 1 / rate
                self.read_answers(self.now)
                self.call(self.now, granted_at)
            if not self.waiting:
                self.now += self.latency
                self.read_answers(self.now)

    def call(self, now: float, granted_at: float) -> None:
        self.calls += 1
        self.waiting -= 1
        event = Accepted() if self.provider.takes(now) else Throttled(granted_at)
        if isinstance(event, Accepted):
            self.accepted_at.append(now)
        heapq.heappush(self.answers, (now + self.latency, self.calls, event))

    def read_answers(self, now: float) -> None:
        while self.answers and self.answers[0][0] <= now:
            moment, _, event = heapq.heappop(self.answers)
            self.waiting += isinstance(event, Throttled)
            self.state = tuning.tune(self.state, event, moment, limit=self.limit)

    def mean_rate(self, start: float, end: float) -> float:
        first, last = bisect_left(self.accepted_at, start), bisect_left(self.accepted_at, end)
        return (last - first) / (end - start)


@pytest.mark.parametrize("block", [1, 50])
def test_an_account_that_throttles_at_14_gets_four_fifths_of_it_after_a_minute(block: int) -> None:
    sender = Sender(Provider(allowed=14), waiting=50_000, block=block)
    sender.run()
    end = sender.accepted_at[-1]
    assert len(sender.accepted_at) == 50_000  # each was taken once
    assert sender.mean_rate(60, end) >= 0.8 * 14
    for minute in range(1, int(end // 60)):
        assert sender.mean_rate(60 * minute, 60 * minute + 60) >= 0.8 * 14
    assert sender.provider.throttles < 0.05 * sender.calls


def test_a_provider_that_comes_to_take_more_gets_more() -> None:
    provider = Provider(allowed=14)
    sender = Sender(provider, waiting=50_000)
    sender.run(120)
    provider.allowed = 200
    sender.run(240)
    assert sender.mean_rate(200, 240) >= 0.8 * 200


def test_a_trouble_of_ten_seconds_is_over_half_a_minute_later() -> None:
    state = tuning.tune(Tuning(accepted_before=20), Throttled(granted_at=0.0), 0.0)
    for second in range(1, 11):
        state = tuning.tune(state, Throttled(granted_at=float(second)), second + 0.5)
    assert state.rate == tuning.LOWEST_RATE

    for second in range(12, 42):
        state = tuning.tune(state, Accepted(20), float(second))

    assert state.rate is not None
    assert state.rate > 6
