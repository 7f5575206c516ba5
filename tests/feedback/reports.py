"""Events of SES about the mails of a stream, and messages of the inbox that have them."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from django.db import connection

from postledger.accounts import sealing
from postledger.feedback import application, inbox
from postledger.feedback.application import Applied
from postledger.feedback.inbox import IncomingMessage
from postledger.lib import references
from postledger.lib.ids import DeliveryId

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)

_numbers = count()


def reference(stream_id: int, position: int, *, try_number: int = 1, epoch: int = 1) -> str:
    name = DeliveryId(stream_id, position, try_number).text()
    return references.write(name, epoch, sealing.reference_keys()[0])


def event(
    name: str,
    address: str,
    tag: str | None,
    *,
    minutes: int = 0,
    **fields: object,
) -> dict[str, Any]:
    """One event as SES writes it; `fields` are of its own part."""
    at = (NOON + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")
    parts = {"DeliveryDelay": "deliveryDelay", "Rendering Failure": "failure"}
    lists = {"Bounce": "bouncedRecipients", "Complaint": "complainedRecipients"}
    part: dict[str, object] = {"timestamp": at, **fields}
    if name in lists:
        part[lists[name]] = [{"emailAddress": address, "diagnosticCode": f"550 no {address}"}]
    tags = {} if tag is None else {"tags": {"postledger-id": [tag]}}
    mail = {"timestamp": NOON.isoformat(), "messageId": f"ses-{tag}", "destination": [address]}
    return {"eventType": name, "mail": {**mail, **tags}, parts.get(name, name.lower()): part}


def bounce(
    address: str,
    tag: str | None,
    kind: str = "Permanent",
    subtype: str = "General",
    *,
    minutes: int = 0,
) -> dict[str, Any]:
    return event("Bounce", address, tag, minutes=minutes, bounceType=kind, bounceSubType=subtype)


def complaint(
    address: str, tag: str | None, kind: str = "abuse", *, minutes: int = 0
) -> dict[str, Any]:
    return event("Complaint", address, tag, minutes=minutes, complaintFeedbackType=kind)


def store(account_id: int, events: Sequence[Mapping[str, Any] | str]) -> None:
    """Each as a message of its own; a text as it is."""
    bodies = [each if isinstance(each, str) else json.dumps(each) for each in events]
    messages = [IncomingMessage(f"m{next(_numbers)}", body, NOON) for body in bodies]
    assert inbox.store(account_id, messages) == len(messages)


def apply(account_id: int, *events: Mapping[str, Any] | str) -> Applied:
    """Stores the events and applies all that waits."""
    store(account_id, events)
    return apply_all()


def apply_all(*, limit: int = 5_000) -> Applied:
    total = Applied()
    while (applied := application.apply_waiting(limit=limit)).message_count:
        total += applied
    return total


def query(statement: str, *params: int | str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())
