"""What a provider is: a window of messages goes in, and one outcome for each comes out."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Protocol

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An address and the name shown beside it."""

    address: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    filename: str
    content_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one mail; `mime.compose` makes wire bytes of them.

    `date` is given, not read from a clock, so that composing twice gives the same bytes.
    """

    sender: Mailbox
    to: Mailbox
    subject: str
    date: datetime
    html: str = ""
    text: str = ""
    reply_to: tuple[Mailbox, ...] = ()
    headers: Mapping[str, str] = _NOTHING
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """One mail for one recipient: the envelope, and the content in one of two forms.

    A Parts is what providers with a JSON API need, and what mails composed one by one are; bytes
    are finished MIME, as campaigns make it: serialised once, joined for each recipient.
    One form at a time, because making both for ten million recipients would cost twice.
    """

    id: str  # the outside id with its try, as lib.ids writes it
    reference: str  # the same with epoch and MAC, as lib.references writes it: what events prove
    sender: str  # envelope sender: where bounces go
    recipient: str
    content: Parts | bytes
    tags: Mapping[str, str] = _NOTHING  # come back in events, where the provider has them


@dataclass(frozen=True, slots=True)
class Accepted:
    """The provider took it, under this id."""

    id: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider will never take this message; others may go."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class TryLater:
    """Certainly not taken, may be taken later."""

    code: str
    detail: str
    retry_after: timedelta | None = None
    is_outage: bool = False  # nothing reached the service: no other message would


@dataclass(frozen=True, slots=True)
class Throttled:
    """Certainly not taken, because of the sender's rate or quota.

    `is_quota` says that `retry_after` is the moment, known from the service's own figures, at
    which a used-up quota is reset: it is believed as it is. Any other wish is bounded.
    """

    detail: str
    retry_after: timedelta | None = None
    is_quota: bool = False


@dataclass(frozen=True, slots=True)
class SenderBlocked:
    """Certainly not taken, and no other message of this sender would be: a person must act.

    `is_account` says that the account is refused, and with it every sender that uses it.
    """

    code: str
    detail: str
    is_account: bool = False


@dataclass(frozen=True, slots=True)
class InDoubt:
    """Handed over, perhaps taken, and no complete answer came."""

    detail: str


@dataclass(frozen=True, slots=True)
class NotSent:
    """Nothing was handed over: the deadline, a cancellation or another failure came first."""

    detail: str


type Failure = Refused | TryLater | Throttled | SenderBlocked | InDoubt | NotSent
type Outcome = Accepted | Failure


class Provider(Protocol):
    """One account at one service; may carry several windows at the same time."""

    @property
    def window_size(self) -> int:
        """How many messages one window should have."""
        ...

    @property
    def call_time(self) -> float:
        """Seconds one hand-over may take; with a nearer deadline none is started."""
        ...

    async def open(self) -> None: ...

    async def close(self) -> None:
        """Says goodbye to the service; nothing may be sent afterwards."""
        ...

    def send(
        self, window: Sequence[OutgoingMessage], deadline: float
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        """Hands the window over, without retries, and yields (index, outcome) as each is known.

        Guarantees exactly one outcome for each message before the iterator ends.
        `deadline` is a moment of lib.clock.boottime by which the iterator has ended: what was not
        handed over by then is NotSent, what may have been is InDoubt. The clock is read directly
        before each hand-over: after a suspension of the machine or a stop of the process nothing
        more is begun. The answer to an earlier hand-over is still read: it ends a doubt.
        The same holds when the iterating task is cancelled: the remaining outcomes are still
        yielded, and then CancelledError is raised.
        Whoever leaves earlier closes the generator (contextlib.aclosing), which ends the calls.
        """
        ...
