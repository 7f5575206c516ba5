"""Runs database calls beside the event loop, on connections that are kept open."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.db import connection

from postledger.lib.database_outage import OUTAGE_ERRORS


class DbThreads:
    """A few threads with one database connection each.

    A connection outlives the call it was opened for: opening one costs more than a whole round.
    A broken connection is closed, and the next call opens a new one.
    """

    def __init__(self, count: int) -> None:
        self._threads = [ThreadPoolExecutor(1, thread_name_prefix="db") for _ in range(count)]
        self._queued = [0] * count

    async def run[**P, T](self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls on the thread with the shortest queue."""
        index = min(range(len(self._threads)), key=self._queued.__getitem__)
        self._queued[index] += 1
        try:
            loop = asyncio.get_running_loop()
            bound = partial(call_on_thread, call, *args, **kwargs)
            return await loop.run_in_executor(self._threads[index], bound)
        finally:
            self._queued[index] -= 1

    def close(self) -> None:
        """Waits for the calls under way: call it outside the event loop."""
        for thread in self._threads:
            thread.submit(_close_connection)
            thread.shutdown()


def call_on_thread[**P, T](call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls on this thread's own connection and closes it if it broke."""
    try:
        return call(*args, **kwargs)
    except OUTAGE_ERRORS:
        _close_connection()
        raise


def _close_connection() -> None:
    # Looked up at the call: every thread has its own `connection`.
    connection.close()
