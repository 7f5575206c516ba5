"""When mails leave: never before their moments, and never in a burst."""

import asyncio
import selectors
from collections.abc import Sequence
from itertools import pairwise
from typing import override

from hypothesis import given
from hypothesis import strategies as st

from postledger.dispatch.pace.moments import ClockOffset, Line, LocalCalendar, group_moments
from postledger.dispatch.pace.permits import Permit
from postledger.dispatch.rounds.compose import ComposedMail
from postledger.dispatch.rounds.paced_call import PacedCall
from postledger.pacing.limits import MICROSECONDS, LocalPace
from postledger.providers.base import OutgoingMessage

KEY = ("sender", 1)
MESSAGE = OutgoingMessage("id", "reference", "news@acme.example", "a@example.com", b"", {})
moments = st.lists(st.floats(0, 1), max_size=60).map(sorted)


@given(moments)
def test_groups_keep_every_mail_and_start_none_before_its_moment(moments: list[float]) -> None:
    at = 0
    for start, count in group_moments(moments):
        group = moments[at : at + count]
        assert start == group[-1]
        assert group[-1] - group[0] <= 0.005
        at += count
    assert at == len(moments)


def test_mails_with_one_moment_are_one_group() -> None:
    assert list(group_moments([3.0] * 200)) == [(3.0, 200)]


def test_a_process_that_was_held_up_lets_its_mails_leave_one_after_the_other() -> None:
    line = Line({}, {KEY: 0.1})
    starts = []
    now = 5.0  # the moments were at 0.0, 0.1, 0.2 and so on
    for number in range(10):
        now = max(now, line.find_start(number / 10))
        line.leave(1, now)
        starts.append(now)

    assert starts[0] == 5.0
    assert starts[-1] >= 5.0 + 9 * 0.1 - 0.02


def test_lines_of_one_process_share_the_distances_of_an_account() -> None:
    free: dict[tuple[str, int], float] = {}
    account = ("account", 7)
    first, second = Line(free, {account: 1.0}), Line(free, {account: 1.0, KEY: 0.1})

    first.leave(1, 10.0)

    assert 10.9 < second.find_start(10.0) <= 11.0


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its clock moves by the sleeps alone, however slow the machine is."""

    def __init__(self) -> None:
        self.now = 100.0
        selector = selectors.DefaultSelector()
        super().__init__(selector)
        wait = selector.select

        def select(timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            self.now += timeout or 0.0
            return wait(0)

        selector.select = select  # type: ignore[method-assign]  # the loop's only way to sleep

    @override
    def time(self) -> float:
        return self.now


def test_rounds_of_one_sender_that_were_held_up_leave_one_after_the_other() -> None:
    left: list[float] = []

    async def send(mails: Sequence[ComposedMail]) -> None:
        left.append(asyncio.get_running_loop().time())

    async def play() -> None:
        now, free = asyncio.get_running_loop().time(), dict[tuple[str, int], float]()
        mail = ComposedMail(0, 1, 0, "", MESSAGE)
        permits = [
            Permit(1, [now - 0.2 + number / 20], line=Line(free, {KEY: 0.05}))
            for number in range(4)
        ]
        await asyncio.gather(*(PacedCall([mail], permit, send).run() for permit in permits))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(play())

    assert len(left) == 4
    assert min(later - earlier for earlier, later in pairwise(sorted(left))) > 0.03


@given(st.lists(st.floats(0, 0.2), min_size=1, max_size=100))
def test_no_moment_comes_early_however_slow_an_answer_was(delays: list[float]) -> None:
    """Redis's clock shows 1000 s when this one shows 5 s."""
    offset = ClockOffset()
    for delay in delays:
        offset.observe(1000 * MICROSECONDS, 5.0 + delay)

    assert offset.to_local(1001 * MICROSECONDS) >= 6.0


def test_a_clock_of_redis_that_was_set_is_learned_anew() -> None:
    offset = ClockOffset()
    offset.observe(1000 * MICROSECONDS, 5.0)
    offset.observe(900 * MICROSECONDS, 5.0)

    assert offset.to_local(901 * MICROSECONDS) == 6.0


def test_without_redis_a_process_takes_its_share_of_the_next_moments_only() -> None:
    calendar = LocalCalendar()
    pace = LocalPace(sender=10.0, account=4.0)

    first = calendar.take(100, pace, sender_id=1, account_id=7, now=0.0)
    second = calendar.take(100, pace, sender_id=1, account_id=7, now=0.3)

    assert first == [0.0, 0.25, 0.5]
    assert second == [0.75]
