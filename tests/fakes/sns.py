"""Subscribers of the fake's topics: an endpoint of HTTP, and the real clients of SNS and SQS."""

import json
import threading
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, override

import httpx
from botocore.config import Config
from botocore.credentials import Credentials
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1, SHA256

from tests.fakes import ses
from tests.fakes.wire import PATIENCE
from tools.drill.waiting import until

SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": (
        *("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
    ),
}
SIGNED["UnsubscribeConfirmation"] = SIGNED["SubscriptionConfirmation"]


@dataclass(frozen=True, slots=True)
class Post:
    headers: Mapping[str, str]  # names in lowercase
    body: bytes

    @property
    def envelope(self) -> dict[str, str]:
        return json.loads(self.body)  # type: ignore[no-any-return]

    @property
    def event(self) -> dict[str, Any]:
        return json.loads(self.envelope["Message"])  # type: ignore[no-any-return]


@dataclass
class Sink:
    """Takes what is posted to it, and answers with the status that is set."""

    url: str = ""
    status: int = 200
    posts: list[Post] = field(default_factory=list)

    def wait(self, count: int) -> list[Post]:
        """The posts, when there are so many."""
        until(lambda: len(self.posts) >= count, seconds=PATIENCE, every=0.01)
        return list(self.posts)

    def events(self) -> list[dict[str, Any]]:
        return [post.event for post in list(self.posts)]


@contextmanager
def sink() -> Iterator[Sink]:
    taken = Sink()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            names = {name.lower(): value for name, value in self.headers.items()}
            taken.posts.append(Post(names, body))
            self.send_response(taken.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        @override
        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        taken.url = f"http://127.0.0.1:{server.server_port}/ses-events"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield taken
        server.shutdown()
        thread.join()


def connect(endpoint: str, service: str = "sns", credentials: Credentials = ses.CREDENTIALS) -> Any:
    """The real client of SNS or SQS."""
    return ses._SESSION.client(
        service,
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        config=Config(retries={"total_max_attempts": 1}, proxies={}, read_timeout=PATIENCE),
    )


def verify(envelope: Mapping[str, str]) -> None:
    """As AWS describes it; raises if the signature is not that of the served certificate."""
    names = [name for name in SIGNED[envelope["Type"]] if name in envelope]
    text = "".join(f"{name}\n{envelope[name]}\n" for name in names)
    pem = httpx.get(envelope["SigningCertURL"], trust_env=False).content
    certificate = x509.load_pem_x509_certificate(pem)
    assert certificate.subject.rfc4514_string() == "CN=sns.amazonaws.com"
    key = certificate.public_key()
    assert isinstance(key, rsa.RSAPublicKey)
    algorithm = {"1": SHA1(), "2": SHA256()}[envelope["SignatureVersion"]]  # noqa: S303  of AWS
    signature = b64decode(envelope["Signature"])
    key.verify(signature, text.encode(), padding.PKCS1v15(), algorithm)


def receive(sqs: Any, queue_url: str, count: int) -> list[str]:
    """The bodies of so many messages of a queue, which are deleted."""
    bodies: list[str] = []

    def poll() -> bool:
        answer = sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10)
        for message in answer.get("Messages", ()):
            bodies.append(message["Body"])
            sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
        return len(bodies) >= count

    until(poll, seconds=PATIENCE, every=0.01)
    return bodies
