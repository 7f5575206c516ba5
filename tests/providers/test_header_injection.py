"""No field of a mail can add a header, a recipient or a second message."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from postledger.lib.errors import RefusedError
from postledger.providers import mime
from postledger.providers.base import (
    Accepted,
    Attachment,
    Mailbox,
    Outcome,
    OutgoingMessage,
    Parts,
    Refused,
)
from postledger.providers.smtp.provider import Smtp
from tests.providers import strict
from tests.providers.fake_smtp import FakeSmtp, serving
from tests.providers.messages import a_letter, a_message, an_id, send
from tests.providers.stands import opened, smtp_settings

# Ways to end a line, or to make a reader believe that one ended.
BREAKS = {
    "CR": "\r",
    "LF": "\n",
    "CRLF": "\r\n",
    "NEL": "\u0085",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "VT": "\x0b",
    "FF": "\x0c",
    "NUL": "\0",
    "percent": "%0d%0a",
    "encoded LF": "=?utf-8?q?=0A?=",
    "encoded CRLF": "=?utf-8?b?DQo=?=",
    "folded": "\r\n ",
    "blank line": "\r\n\r\n",
    "group separator": "\x1d",
}
# What an attacker wants to stand on the line after it.
LOADS = {
    "header": "Bcc: mallory@evil.example",
    "body": "Content-Type: text/html\r\n\r\n<script>alert(1)</script>",
    "message": ".\r\nMAIL FROM:<a@evil.example>\r\nRCPT TO:<b@evil.example>\r\nDATA",
}


def attached(name: str = "a.pdf", kind: str = "application/pdf") -> Parts:
    return replace(a_letter(), attachments=(Attachment(name, kind, b"x"),))


# Every field through which a caller's text reaches a header or a command.
FIELDS: dict[str, Callable[[str], OutgoingMessage]] = {
    "subject": lambda evil: composed(replace(a_letter(), subject=evil)),
    "sender's name": lambda evil: composed(
        replace(a_letter(), sender=Mailbox("news@acme.example", evil))
    ),
    "sender": lambda evil: composed(replace(a_letter(), sender=Mailbox(evil))),
    "recipient's name": lambda evil: composed(
        replace(a_letter(), to=Mailbox("alice@example.com", evil))
    ),
    "recipient": lambda evil: composed(replace(a_letter(), to=Mailbox(evil))),
    "reply address": lambda evil: composed(replace(a_letter(), reply_to=(Mailbox(evil),))),
    "reply name": lambda evil: composed(
        replace(a_letter(), reply_to=(Mailbox("a@acme.example", evil),))
    ),
    "header name": lambda evil: composed(replace(a_letter(), headers={evil: "1"})),
    "header value": lambda evil: composed(replace(a_letter(), headers={"X-Any": evil})),
    "list id": lambda evil: composed(replace(a_letter(), headers={"List-Id": evil})),
    "unsubscribe link": lambda evil: composed(
        replace(a_letter(), headers={"List-Unsubscribe": f"<https://acme.example/{evil}>"})
    ),
    "file name": lambda evil: composed(attached(name=evil)),
    "content type": lambda evil: composed(attached(kind=evil)),
    "text": lambda evil: composed(replace(a_letter(), text=evil)),
    "html": lambda evil: composed(replace(a_letter(), html=evil)),
    "envelope sender": lambda evil: a_message(content=a_letter(), sender=evil),
    "envelope recipient": lambda evil: a_message(evil, content=a_letter()),
}


def composed(letter: Parts) -> OutgoingMessage:
    return a_message(content=letter)


# Every line end with one load, and every load behind one of them.
VALUES = [f"innocent{ending}{LOADS['header']}" for ending in BREAKS.values()] + [
    f"innocent\r\n{load}" for load in LOADS.values()
]
OPTIONAL = {"reply-to", "x-any", "list-id", "list-unsubscribe"}
ALWAYS = {
    "from",
    "to",
    "subject",
    "date",
    "message-id",
    "x-postledger-id",
    "mime-version",
    "content-type",
}


@pytest.mark.parametrize("field", [field for field in FIELDS if not field.startswith("envelope")])
def test_no_field_adds_a_header(field: str) -> None:
    for evil in VALUES:
        message = FIELDS[field](evil)
        assert isinstance(message.content, Parts)
        try:
            wire = mime.compose(message.content, reference=an_id(7))
        except RefusedError:
            continue

        names = strict.names(wire)
        assert len(names) == len(set(names)), evil
        assert ALWAYS <= set(names) <= ALWAYS | OPTIONAL, evil
        read = strict.parsed(wire)
        assert len(read["From"].addresses) == len(read["To"].addresses) == 1, evil
        assert "mallory" not in str(read["To"]) or field == "recipient's name", evil
        for value in read.values():
            assert len(str(value).splitlines()) <= 1, evil
        assert len(list(read.walk())) == 3 + 2 * bool(message.content.attachments), evil


def test_no_field_adds_a_message_or_a_recipient_on_the_wire() -> None:
    """All cases over one connection: whatever is accepted is exactly one message to alice."""
    server = FakeSmtp()
    window = [make(evil) for make in FIELDS.values() for evil in VALUES]

    async def play() -> list[Outcome]:
        async with serving(server):
            settings = smtp_settings(server, messages_per_connection=10_000)
            async with opened(Smtp(settings)) as provider:
                return await send(provider, window)

    outcomes = asyncio.run(play())

    accepted = [outcome for outcome in outcomes if isinstance(outcome, Accepted)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    assert len(accepted) + len(refused) == len(window)
    assert len(server.journal) == len(accepted) > len(window) // 10
    assert len(refused) > len(window) // 3
    for taken in server.journal:
        assert taken.sender.startswith("MAIL FROM:<news@acme.example> SIZE=")
        assert taken.recipients == ("alice@example.com",)
        assert set(strict.names(taken.data + b"\r\n")) <= ALWAYS | OPTIONAL
    verbs = {line.partition(" ")[0] for line in server.said}
    assert verbs == {"EHLO", "MAIL", "RCPT", "DATA", "QUIT"}


def test_what_only_looks_like_a_line_end_arrives_as_it_was() -> None:
    for name in ("percent", "encoded LF", "encoded CRLF"):
        subject = f"innocent{BREAKS[name]}Bcc: mallory@evil.example"

        wire = mime.compose(replace(a_letter(), subject=subject), reference=an_id(7))

        assert strict.parsed(wire)["Subject"] == subject, name
