"""Runs the ledger's verbs beside the event loop, on connections that are kept open."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.db import InterfaceError, InternalError, OperationalError, connection

# The database is away, gave this connection up, or is a standby that takes no writes.
LOST = (OperationalError, InterfaceError, InternalError)


class Desk:
    """A few threads with one database connection each.

    A connection outlives the work it was opened for: opening one costs more than a whole round.
    One that broke is closed, and the next call opens a new one.
    """

    def __init__(self, threads: int) -> None:
        self._lanes = [ThreadPoolExecutor(1, thread_name_prefix="desk") for _ in range(threads)]
        self._waiting = [0] * threads

    async def do[**P, T](self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        lane = min(range(len(self._lanes)), key=self._waiting.__getitem__)
        self._waiting[lane] += 1
        try:
            loop = asyncio.get_running_loop()
            call = partial(called, verb, *args, **kwargs)
            return await loop.run_in_executor(self._lanes[lane], call)
        finally:
            self._waiting[lane] -= 1

    def close(self) -> None:
        for lane in self._lanes:
            lane.submit(_close)
            lane.shutdown()


def called[**P, T](verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls on this thread's own connection, which is kept unless it broke."""
    try:
        return verb(*args, **kwargs)
    except LOST:
        _close()
        raise


def _close() -> None:
    """Closes this thread's connection: what `connection` means is decided where it is asked."""
    connection.close()
