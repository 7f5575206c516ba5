"""No field of a request can end a header, whatever it contains: refused, or harmless."""

from datetime import UTC, datetime
from email import message_from_bytes, policy
from typing import Any

import pytest

from postledger.deliveries import queries
from postledger.lib.ids import DeliveryId
from postledger.providers import mime
from postledger.providers.base import Mailbox, Parts
from tests.web.callers import Caller

BREAKS = {
    "CR": "\r",
    "LF": "\n",
    "CRLF": "\r\n",
    "NEL": "\x85",
    "LS": "\u2028",
    "PS": "\u2029",
    "VT": "\x0b",
    "FF": "\x0c",
    "NUL": "\x00",
    "percent": "%0d%0a",
    "encoded": "=?utf-8?q?=0D=0A?=",
    "folded": "\r\n ",
    "surrogate": "\ud800",
}
FIELDS = (
    *("subject", "to", "to name", "reply_to", "sender", "header name", "header value"),
    *("filename", "content type", "tag", "text", "html"),
)


def changes(field: str, evil: str) -> dict[str, Any]:
    attachment = {"filename": "a.txt", "content_type": "text/plain", "content": "YQ=="}
    changed: dict[str, dict[str, Any]] = {
        "subject": {"subject": evil},
        "to": {"to": f"alice@example.com{evil}"},
        "to name": {"to": {"email": "alice@example.com", "name": evil}},
        "reply_to": {"reply_to": f"help@example.com{evil}"},
        "sender": {"sender": f"news@acme.example{evil}"},
        "header name": {"headers": {f"X-A{evil}": "1"}},
        "header value": {"headers": {"X-A": evil}},
        "filename": {"attachments": [{**attachment, "filename": evil}]},
        "content type": {"attachments": [{**attachment, "content_type": f"text/plain{evil}"}]},
        "tag": {"tags": [evil]},
        "text": {"text": evil},
        "html": {"html": f"<p>{evil}</p>"},
    }
    return changed[field]


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_with_a_line_end_is_refused_or_harmless(field: str, alice: Caller) -> None:
    for name, line_end in BREAKS.items():
        reply = alice.send(**changes(field, f"{line_end}Bcc: eve@example.com"))

        assert reply.status in {202, 422}, (name, reply.body)
        if reply.status == 202:
            mail = message_from_bytes(composed(reply.body["id"]), policy=policy.default)
            heads = {head.lower() for part in mail.walk() for head, _ in part.items()}
            assert "bcc" not in heads, name
            assert "Bcc" not in [line[:3] for line in str(mail).split("\n\n", 1)[0].splitlines()]


def composed(id_: str) -> bytes:
    """The mail as a dispatcher would write it."""
    delivery_id = DeliveryId.parse(id_)
    assert delivery_id
    body = queries.read_bodies(delivery_id.stream_id, [delivery_id.position])[delivery_id.position]
    line = queries.find_delivery(delivery_id.stream_id, delivery_id.position)
    assert line
    letter = Parts(
        sender=Mailbox("news@acme.example"),
        to=Mailbox(line.address, body.to_name),
        subject=body.subject,
        date=datetime.now(UTC),
        html=body.html,
        text=body.text,
        reply_to=(Mailbox(body.reply_to),) if body.reply_to else (),
        headers=body.headers or {},
        attachments=tuple(body.attachments),
    )
    return mime.compose(letter, reference=delivery_id.text())
