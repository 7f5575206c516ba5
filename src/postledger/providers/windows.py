"""Carries one window over several lanes and sees to it that each message gets one outcome."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from postledger.providers.base import InDoubt, NotSent, Outcome


class Turns:
    """Deals out the positions of one window, in order, and collects one outcome for each."""

    def __init__(self, size: int) -> None:
        self.why_not = "the window ended before its turn"
        self._waiting = deque(range(size))
        self._open: set[int] = set()
        self._put_back: dict[int, Outcome] = {}
        self._reports: deque[tuple[int, Outcome]] = deque()
        self._news = asyncio.Event()

    def take(self) -> int | None:
        if not self._waiting:
            return None
        index = self._waiting.popleft()
        self._open.add(index)
        return index

    def put_back(self, index: int, outcome: Outcome) -> None:
        """Leaves a message to the other lanes; if none of them takes it, this is its outcome."""
        self._open.remove(index)
        self._waiting.appendleft(index)
        self._put_back[index] = outcome

    def report(self, index: int, outcome: Outcome) -> None:
        self._open.remove(index)
        self._reports.append((index, outcome))
        self._news.set()

    def wake(self, _: object = None) -> None:
        self._news.set()

    async def news(self) -> None:
        await self._news.wait()
        self._news.clear()

    def reported(self) -> deque[tuple[int, Outcome]]:
        reports, self._reports = self._reports, deque()
        return reports

    def leftovers(self) -> deque[tuple[int, Outcome]]:
        """Closes the books: what nobody took, and what a lane took and never reported on."""
        left = self.reported()
        left.extend((index, InDoubt("its hand-over ended in an error")) for index in self._open)
        not_sent = NotSent(self.why_not)
        left.extend((index, self._put_back.get(index, not_sent)) for index in self._waiting)
        self._open.clear()
        self._waiting.clear()
        return left


type Lane = Callable[[Turns], Awaitable[None]]


async def carry(turns: Turns, lane: Lane, lanes: int) -> AsyncGenerator[tuple[int, Outcome]]:
    """Runs the lanes and yields every outcome; a cancellation, or a lane's error, comes last.

    A cancelled lane must report what it holds before it ends.
    No lane outlives the iterator, also when its reader walks away.
    """
    tasks = [asyncio.ensure_future(_run(lane, turns)) for _ in range(lanes)]
    for task in tasks:
        task.add_done_callback(turns.wake)
    cancelled: asyncio.CancelledError | None = None
    try:
        while cancelled is None and not all(task.done() for task in tasks):
            try:
                await turns.news()
            except asyncio.CancelledError as error:
                cancelled = error
            for report in turns.reported():
                yield report
    finally:
        errors = await _end(tasks)
    for report in turns.leftovers():
        yield report
    if cancelled is not None:
        raise cancelled
    if errors:
        raise errors[0]


async def _run(lane: Lane, turns: Turns) -> None:
    await lane(turns)


async def _end(tasks: Sequence[asyncio.Future[None]]) -> list[BaseException]:
    """Waits also through further cancellations: a cancelled lane ends without waiting itself."""
    for task in tasks:
        task.cancel()
    while not all(task.done() for task in tasks):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait(tasks)
    ends = [task.exception() for task in tasks if not task.cancelled()]
    return [end for end in ends if end is not None]
