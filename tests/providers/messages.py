"""Messages for tests, and the ways to hand them over."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime

from postledger.lib import references
from postledger.lib.clock import boottime
from postledger.lib.ids import DeliveryId
from postledger.providers.base import (
    Attachment,
    Form,
    Mailbox,
    Outcome,
    OutgoingMessage,
    Parts,
    Provider,
)

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
SENDER = "news@acme.example"
[KEY] = references.derive_keys(["a secret of the tests, long enough"])
# More than the kernel takes: a connection can break before its end has left.
LARGE_SIZE = 8_000_000
WIRE = b"From: news@acme.example\r\nSubject: Hello\r\n\r\nGood morning.\r\n"
LARGE = WIRE + b"Good morning.\r\n" * (LARGE_SIZE // 15)


def an_id(position: int, try_number: int = 1) -> str:
    return str(DeliveryId(1_382_979_469_313, position, try_number).uuid())


def a_reference(position: int, try_number: int = 1) -> str:
    return references.write(an_id(position, try_number), 3, KEY)


def a_message(
    recipient: str = "alice@example.com",
    position: int = 0,
    content: Parts | bytes = WIRE,
    sender: str = SENDER,
) -> OutgoingMessage:
    return OutgoingMessage(an_id(position), a_reference(position), sender, recipient, content)


def a_window(*recipients: str, form: Form = Form.MIME) -> list[OutgoingMessage]:
    """Mails to broken@ are large."""
    return [
        a_message(recipient, position, a_content(recipient, form))
        for position, recipient in enumerate(recipients)
    ]


def a_content(recipient: str, form: Form) -> Parts | bytes:
    is_large = recipient.startswith("broken")
    if form is Form.MIME:
        return LARGE if is_large else WIRE
    attached = (Attachment("large.bin", "application/octet-stream", LARGE),) if is_large else ()
    return replace(a_letter(recipient), attachments=attached)


def a_letter(to: str = "alice@example.com") -> Parts:
    return Parts(
        sender=Mailbox(SENDER, "Acme News"),
        to=Mailbox(to),
        subject="Hello",
        date=NOON,
        html="<p>Good morning.</p>",
        text="Good morning.",
    )


async def send(
    provider: Provider, window: Sequence[OutgoingMessage], within: float = 60.0
) -> list[Outcome]:
    """Every outcome in the window's order; fails when a message has none or two."""
    outcomes = [pair async for pair in provider.send(window, boottime() + within)]
    assert sorted(index for index, _ in outcomes) == list(range(len(window)))
    return [outcome for _, outcome in sorted(outcomes, key=lambda pair: pair[0])]


def closing(
    provider: Provider, window: Sequence[OutgoingMessage], within: float = 60.0
) -> aclosing[AsyncGenerator[tuple[int, Outcome]]]:
    return aclosing(provider.send(window, boottime() + within))
