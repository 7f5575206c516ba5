"""Calls functions in child processes whose processor time and memory are limited.

A function that never returns, or asks for all memory, ends a child and not this process, and a
call in C that holds the interpreter holds another one. Children are fresh interpreters: they have
no connection, no thread and no setting of this process.
"""

import atexit
import os
import pickle
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import structlog

from postledger.lib.limited_child import LENGTH, Answer, Call, pack

_log = structlog.get_logger(__name__)

_PROGRAM = "postledger.lib.limited_child"
_START_WITHIN = 120.0  # seconds by the clock: loading takes long on a busy machine


class NoAnswerError(Exception):
    """The child was ended by a limit, or broke down; a call of its own may have done that."""


class AllBusyError(Exception):
    """No child became free in time."""


@dataclass(slots=True)
class ChildPool:
    """Some children, started by `start` or with the first call. Threads may share it.

    `modules` are those that the functions are from. A child that gives no answer is replaced.
    """

    size: int
    modules: Sequence[str]
    cpu_seconds: int  # of one call
    memory: int  # bytes of address space
    patience: float  # seconds by the clock, for a child that is stopped or starved
    wait: float  # seconds by the clock, for a child that is free
    most_waiting: int  # threads of one owner that wait at once
    _idle: "queue.LifoQueue[_Child]" = field(default_factory=queue.LifoQueue)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    # Only of owners that call at this moment.
    _shares: "WeakValueDictionary[object, _Share]" = field(default_factory=WeakValueDictionary)
    _pid: int = 0  # of the process that started the children: a fork must not share them

    def start(self) -> None:
        with self._lock:
            if self._pid == os.getpid():
                return
            self._pid, self._idle = os.getpid(), queue.LifoQueue()
            for _ in range(self.size):
                self._add_child()
            atexit.register(self.stop)

    def stop(self) -> None:
        """Ends the idle children; the others end with this process."""
        with suppress(queue.Empty):
            while True:
                self._idle.get_nowait().end()

    @contextmanager
    def share(self, owner: object) -> Iterator[None]:
        """Leaves one child free for the others while this owner calls; raises AllBusyError.

        At once where too many threads of this owner wait already: the others need these threads.
        """
        others_keep_one = max(1, self.size - 1)
        with self._lock:
            new = _Share(others_keep_one, threads=others_keep_one + self.most_waiting)
            share = self._shares.setdefault(owner, new)
        with _hold(share.threads, 0.0), _hold(share.children, self.wait):
            yield

    def call[**P, T](self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns, or the RefusedError that it raises.

        Raises AllBusyError or NoAnswerError, and RuntimeError for any other exception.
        """
        self.start()
        try:
            child = self._idle.get(timeout=self.wait)
        except queue.Empty:
            raise AllBusyError from None
        try:
            result, refused, failure = child.call((function, args, kwargs), self.patience)
        except BaseException:
            child.end()
            self._add_child()
            raise
        self._idle.put(child)
        if refused is not None:
            raise refused
        if failure:
            raise RuntimeError(f"{function.__name__} failed in a child process: {failure}")
        return result  # type: ignore[return-value]  # the child called the same function

    def _add_child(self) -> None:
        limits = (str(self.cpu_seconds), str(self.memory))
        self._idle.put(_Child([sys.executable, "-I", "-m", _PROGRAM, *limits, *self.modules]))


class _Share:
    """What one owner may have at once."""

    def __init__(self, children: int, *, threads: int) -> None:
        self.children = threading.Semaphore(children)
        self.threads = threading.Semaphore(threads)  # those that have a child or wait for one


@contextmanager
def _hold(semaphore: threading.Semaphore, wait: float) -> Iterator[None]:
    if not semaphore.acquire(timeout=wait):
        raise AllBusyError
    try:
        yield
    finally:
        semaphore.release()


class _Child:
    """One process, and the pipes to it and from it."""

    def __init__(self, command: Sequence[str]) -> None:
        child_reads, self._calls = os.pipe2(os.O_CLOEXEC)
        self._answers, child_writes = os.pipe2(os.O_CLOEXEC)
        try:
            self._process = subprocess.Popen(  # noqa: S603  our own program
                command,
                env={},
                stdin=child_reads,
                stdout=child_writes,
                # A parser that panics prints the text that it was reading.
                stderr=subprocess.DEVNULL,
            )
        finally:
            os.close(child_reads)
            os.close(child_writes)
        os.set_blocking(self._calls, False)
        self._is_ready = False

    def call(self, call: Call, patience: float) -> Answer:
        try:
            if not self._is_ready:
                self._read(time.monotonic() + _START_WITHIN)
                self._is_ready = True
            deadline = time.monotonic() + patience
            self._write(pack(call), deadline)
            return self._read(deadline)
        except (OSError, EOFError) as error:
            _log.warning("a child gave no answer", error=type(error).__name__)
            raise NoAnswerError from None

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._calls)
        os.close(self._answers)

    def _write(self, data: bytes, deadline: float) -> None:
        left = memoryview(data)
        while left:
            _await(self._calls, select.POLLOUT, deadline)
            left = left[os.write(self._calls, left) :]

    def _read(self, deadline: float) -> Answer:
        [size] = LENGTH.unpack(self._read_bytes(LENGTH.size, deadline))
        answer: Answer = pickle.loads(self._read_bytes(size, deadline))  # noqa: S301  our own child
        return answer

    def _read_bytes(self, count: int, deadline: float) -> bytes:
        parts, missing = list[bytes](), count
        while missing:
            _await(self._answers, select.POLLIN, deadline)
            part = os.read(self._answers, missing)
            if not part:
                raise EOFError
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)


def _await(descriptor: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1_000):
        raise TimeoutError
