"""A server we did not write takes our mail, in the open, encrypted and with a password."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from email import message_from_bytes, policy
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword
from aiosmtpd.smtp import Session as ServerSession

from postledger.providers.base import Accepted, Attachment, Outcome, SenderBlocked
from postledger.providers.smtp.provider import Smtp
from postledger.providers.smtp.settings import SmtpSettings
from tests.providers.conftest import Authority
from tests.providers.messages import a_letter, a_message, send
from tests.providers.stands import opened


class Inbox:
    def __init__(self) -> None:
        self.taken: list[Envelope] = []
        self.mechanisms: list[str] = []

    async def handle_DATA(  # noqa: N802  aiosmtpd's name
        self, server: SMTP, session: ServerSession, envelope: Envelope
    ) -> str:
        self.taken.append(envelope)
        return "250 2.0.0 Ok: queued as REAL"

    def authenticate(
        self,
        server: SMTP,
        session: ServerSession,
        envelope: Envelope,
        mechanism: str,
        login: LoginPassword,
    ) -> AuthResult:
        self.mechanisms.append(mechanism)
        is_right = login == LoginPassword(b"alice", "sécret".encode())
        return AuthResult(success=is_right, handled=is_right)


@asynccontextmanager
async def listening(inbox: Inbox, **options: Any) -> AsyncIterator[int]:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(inbox, authenticator=inbox.authenticate, hostname="real.example", **options),
        "127.0.0.1",
        0,
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


def deliver(
    inbox: Inbox, settings: dict[str, object], *, text: str = "Good morning.", **options: Any
) -> Outcome:
    letter = replace(
        a_letter(),
        subject="Grüße aus Köln",
        text=text,
        attachments=(Attachment("Straße.pdf", "application/pdf", b"%PDF"),),
    )

    async def play() -> Outcome:
        async with listening(inbox, **options) as port:
            made = SmtpSettings.model_validate({"host": "127.0.0.1", "port": port, **settings})
            async with opened(Smtp(made)) as provider:
                [outcome] = await send(provider, [a_message(content=letter)], within=900)
                return outcome

    return asyncio.run(play())


def test_it_arrives_in_the_open() -> None:
    inbox = Inbox()

    outcome = deliver(inbox, {"tls": "none"}, text="one\n.\n..two\r\n.\r\nthree")

    assert outcome == Accepted("REAL")
    [envelope] = inbox.taken
    assert (envelope.mail_from, envelope.rcpt_tos) == ("news@acme.example", ["alice@example.com"])
    message = message_from_bytes(bytes(envelope.original_content or b""), policy=policy.SMTP)
    assert message["Subject"] == "Grüße aus Köln"
    plain = message.get_body(("plain",))
    assert plain is not None
    assert plain.get_payload(decode=True) == b"one\r\n.\r\n..two\r\n.\r\nthree"
    assert [part.get_filename() for part in message.iter_attachments()] == ["Straße.pdf"]


def test_it_arrives_over_starttls_with_a_password(authority: Authority) -> None:
    login = {"username": "alice", "password": "sécret"}
    for mechanism, other in [("PLAIN", "LOGIN"), ("LOGIN", "PLAIN")]:
        inbox = Inbox()

        outcome = deliver(
            inbox,
            {"ca_file": authority.ca_file, **login},
            tls_context=authority.context,
            require_starttls=True,
            auth_required=True,
            auth_exclude_mechanism=[other],
        )

        assert outcome == Accepted("REAL"), mechanism
        assert inbox.mechanisms == [mechanism]
        assert len(inbox.taken) == 1, mechanism


def test_a_wrong_or_missing_password_stops_the_sender(authority: Authority) -> None:
    for login in ({"username": "alice", "password": "wrong"}, {}):
        inbox = Inbox()
        settings: dict[str, object] = {"ca_file": authority.ca_file, **login}

        outcome = deliver(inbox, settings, tls_context=authority.context, auth_required=True)

        assert isinstance(outcome, SenderBlocked), login
        assert not login or outcome.code == "535 5.7.8"
        assert inbox.taken == [], login
