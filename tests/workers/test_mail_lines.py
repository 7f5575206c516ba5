"""What a worker's log says of single mails: every line can be followed from request to result."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from postledger.contacts.actions import suppression
from postledger.contacts.states import SuppressionReason
from postledger.deliveries import ledger
from postledger.deliveries.entries import Body, NewDelivery, StreamKind
from postledger.lib.ids import DeliveryId
from tests.dispatch import office
from tests.workers import brokers
from tests.workers.worker_processes import worker

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PATIENCE = 600.0
NAMES = ("ann", "refuse", "later", "vanish", "complained", "no address")
FIELDS = {"request_id", "outbox_id", "workspace_id", "attempt", "state", "duration_ms"}

type Line = dict[str, Any]


def enqueue(stream_id: int, name: str) -> str:
    """A mail of the request `request of NAME`; its outside id."""
    address = name if " " in name else f"{name}@example.com"
    body = Body("Hello", "<p>Hello.</p>", "Hello.", request_id=f"request of {name}")
    [position] = ledger.enqueue(stream_id, [NewDelivery(address, body=body)])
    return DeliveryId(stream_id, position).text()


def read_lines(log: Path) -> list[Line]:
    """Those about one mail; the last line may not be whole yet."""
    whole = [text for text in log.read_text().splitlines() if text[:1] + text[-1:] == "{}"]
    return [line for line in map(json.loads, whole) if line.get("outbox_id")]


def test_every_line_about_a_mail_has_its_ids_its_attempt_its_state_and_its_duration(
    tmp_path: Path,
) -> None:
    acme = office.open_office(tmp_path, settings={"retry_after": 0})
    stream = office.stream(acme, kind=StreamKind.TRANSACTIONAL)
    suppression.suppress(
        acme.workspace_id,
        address="complained@example.com",
        reason=SuppressionReason.COMPLAINED,
        actor="test",
    )
    names = {enqueue(stream, name): name for name in NAMES}
    log = tmp_path / "log"

    with brokers.own_queues() as prefix:
        policy = {"RETRY_TRANSACTIONAL": "2: 0.1", "LOG_LEVEL": "INFO"}
        with worker(log, "--beat", prefix=prefix, **policy):
            office.until(lambda: not office.waiting(stream), patience=PATIENCE)
            office.until(lambda: len(read_lines(log)) >= len(NAMES) + 1, patience=PATIENCE)

    lines = read_lines(log)
    results: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for line in lines:
        name = names[line["outbox_id"]]
        assert line.keys() >= FIELDS, line
        assert line["request_id"] == f"request of {name}"
        assert line["workspace_id"] == acme.workspace_id
        assert 0 <= line["duration_ms"] < PATIENCE * 1000
        results[name].append((line["attempt"], line["state"]))
    assert results == {
        "ann": [(1, "accepted")],
        "refuse": [(1, "failed")],
        "later": [(1, "waiting"), (2, "failed")],
        "vanish": [(1, "in_doubt")],
        "complained": [(1, "suppressed")],
        "no address": [(1, "failed")],
    }
    [accepted] = [line for line in lines if line["state"] == "accepted"]
    assert accepted["provider_message_id"]
    assert not any(f"{name}@example.com" in log.read_text() for name in NAMES)
