"""Sends one window by several workers at once, so that each message gets exactly one outcome."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence

from postledger.providers.base import InDoubt, NotSent, Outcome


class NotHandedOverError(Exception):
    """Wraps the error of a worker that met it before the service could have its message."""


class WindowQueue:
    """Deals out the positions of one window, in order, and collects one outcome for each."""

    def __init__(self, size: int) -> None:
        self.not_sent_reason = "the window ended before it was begun"
        self._waiting = deque(range(size))
        self._taken: dict[int, asyncio.Task[None] | None] = {}  # by which worker
        self._put_back: dict[int, Outcome] = {}
        self._reports: deque[tuple[int, Outcome]] = deque()
        self._has_reports = asyncio.Event()

    def take(self) -> int | None:
        if not self._waiting:
            return None
        index = self._waiting.popleft()
        self._taken[index] = asyncio.current_task()
        return index

    def put_back(self, index: int, outcome: Outcome) -> None:
        """Leaves a message to the other workers; if none of them takes it, this is its outcome."""
        del self._taken[index]
        self._waiting.appendleft(index)
        self._put_back[index] = outcome

    def report(self, index: int, outcome: Outcome) -> None:
        del self._taken[index]
        self._reports.append((index, outcome))
        self._has_reports.set()

    def wake(self, _: object = None) -> None:
        self._has_reports.set()

    async def wait_for_reports(self) -> None:
        await self._has_reports.wait()
        self._has_reports.clear()

    def take_reports(self) -> deque[tuple[int, Outcome]]:
        reports, self._reports = self._reports, deque()
        return reports

    def close(self) -> deque[tuple[int, Outcome]]:
        """The last outcomes, also of messages not taken, or taken and never reported on.

        All workers have ended.
        """
        last = self.take_reports()
        last.extend((index, _judge_end(worker)) for index, worker in self._taken.items())
        not_sent = NotSent(self.not_sent_reason)
        last.extend((index, self._put_back.get(index, not_sent)) for index in self._waiting)
        self._taken.clear()
        self._waiting.clear()
        return last


def _judge_end(worker: asyncio.Task[None] | None) -> Outcome:
    """The outcome of the message that a worker did not report on."""
    error = None if worker is None or worker.cancelled() else worker.exception()
    if isinstance(error, NotHandedOverError):
        return NotSent("an error came before its hand-over")
    return InDoubt("its hand-over ended in an error")


type WindowWorker = Callable[[WindowQueue], Coroutine[None, None, None]]


async def run_workers(
    queue: WindowQueue, worker: WindowWorker, count: int
) -> AsyncGenerator[tuple[int, Outcome]]:
    """Runs the workers and yields every outcome; a cancellation, or a worker's error, comes last.

    A cancelled worker must report on the message it has before it ends.
    No worker outlives the iterator, also when its reader stops early.
    """
    tasks = [asyncio.create_task(worker(queue)) for _ in range(count)]
    for task in tasks:
        task.add_done_callback(queue.wake)
    cancelled: asyncio.CancelledError | None = None
    try:
        while cancelled is None and not all(task.done() for task in tasks):
            try:
                await queue.wait_for_reports()
            except asyncio.CancelledError as error:
                cancelled = error
            for report in queue.take_reports():
                yield report
    finally:
        errors = await _end(tasks)
    for report in queue.close():
        yield report
    if cancelled is not None:
        raise cancelled
    if errors:
        raise _unwrap(errors[0])


def _unwrap(error: BaseException) -> BaseException:
    wrapped = error.__cause__ if isinstance(error, NotHandedOverError) else None
    return wrapped or error


async def _end(tasks: Sequence[asyncio.Task[None]]) -> list[BaseException]:
    """Waits also through further cancellations: a cancelled worker ends without waiting itself."""
    for task in tasks:
        task.cancel()
    while not all(task.done() for task in tasks):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait(tasks)
    ends = [task.exception() for task in tasks if not task.cancelled()]
    return [end for end in ends if end is not None]
