"""A client of the fake SendGrid, and the requests that it makes."""

import json
from collections.abc import Mapping
from typing import Any

import httpx

from tests.fakes import wire
from tests.fakes.processes import FakeProcess
from tests.fakes.wire import PATIENCE
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY

DOMAIN = "acme.example"
SENDER = f"news@{DOMAIN}"
RECIPIENT = "ann@example.com"
REFERENCE = "postledger-id"
# One for all, because each would read the certificates of the machine.
_CLIENT = httpx.Client(
    timeout=PATIENCE, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
)


def mail(*recipients: str, **more: object) -> dict[str, Any]:
    """The document of mail/send, with a custom argument in each personalization."""
    return {
        "personalizations": [
            {"to": [{"email": name}], "custom_args": {REFERENCE: f"reference of {name}"}}
            for name in recipients or (RECIPIENT,)
        ],
        "from": {"email": SENDER, "name": "News"},
        "subject": "Hi",
        "content": [{"type": "text/plain", "value": "Hi!"}],
        **more,
    }


def call(
    fake: FakeSendGrid | FakeProcess,
    method: str,
    path: str,
    document: object = None,
    *,
    key: str = API_KEY,
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return _CLIENT.request(method, f"{fake.endpoint}{path}", json=document, headers=headers)


def send(fake: FakeSendGrid | FakeProcess, *recipients: str, **more: object) -> str:
    """The id of an accepted mail."""
    answer = call(fake, "POST", "/v3/mail/send", mail(*recipients, **more))
    assert answer.status_code == 202, answer.text
    return answer.headers["X-Message-Id"]


def control(
    fake: FakeSendGrid | FakeProcess, method: str, path: str, document: object = None
) -> Any:
    answer = call(fake, method, f"/_fake/{path}", document, key="")
    assert answer.status_code == 200, answer.text
    return answer.json()


class Wire(wire.Wire):
    def send(self, document: Mapping[str, Any]) -> None:
        body = json.dumps(document).encode()
        head = (
            f"POST /v3/mail/send HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {API_KEY}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.socket.sendall(head.encode() + body)


def recipients(fake: FakeSendGrid) -> list[str]:
    """Of all mail that the fake has accepted."""
    return [name for accepted in list(fake.service.kept) for name in accepted.mail.recipients]
