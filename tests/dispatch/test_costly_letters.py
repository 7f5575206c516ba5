"""A letter that costs much to fill in holds up its own stream, and no other."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from postledger.dispatch.rounds import pipeline


@pytest.mark.parametrize("count", [0, 1, 3])
def test_quick_steps_are_all_taken_at_once(count: int) -> None:
    taken: list[int] = []

    assert pipeline._finish(_steps(taken, count, seconds=0), within=60)
    assert taken == list(range(count))


def test_slow_steps_are_left_for_a_thread_and_none_is_taken_twice() -> None:
    taken: list[int] = []
    steps = _steps(taken, 5, seconds=0.02)

    assert not pipeline._finish(steps, within=0.01)
    assert taken == [0]
    assert asyncio.run(asyncio.to_thread(pipeline._finish, steps))
    assert taken == [0, 1, 2, 3, 4]


def _steps(taken: list[int], count: int, *, seconds: float) -> Iterator[None]:
    for number in range(count):
        time.sleep(seconds)
        taken.append(number)
        yield
