"""SNS at the wire: keys that sign envelopes, a server with certificates and the API, a canary."""

import json
import ssl
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, override
from urllib.parse import parse_qs
from uuid import uuid4

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
)
from cryptography.x509.oid import NameOID

PATH = "/SimpleNotificationService-0123456789abcdef.pem"
SIGNED = ("Message", "MessageId", "SubscribeURL", "Subject", "Timestamp", "Token", "TopicArn")
EVENT = '{"eventType":"Send","mail":{"messageId":"m1"}}'

type Fields = dict[str, Any]


_keys: dict[str, rsa.RSAPrivateKey] = {}  # by whose they are


def private_key(name: str = "sns") -> rsa.RSAPrivateKey:
    if name not in _keys:
        _keys[name] = rsa.generate_private_key(65537, 2048)
    return _keys[name]


def certificate(
    common_name: str = "sns.amazonaws.com", *, key: str = "sns", ends_in: timedelta | None = None
) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder(name, name, private_key(key).public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=10))
        .not_valid_after(now + (ends_in or timedelta(days=10)))
    )
    return built.sign(private_key(key), SHA256()).public_bytes(Encoding.PEM)


def notification(arn: str, certificate_url: str, *, version: str = "2", **fields: str) -> Fields:
    """A signed message as SNS posts it."""
    plain: Fields = {
        "Type": "Notification",
        "MessageId": str(uuid4()),
        "TopicArn": arn,
        "Message": EVENT,
        "Timestamp": "2026-05-04T09:15:06.001Z",
        **fields,
    }
    return sign(plain, certificate_url, version=version)


def confirmation(
    arn: str, certificate_url: str, *, kind: str = "SubscriptionConfirmation", **fields: str
) -> Fields:
    return notification(
        arn,
        certificate_url,
        **{
            "Type": kind,
            "Token": "token-1",
            "SubscribeURL": "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription",
            "Timestamp": datetime.now(UTC).isoformat(),
            **fields,
        },
    )


def sign(fields: Fields, certificate_url: str, *, version: str = "2", key: str = "sns") -> Fields:
    names = [name for name in sorted((*SIGNED, "Type")) if name in fields]
    text = "".join(f"{name}\n{fields[name]}\n" for name in names).encode()
    algorithm = SHA1() if version == "1" else SHA256()  # noqa: S303  the vendor offers both
    signature = private_key(key).sign(text, padding.PKCS1v15(), algorithm)
    return {
        **fields,
        "SignatureVersion": version,
        "Signature": b64encode(signature).decode(),
        "SigningCertURL": certificate_url,
    }


def as_body(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields).encode()


class SnsServer:
    """Serves certificates by path, and answers calls of the API."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {
            PATH: (200, {}, certificate()),
        }
        self.requested: list[str] = []  # paths of certificates
        self.calls: list[dict[str, list[str]]] = []  # of the API
        self.api_status = 200
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.is_asked = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler())
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_port}"

    @property
    def certificate_url(self) -> str:
        return self.origin + PATH

    def serve(self, content: bytes, *, status: int = 200, **headers: str) -> str:
        """Serves a page at a new URL of a certificate."""
        path = f"/SimpleNotificationService-{uuid4().hex}.pem"
        self.pages[path] = (status, headers, content)
        return self.origin + path

    def running_with_tls(self, authority: trustme.CA) -> AbstractContextManager["SnsServer"]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.origin = self.origin.replace("http:", "https:")
        return self.running()

    @contextmanager
    def running(self) -> Iterator["SnsServer"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.may_answer.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.requested.append(self.path)
                server.is_asked.set()
                server.may_answer.wait(60)
                status, headers, content = server.pages.get(self.path, (404, {}, b""))
                self._answer(status, headers, content)

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                server.calls.append(parse_qs(self.rfile.read(size).decode()))
                self._answer(server.api_status, {"Content-Type": "text/xml"}, _CONFIRMED)

            def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            @override
            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


_CONFIRMED = b"""<ConfirmSubscriptionResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/">
<ConfirmSubscriptionResult><SubscriptionArn>arn:aws:sns:eu-west-1:123456789012:t:1</SubscriptionArn>
</ConfirmSubscriptionResult></ConfirmSubscriptionResponse>"""


_watching: list[list[object]] = []


def _watch(event: str, args: tuple[object, ...]) -> None:
    if _watching and event in {"socket.connect", "socket.getaddrinfo"}:
        for seen in _watching:
            seen.append(args)


@cache
def _install_watch() -> None:
    sys.addaudithook(_watch)  # for good: Python removes none


@contextmanager
def watching_sockets() -> Iterator[list[object]]:
    """Lists every connection and every name that Python looks up, of all threads.

    PostgreSQL's library does not ask Python, so its connections are not among them.
    """
    _install_watch()
    seen: list[object] = []
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.remove(seen)
