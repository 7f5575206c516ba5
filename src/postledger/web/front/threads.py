"""A fixed number of threads that run functions for the event loop."""

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread

type _Job = tuple[Callable[[], object], Future[object], AbstractEventLoop]


class Threads:
    """Each function runs in one thread; more functions than threads wait, in order.

    The executors of the standard library do more, and that costs a third of what a small request
    costs. The threads end with the process.
    """

    def __init__(self, name: str, count: int) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        for number in range(count):
            Thread(target=self._work, name=f"{name}-{number}", daemon=True).start()

    async def run[Result](self, function: Callable[[], Result]) -> Result:
        """Runs a function in a thread, and raises here what it raises."""
        loop = get_running_loop()
        future: Future[object] = loop.create_future()
        self._jobs.put((function, future, loop))
        return await future  # type: ignore[return-value]  # the result of this function

    def _work(self) -> None:
        while True:
            _run(*self._jobs.get())


def _run(function: Callable[[], object], future: Future[object], loop: AbstractEventLoop) -> None:
    """Apart from the loop: an idle thread keeps no request in memory."""
    report: Callable[[], None]
    try:
        report = partial(_finish, future, function())
    except BaseException as error:  # noqa: BLE001  belongs to the coroutine that waits
        report = partial(_fail, future, error)
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(report)


def _finish(future: Future[object], result: object) -> None:
    if not future.done():  # else the request was cancelled
        future.set_result(result)


def _fail(future: Future[object], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
