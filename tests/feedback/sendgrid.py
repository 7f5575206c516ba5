"""Accounts at SendGrid with keys, and posts as its event webhook signs them."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.test import Client

from postledger.accounts import provider_accounts
from postledger.feedback import webhook_keys
from postledger.providers.sendgrid import event_signature
from tests.feedback import topics

SIGNATURE = "X-Twilio-Email-Event-Webhook-Signature"
TIMESTAMP = "X-Twilio-Email-Event-Webhook-Timestamp"
NOON = 1777896000  # 2026-05-04T12:00:00Z


def new_account(workspace: str = "acme") -> tuple[int, int]:
    """The ids of a workspace and of its new account."""
    workspace_id = topics.find_workspace(workspace)
    account_id = provider_accounts.create_account(
        workspace_id,
        name=f"sendgrid {uuid4()}",
        kind="sendgrid",
        settings={"api_key": "SG.made-up"},
        actor="alice",
    )
    return workspace_id, account_id


@dataclass(frozen=True)
class Webhook:
    """An event webhook: a pair of keys, and the account that its posts are for."""

    account_id: int = 0
    private_key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    @property
    def public_key(self) -> str:
        return event_signature.write_key(self.private_key.public_key())

    def sign(self, body: bytes, timestamp: str) -> str:
        signed = self.private_key.sign(timestamp.encode() + body, ec.ECDSA(SHA256()))
        return b64encode(signed).decode()

    def headers(self, body: bytes, timestamp: str | None = None) -> dict[str, str]:
        at = str(int(datetime.now(UTC).timestamp())) if timestamp is None else timestamp
        return {SIGNATURE: self.sign(body, at), TIMESTAMP: at}

    def post(self, *events: Mapping[str, Any]) -> Any:
        body = write_body(events)
        return post(self.account_id, body, self.headers(body))


def listen(workspace: str = "acme") -> Webhook:
    """A webhook whose key a new account has."""
    workspace_id, account_id = new_account(workspace)
    webhook = Webhook(account_id)
    webhook_keys.register_key(
        workspace_id, account_id, public_key=webhook.public_key, actor="alice"
    )
    return webhook


def post(account_id: int | str, body: bytes, headers: Mapping[str, str]) -> Any:
    return Client().post(
        f"/sendgrid-events/{account_id}", body, content_type="application/json", headers=headers
    )


def write_body(events: Sequence[Mapping[str, Any]]) -> bytes:
    """As SendGrid writes it: one event a line."""
    return f"[{','.join(json.dumps(event) + '\r\n' for event in events)}]\r\n".encode()


# The fields that each event has beside those that all have.
FIELDS: dict[str, dict[str, Any]] = {
    "processed": {"smtp-id": "<14c5@ismtpd-3>", "pool": {"name": "bulk", "id": 210}},
    "delivered": {"smtp-id": "<14c5@ismtpd-3>", "response": "250 2.0.0 OK", "tls": 1},
    "deferred": {"response": "421 4.7.0 try again later", "attempt": "5"},
    "bounce": {
        "type": "bounce",
        "reason": "550 5.1.1 unknown recipient",
        "status": "5.1.1",
        "bounce_classification": "Invalid Address",
    },
    "dropped": {"reason": "Spam Content", "status": "5.0.0"},
    "open": {"useragent": "Mozilla/5.0", "ip": "198.51.100.7", "sg_machine_open": False},
    "click": {"url": "https://acme.example/offer", "url_offset": {"index": 0, "type": "html"}},
    "spamreport": {},
    "unsubscribe": {},
    "group_unsubscribe": {"asm_group_id": 10, "url": "https://acme.example/"},
    "group_resubscribe": {"asm_group_id": 10, "url": "https://acme.example/"},
}
BLOCK: dict[str, Any] = {
    "type": "blocked",
    "reason": "550 5.7.1 blocked",
    "bounce_classification": "Reputation",
}


def event(
    name: str, address: str, reference: str | None, *, seconds: int = 0, **fields: object
) -> dict[str, Any]:
    """One event as SendGrid writes it."""
    arguments = {} if reference is None else {"postledger-id": reference}
    return {
        "email": address,
        "timestamp": NOON + seconds,
        "event": name,
        "category": ["news"],
        "sg_event_id": f"{name}-ZGVtby1ldmVudC1pZA",
        "sg_message_id": "14c5d75ce93abcdEFG.recvd-5d8c7b6f9-abcde-1-6633F1A8-1B.0",
        **FIELDS.get(name, {}),
        **arguments,
        **fields,
    }
