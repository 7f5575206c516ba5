"""Suspects are composed with nothing beside them."""

import asyncio

import pytest

from postledger.dispatch.compose_lock import ComposeLock


async def _turns() -> None:
    """Lets every task that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_suspect_waits_for_every_round_that_composes_and_holds_up_the_next_one() -> None:
    async def journey() -> None:
        lock, order = ComposeLock(), []

        async def beside(name: str, until: asyncio.Event) -> None:
            async with lock.shared():
                order.append(name)
                await until.wait()

        async def alone() -> None:
            async with lock.alone():
                order.append("suspect")
                await _turns()

        ends = asyncio.Event()
        tasks = [asyncio.create_task(beside("first", ends))]
        await _turns()
        tasks.append(asyncio.create_task(alone()))
        await _turns()
        tasks.append(asyncio.create_task(beside("second", ends)))
        await _turns()
        assert order == ["first"]
        ends.set()
        await asyncio.gather(*tasks)
        assert order == ["first", "suspect", "second"]

    asyncio.run(journey())


def test_two_suspects_take_turns() -> None:
    async def journey() -> None:
        lock, now, most = ComposeLock(), 0, 0

        async def alone() -> None:
            nonlocal now, most
            async with lock.alone():
                now += 1
                most = max(most, now)
                await _turns()
                now -= 1

        await asyncio.gather(*(alone() for _ in range(5)))
        assert most == 1

    asyncio.run(journey())


def test_a_suspect_waits_for_mails_in_flight() -> None:
    async def journey() -> None:
        lock, order = ComposeLock(), []

        async def alone() -> None:
            async with lock.alone():
                order.append("suspect")

        with lock.in_flight():
            task = asyncio.create_task(alone())
            await _turns()
            order.append("answered")
        await task
        assert order == ["answered", "suspect"]

    asyncio.run(journey())


def test_a_provider_that_does_not_answer_keeps_no_suspect_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def journey() -> None:
        lock = ComposeLock()
        with lock.in_flight():
            async with lock.alone():
                pass
            async with lock.shared():
                pass

    monkeypatch.setattr(ComposeLock, "WAIT_FOR_ANSWERS", 0.01)
    asyncio.run(journey())
