"""Clients of the fake SES: boto3, and signed bytes on a socket; and the fake as a process."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]  # it has no stubs
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from tests.fakes import processes, wire
from tests.fakes.processes import FakeProcess
from tests.fakes.wire import PATIENCE
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

DOMAIN = "acme.example"
SENDER = f"news@{DOMAIN}"
RECIPIENT = "ann@example.com"
RAW = (
    b"From: News <news@acme.example>\r\nMessage-ID: <1@acme.example>\r\nSubject: Hi\r\n\r\nHi!\r\n"
)
CREDENTIALS = Credentials(ACCESS_KEY_ID, SECRET_ACCESS_KEY)
_SESSION = boto3.Session()


def connect(
    endpoint: str, credentials: Credentials = CREDENTIALS, region: str = "us-east-1"
) -> Any:
    """The real client; it tries once, and waits no longer than a test may."""
    config = Config(
        retries={"total_max_attempts": 1},
        connect_timeout=PATIENCE,
        read_timeout=PATIENCE,
        proxies={},
    )
    return _SESSION.client(
        "sesv2",
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        aws_session_token=credentials.token,
        config=config,
    )


def mail(*recipients: str, raw: bytes | str = RAW, **more: object) -> dict[str, Any]:
    """The parameters of SendEmail for boto3; in base64, its JSON."""
    return {
        "FromEmailAddress": SENDER,
        "Destination": {"ToAddresses": list(recipients or (RECIPIENT,))},
        "Content": {"Raw": {"Data": raw}},
        **more,
    }


def simple(**more: object) -> dict[str, Any]:
    """Simple content for boto3."""
    return {"Simple": {"Subject": {"Data": "Hi"}, "Body": {"Text": {"Data": "Hi!"}}, **more}}


def document(*recipients: str, raw: bytes = RAW) -> bytes:
    """The JSON of SendEmail."""
    return json.dumps(mail(*recipients, raw=b64encode(raw).decode())).encode()


def sign(
    port: int,
    body: bytes,
    *,
    credentials: Credentials = CREDENTIALS,
    region: str = "us-east-1",
    service: str = "ses",
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """A SendEmail request, signed by botocore."""
    url = f"http://127.0.0.1:{port}/v2/email/outbound-emails"
    request = AWSRequest("POST", url, data=body, headers={"Content-Type": "application/json"})
    SigV4Auth(credentials, service, region).add_auth(request)
    named = {
        "Host": f"127.0.0.1:{port}",
        "Content-Length": str(len(body)),
        **dict(request.headers.items()),
        **(headers or {}),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"POST /v2/email/outbound-emails HTTP/1.1\r\n{lines}\r\n".encode() + body


class Wire(wire.Wire):
    def send(self, *recipients: str, raw: bytes = RAW) -> None:
        self.socket.sendall(sign(self.port, document(*recipients, raw=raw)))


def recipients(fake: FakeSes) -> list[str]:
    """Of all mail that the fake has accepted."""
    return [name for accepted in list(fake.service.kept) for name in accepted.mail.recipients]


@contextmanager
def running(journal: Path, most_kilobytes: int | None = None) -> Iterator[FakeProcess]:
    """The fake in a process of its own, at a free port; its files can be limited in size."""
    named = ["--identity", DOMAIN, "--journal", str(journal)]
    command = ["tools.fakes.ses", "--port", "0", *named]
    with processes.running(command, most_kilobytes) as process:
        yield process
