"""A caller waits no longer than the coroutine, also when the resolver answers nothing."""

import asyncio
import socket
import threading
from time import monotonic

import pytest

from postledger.lib import event_loops
from postledger.providers.smtp import provider


def test_a_name_that_no_resolver_answers_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released = threading.Event()

    def answer_nothing(*_args: object, **_options: object) -> list[object]:
        released.wait(30)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", answer_nothing)
    monkeypatch.setattr(provider, "CHECK_SECONDS", 0.2)
    began = monotonic()
    settings = {"host": "smtp.slow.example", "tls": "none"}

    [finding] = event_loops.run_bounded(provider.check(settings, []))

    took = monotonic() - began
    released.set()
    assert took < 5
    assert "no answer within" in finding.message


def test_the_result_is_that_of_the_coroutine() -> None:
    async def answer() -> str:
        await asyncio.to_thread(int)
        return "done"

    assert event_loops.run_bounded(answer()) == "done"
