"""A developer's side of a journey: requests to the API, and the mailbox they end in."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.journeys import rig


@dataclass
class Mailbox:
    """A real SMTP server that keeps what it is given, and when."""

    port: int
    envelopes: list[tuple[float, Envelope]] = field(default_factory=list)

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.envelopes.append((time.monotonic(), envelope))
        return "250 2.0.0 kept"

    def mails(self) -> list[EmailMessage]:
        return [
            message_from_bytes(cast("bytes", envelope.content), policy=policy.default)
            for _, envelope in self.envelopes
        ]


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    kept = Mailbox(rig.free_port())
    controller = Controller(kept, hostname="127.0.0.1", port=kept.port, ready_timeout=120)
    controller.start()
    try:
        yield kept
    finally:
        controller.stop()


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict[str, object]


@dataclass(frozen=True)
class Client:
    address: str
    token: str

    def send(self, **mail: object) -> Answer:
        return self.ask("/v1/email/send", mail)

    def ask(self, path: str, body: Mapping[str, object] | None = None, **headers: str) -> Answer:
        request = urllib.request.Request(  # noqa: S310  our own server
            f"{self.address}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                **headers,
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310  see above
                return Answer(response.status, json.load(response))
        except urllib.error.HTTPError as error:
            return Answer(error.code, json.load(error))
