"""Lanes may end as they like; each message still has one outcome."""

import asyncio

import pytest

from postledger.providers import windows
from postledger.providers.base import Accepted, InDoubt, NotSent, Outcome, TryLater
from postledger.providers.windows import Lane, Turns


def carried(size: int, lane: Lane, lanes: int = 1) -> tuple[dict[int, Outcome], Exception | None]:
    outcomes: dict[int, Outcome] = {}

    async def play() -> None:
        async for index, outcome in windows.carry(Turns(size), lane, lanes):
            assert index not in outcomes
            outcomes[index] = outcome

    try:
        asyncio.run(play())
    except ZeroDivisionError as error:
        return outcomes, error
    return outcomes, None


async def accepting(turns: Turns) -> None:
    while (index := turns.take()) is not None:
        await asyncio.sleep(0)
        turns.report(index, Accepted(str(index)))


@pytest.mark.parametrize("lanes", [1, 3, 20])
def test_every_turn_is_taken_once(lanes: int) -> None:
    outcomes, error = carried(10, accepting, lanes)

    assert outcomes == {index: Accepted(str(index)) for index in range(10)}
    assert error is None


def test_what_no_lane_took_was_not_sent() -> None:
    async def lazy(turns: Turns) -> None:
        turns.take()
        turns.report(0, Accepted("0"))
        turns.why_not = "tired"

    assert carried(3, lazy)[0] == {0: Accepted("0"), 1: NotSent("tired"), 2: NotSent("tired")}


def test_a_lane_that_breaks_leaves_its_message_in_doubt_and_is_heard_of() -> None:
    async def clumsy(turns: Turns) -> None:
        turns.take()
        await asyncio.sleep(0)
        raise ZeroDivisionError

    outcomes, error = carried(2, clumsy)

    assert {index: type(outcome) for index, outcome in outcomes.items()} == {0: InDoubt, 1: NotSent}
    assert isinstance(error, ZeroDivisionError)


def test_a_message_put_back_is_taken_by_another_lane() -> None:
    shy = iter([True, False])

    async def lane(turns: Turns) -> None:
        if next(shy):
            index = turns.take()
            assert index == 0
            turns.put_back(index, TryLater("connect", ""))
        else:
            await asyncio.sleep(0.01)
            await accepting(turns)

    assert carried(2, lane, lanes=2)[0] == {0: Accepted("0"), 1: Accepted("1")}


def test_a_message_put_back_and_never_taken_has_the_outcome_it_was_put_back_with() -> None:
    async def lane(turns: Turns) -> None:
        turns.put_back(turns.take() or 0, TryLater("connect", ""))

    assert carried(2, lane)[0] == {
        0: TryLater("connect", ""),
        1: NotSent("the window ended before its turn"),
    }


def test_a_second_report_is_a_bug() -> None:
    turns = Turns(1)
    turns.report(turns.take() or 0, Accepted("0"))

    with pytest.raises(KeyError):
        turns.report(0, Accepted("0"))
