"""A fixed number of threads that run functions for the event loop."""

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread

from postledger.web.front.refusals import OverloadedError, TooManyError

type _Job = tuple[Hashable, Callable[[], object], Future[object], AbstractEventLoop]

# What waits longer than this takes is of no use to its client any more.
_MOST_WAITING_OF_ONE = 200
_MOST_WAITING = 400


class Threads:
    """Each function runs in one thread; more functions than threads wait, in order.

    One caller holds `most_of_one` threads at most, and its other functions stand aside meanwhile.
    The executors of the standard library do more, and that costs a third of what a small request
    costs. The threads end with the process.
    """

    def __init__(self, name: str, count: int, *, most_of_one: int) -> None:
        self._most_of_one = most_of_one
        self._most = count + _MOST_WAITING
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._lock = Lock()  # of what follows
        self._count = 0  # of the functions that have not ended
        self._in_turn: dict[Hashable, int] = {}  # by caller: those that run or are next
        self._aside: dict[Hashable, deque[_Job]] = {}  # by caller
        for number in range(count):
            Thread(target=self._work, name=f"{name}-{number}", daemon=True).start()

    async def run[Result](self, caller: Hashable, function: Callable[[], Result]) -> Result:
        """Runs a function in a thread, and raises here what it raises.

        Raises TooManyError or OverloadedError in place of letting too many functions wait.
        """
        loop = get_running_loop()
        future: Future[object] = loop.create_future()
        with self._lock:
            self._add((caller, function, future, loop))
        return await future  # type: ignore[return-value]  # the result of this function

    def _add(self, job: _Job) -> None:
        caller = job[0]
        in_turn = self._in_turn.get(caller, 0)
        if self._count >= self._most:
            raise OverloadedError
        if in_turn < self._most_of_one:
            self._in_turn[caller] = in_turn + 1
            self._jobs.put(job)
        else:
            aside = self._aside.setdefault(caller, deque())
            if len(aside) >= _MOST_WAITING_OF_ONE:
                raise TooManyError
            aside.append(job)
        self._count += 1

    def _work(self) -> None:
        while True:
            self._run_next()

    def _run_next(self) -> None:
        """Apart from the loop: an idle thread keeps no request in memory."""
        caller, function, future, loop = self._jobs.get()
        _run(function, future, loop)
        with self._lock:
            self._end(caller)

    def _end(self, caller: Hashable) -> None:
        self._count -= 1
        aside = self._aside.get(caller)
        if aside:
            self._jobs.put(aside.popleft())
            return
        self._aside.pop(caller, None)
        self._in_turn[caller] -= 1
        if not self._in_turn[caller]:
            del self._in_turn[caller]


def _run(function: Callable[[], object], future: Future[object], loop: AbstractEventLoop) -> None:
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
