"""The hand-over in the words of the job contract: a value for each message, and no exception."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta

from postledger.dispatch.mail_sender import ReliableMailSender, SendResult, SendStatus
from postledger.providers.base import (
    Accepted,
    InDoubt,
    NotSent,
    Outcome,
    OutgoingMessage,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from tests.providers.messages import a_window

SOON = timedelta(seconds=5)


class Scripted:
    """Yields these outcomes, counts its calls, and raises at the end if it is told to."""

    def __init__(self, *outcomes: Outcome, error: Exception | None = None) -> None:
        self.calls = 0
        self._outcomes = outcomes
        self._error = error

    async def send(
        self, window: Sequence[OutgoingMessage], deadline: float
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        self.calls += 1
        for index, outcome in enumerate(self._outcomes):
            yield index, outcome
        if self._error is not None:
            raise self._error


def hand_over(scripted: Scripted, count: int) -> tuple[list[SendResult], Exception | None]:
    sender = ReliableMailSender(scripted, lambda _, outcome: outcome)
    window = a_window(*(f"r{at}@example.com" for at in range(count)))

    async def run() -> list[SendResult]:
        return [result async for _, result in sender.send(window, 0.0)]

    return asyncio.run(run()), sender.error


def test_every_outcome_is_sent_retryable_or_failed() -> None:
    rows: list[tuple[Outcome, SendStatus, str | None, str | None, timedelta | None]] = [
        (Accepted("m1"), SendStatus.SENT, None, "m1", None),
        (TryLater("451", "x", SOON), SendStatus.RETRYABLE, "451", None, SOON),
        (Throttled("x", SOON), SendStatus.RETRYABLE, "throttled", None, SOON),
        (SenderBlocked("535", "x"), SendStatus.RETRYABLE, "535", None, None),
        (NotSent("x"), SendStatus.RETRYABLE, "not_sent", None, None),
        (Refused("550", "x"), SendStatus.FAILED, "550", None, None),
        (InDoubt("x"), SendStatus.FAILED, "no_answer", None, None),
    ]
    for outcome, status, code, message_id, retry_after in rows:
        result = SendResult(outcome)

        assert (result.status, result.code) == (status, code), outcome
        assert (result.provider_message_id, result.retry_after) == (message_id, retry_after)


def test_a_refused_call_is_not_repeated() -> None:
    scripted = Scripted(TryLater("451", "x"))

    results, error = hand_over(scripted, 1)

    assert [result.status for result in results] == [SendStatus.RETRYABLE]
    assert error is None
    assert scripted.calls == 1


def test_a_sender_that_raises_keeps_its_results_and_its_error_is_a_value() -> None:
    broken = ZeroDivisionError()

    results, error = hand_over(Scripted(Accepted("m1"), error=broken), 2)

    assert [result.status for result in results] == [SendStatus.SENT]
    assert error is broken
