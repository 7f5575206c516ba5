"""Threads run what they are given, and outlive whoever asked for it."""

import asyncio
from threading import Event, current_thread

import pytest

from postledger.web.front.refusals import OverloadedError, TooManyError
from postledger.web.front.threads import Threads


def test_a_result_and_an_error_come_back() -> None:
    threads = Threads("test", 1, most_of_one=1)

    assert asyncio.run(threads.run("acme", lambda: current_thread().name)) == "test-0"
    with pytest.raises(ZeroDivisionError):
        asyncio.run(threads.run("acme", lambda: 1 / 0))


def test_a_thread_goes_on_after_a_loop_that_did_not_wait() -> None:
    threads, may_end = Threads("test", 1, most_of_one=1), Event()

    async def leave() -> None:
        task = asyncio.create_task(threads.run("acme", may_end.wait))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(leave())
    may_end.set()

    assert asyncio.run(threads.run("acme", lambda: 7)) == 7


def test_what_one_caller_asks_for_is_done_in_order_and_leaves_a_thread_for_others() -> None:
    threads, may_end = Threads("test", 2, most_of_one=1), Event()
    done = list[object]()

    async def ask() -> None:
        first = asyncio.create_task(threads.run("acme", may_end.wait))
        await asyncio.sleep(0)
        later = [
            asyncio.create_task(threads.run("acme", lambda number=number: done.append(number)))  # type: ignore[misc]  # a default is no argument
            for number in range(5)
        ]
        await asyncio.sleep(0)
        await threads.run("globex", lambda: done.append("globex"))
        may_end.set()
        await asyncio.gather(first, *later)

    asyncio.run(ask())

    assert done == ["globex", 0, 1, 2, 3, 4]
    assert asyncio.run(threads.run("acme", lambda: 7)) == 7


def test_functions_that_would_wait_too_long_are_refused() -> None:
    threads, may_end = Threads("test", 1, most_of_one=1), Event()

    async def ask() -> None:
        waiting = [asyncio.create_task(threads.run("acme", may_end.wait)) for _ in range(201)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyError):
            await threads.run("acme", may_end.wait)
        waiting += [asyncio.create_task(threads.run(n, may_end.wait)) for n in range(200)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError):
            await threads.run("globex", may_end.wait)
        may_end.set()
        await asyncio.gather(*waiting)
        assert await threads.run("globex", lambda: 7) == 7

    asyncio.run(ask())
