"""Workers may end as they like; each message still has one outcome."""

import asyncio

import pytest

from postledger.providers import windows
from postledger.providers.base import Accepted, InDoubt, NotSent, Outcome, TryLater
from postledger.providers.windows import NotHandedOverError, WindowQueue, WindowWorker


def send_window(
    size: int, worker: WindowWorker, workers: int = 1
) -> tuple[dict[int, Outcome], Exception | None]:
    outcomes: dict[int, Outcome] = {}

    async def play() -> None:
        async for index, outcome in windows.run_workers(WindowQueue(size), worker, workers):
            assert index not in outcomes
            outcomes[index] = outcome

    try:
        asyncio.run(play())
    except ZeroDivisionError as error:
        return outcomes, error
    return outcomes, None


async def accepting(queue: WindowQueue) -> None:
    while (index := queue.take()) is not None:
        await asyncio.sleep(0)
        queue.report(index, Accepted(str(index)))


def test_every_message_is_taken_once() -> None:
    for workers in [1, 3, 20]:
        outcomes, error = send_window(10, accepting, workers)

        assert outcomes == {index: Accepted(str(index)) for index in range(10)}, workers
        assert error is None, workers


def test_a_message_that_no_worker_took_was_not_sent() -> None:
    async def lazy(queue: WindowQueue) -> None:
        queue.take()
        queue.report(0, Accepted("0"))
        queue.not_sent_reason = "tired"

    assert send_window(3, lazy)[0] == {0: Accepted("0"), 1: NotSent("tired"), 2: NotSent("tired")}


def test_a_worker_that_breaks_leaves_its_message_in_doubt_unless_it_was_not_handed_over() -> None:
    async def clumsy(queue: WindowQueue) -> None:
        queue.take()
        await asyncio.sleep(0)
        raise ZeroDivisionError

    async def careful(queue: WindowQueue) -> None:
        queue.take()
        await asyncio.sleep(0)
        raise NotHandedOverError from ZeroDivisionError()

    for worker, first in [(clumsy, InDoubt), (careful, NotSent)]:
        outcomes, error = send_window(2, worker)

        types = {index: type(outcome) for index, outcome in outcomes.items()}
        assert types == {0: first, 1: NotSent}, worker
        assert isinstance(error, ZeroDivisionError), worker


def test_a_message_put_back_is_taken_by_another_worker() -> None:
    shy = iter([True, False])

    async def worker(queue: WindowQueue) -> None:
        if next(shy):
            index = queue.take()
            assert index == 0
            queue.put_back(index, TryLater("connect", ""))
        else:
            await asyncio.sleep(0.01)
            await accepting(queue)

    assert send_window(2, worker, workers=2)[0] == {0: Accepted("0"), 1: Accepted("1")}


def test_a_message_put_back_and_never_taken_has_the_outcome_it_was_put_back_with() -> None:
    async def worker(queue: WindowQueue) -> None:
        queue.put_back(queue.take() or 0, TryLater("connect", ""))

    assert send_window(2, worker)[0] == {
        0: TryLater("connect", ""),
        1: NotSent("the window ended before it was begun"),
    }


def test_a_second_report_is_a_bug() -> None:
    async def play() -> None:
        queue = WindowQueue(1)
        queue.report(queue.take() or 0, Accepted("0"))

        with pytest.raises(KeyError):
            queue.report(0, Accepted("0"))

    asyncio.run(play())
