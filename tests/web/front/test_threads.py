"""Threads run what they are given, and outlive whoever asked for it."""

import asyncio
from threading import Event, current_thread

import pytest

from postledger.web.front.threads import Threads


def test_a_result_and_an_error_come_back() -> None:
    threads = Threads("test", 1)

    assert asyncio.run(threads.run(lambda: current_thread().name)) == "test-0"
    with pytest.raises(ZeroDivisionError):
        asyncio.run(threads.run(lambda: 1 / 0))


def test_a_thread_goes_on_after_a_loop_that_did_not_wait() -> None:
    threads, may_end = Threads("test", 1), Event()

    async def leave() -> None:
        task = asyncio.create_task(threads.run(may_end.wait))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(leave())
    may_end.set()

    assert asyncio.run(threads.run(lambda: 7)) == 7
