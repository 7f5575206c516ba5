"""The hand-over of mails in the words of the job contract: MailSender, ReliableMailSender.

A `MailSender` is what every provider is already: it takes messages and yields an outcome for each.
`ReliableMailSender` is the dispatcher's one place that calls it. It is reliable because of what it
leaves out: it repeats no call, as only the ledger may, and it lets no exception stand for a result.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol, assert_never

from postledger.dispatch import answers
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


class SendStatus(StrEnum):
    SENT = "sent"
    RETRYABLE = "retryable"  # certainly not taken; the ledger says whether and when it goes again
    FAILED = "failed"  # never taken, or in doubt: a person or evidence decides


@dataclass(frozen=True, slots=True)
class SendResult:
    """What became of one message, as the provider's outcome says."""

    outcome: Outcome

    @property
    def status(self) -> SendStatus:
        match self.outcome:
            case Accepted():
                return SendStatus.SENT
            case TryLater() | Throttled() | SenderBlocked() | NotSent():
                return SendStatus.RETRYABLE
            case Refused() | InDoubt():
                return SendStatus.FAILED
            case _:
                assert_never(self.outcome)

    @property
    def code(self) -> str | None:
        return None if isinstance(self.outcome, Accepted) else self.outcome.code

    @property
    def provider_message_id(self) -> str | None:
        return self.outcome.id if isinstance(self.outcome, Accepted) else None

    @property
    def retry_after(self) -> timedelta | None:
        match self.outcome:
            case TryLater(retry_after=wish) | Throttled(retry_after=wish):
                return wish
            case _:
                return None


class MailSender(Protocol):
    """The part of a provider that sends; `providers.base.Provider` says what it guarantees."""

    def send(
        self, window: Sequence[OutgoingMessage], deadline: float
    ) -> AsyncGenerator[tuple[int, Outcome]]: ...


@dataclass(slots=True)
class ReliableMailSender:
    """Hands one window over, once. `judge` says how far an outcome for a recipient is believed."""

    sender: MailSender
    judge: Callable[[str, Outcome], Outcome]
    error: Exception | None = None  # of a sender that raised, which is a bug of it

    async def send(
        self, window: Sequence[OutgoingMessage], deadline: float
    ) -> AsyncGenerator[tuple[int, SendResult]]:
        """Yields the index of each message with its result.

        Where the sender raises, nobody knows what it did: the error is kept, and the messages
        without a result are in doubt. Only a cancellation passes through.
        """
        try:
            async with aclosing(self.sender.send(window, deadline)) as outcomes:
                async for index, raw in outcomes:
                    outcome = self.judge(window[index].recipient, answers.clean_outcome(raw))
                    yield index, SendResult(outcome)
        except Exception as error:  # noqa: BLE001  it is the value of `error`
            self.error = error
