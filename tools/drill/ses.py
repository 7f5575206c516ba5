"""Amazon SES in a drill."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, override

from postledger.feedback import topics
from postledger.providers.ses.requests import REFERENCE_TAG
from tools.drill import http_proxy
from tools.drill.http_fake import Fault, HttpFake
from tools.drill.http_proxy import LATER, REFUSED, TAKEN, Dialect
from tools.drill.sqs import QUEUE_ARN, Sqs
from tools.fakes.events.event_books import EventBooks
from tools.fakes.ses.events import reported_mail
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

NAME = "ses"  # of the workspace
CONFIGURATION_SET = "main"
TOPIC = "reports"
TOPIC_ARN = f"arn:aws:sns:us-east-1:123456789012:{TOPIC}"
_ERROR_NAME = re.compile(rb"^x-amzn-errortype: *(\w+)", re.MULTILINE | re.IGNORECASE)
_REFUSALS = {b"MessageRejected", b"BadRequestException"}


def _read_mail(document: Any) -> tuple[str, str]:
    tags = {tag["Name"]: tag["Value"] for tag in document["EmailTags"]}
    return document["Destination"]["ToAddresses"][0], tags[REFERENCE_TAG]


def _judge(head: bytes, body: bytes) -> int | None:
    name = _ERROR_NAME.search(head)
    if name:
        return REFUSED if name[1] in _REFUSALS else LATER
    status = head[9:12]
    if status == b"503":
        return LATER
    is_taken = status == b"200" and "MessageId" in http_proxy.read_object(body)
    return TAKEN if is_taken else None


DIALECT = Dialect(b"POST /v2/email/outbound-emails ", _read_mail, _judge)


@dataclass
class Ses(HttpFake):
    sqs: Sqs | None = None  # gets events instead

    label: ClassVar[str] = "SES"
    kind: ClassVar[str] = NAME
    dialect: ClassVar[Dialect] = DIALECT
    service_faults: ClassVar[Mapping[str, Fault]] = {
        name: {"kind": "error", "name": name}
        for name in (
            *("ServiceUnavailable", "InternalServiceErrorException", "MessageRejected"),
            "TooManyRequestsException",
        )
    }

    @property
    @override
    def options(self) -> Mapping[str, str]:
        return {
            "identity": f"{NAME}.example",
            "configuration-set": CONFIGURATION_SET,
            "topic": TOPIC,
            "public-endpoint": f"http://127.0.0.1:{self.proxy.port}",
            "subscribe": self.url if self.sqs is None else QUEUE_ARN,
            "sqs-endpoint": "" if self.sqs is None else self.sqs.endpoint,
        }

    @property
    @override
    def settings(self) -> dict[str, object]:
        return {
            "region": "us-east-1",
            "endpoint": f"http://127.0.0.1:{self.proxy.port}",
            "access_key_id": ACCESS_KEY_ID,
            "secret_access_key": SECRET_ACCESS_KEY,
            "configuration_set": CONFIGURATION_SET,
            "sqs_endpoint": "" if self.sqs is None else self.sqs.endpoint,
        }

    @override
    def set_sending(self, *, is_enabled: bool) -> None:
        self.control("PATCH", "account", {"is_sending_enabled": is_enabled})

    @override
    def listen(self, workspace_id: int, account_id: int) -> None:
        queue_url = self.sqs.create_queue() if self.sqs else ""
        topics.register_topic(
            workspace_id, account_id, arn=TOPIC_ARN, queue_url=queue_url, actor="drill"
        )

    @override
    def count_queued(self) -> int:
        return self.sqs.count_messages() if self.sqs else 0

    @override
    def read_reference(self, entry: Mapping[str, Any]) -> str:
        reference: str = entry["tags"][REFERENCE_TAG]
        return reference

    @override
    def read_books(self) -> EventBooks[Any]:
        return reported_mail.read_books(self.journal)

    def limit_rate(self, max_send_rate: float) -> None:
        self.control("PATCH", "account", {"max_send_rate": max_send_rate})
