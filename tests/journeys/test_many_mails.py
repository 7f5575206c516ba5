"""Thousands of mails through real worker processes, on either broker: each goes exactly once."""

import os
from pathlib import Path

import pytest

from postledger.deliveries import audit, ledger
from postledger.deliveries.entries import NewDelivery, StreamKind
from postledger.deliveries.states import State
from tests.journeys import rig, stage

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

# A long look by hand: JOURNEY_MAILS=20000 JOURNEY_STOPS=10.
MAILS = int(os.environ.get("JOURNEY_MAILS", "5000"))
STOPS = int(os.environ.get("JOURNEY_STOPS", "4"))


@pytest.mark.parametrize("broker", [rig.RABBITMQ, rig.REDIS], ids=["RabbitMQ", "Redis"])
def test_two_workers_hand_over_each_of_thousands_of_mails_once(broker: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    owner = stage.sender("acme", journal=str(journal))
    bulk = stage.bulk(owner, MAILS)
    singles = stage.stream(owner, StreamKind.TRANSACTIONAL)

    with rig.installation(tmp_path, stage.database(), broker=broker) as installed:
        workers = [installed.worker("--beat"), installed.worker()]
        for number in range(100):
            ledger.enqueue(singles, [NewDelivery(f"s{number}@example.com", body=stage.LETTER)])
        rig.until(lambda: stage.count(bulk) == MAILS and stage.count(singles) == 100)
        ended = [worker.stop() for worker in workers]

    counts = stage.taken(journal)
    assert ended == [0, 0]
    assert len(counts) == MAILS + 100
    assert set(counts.values()) == {1}
    assert audit.audit(bulk).discrepancies == []
    assert audit.audit(singles).discrepancies == []


def test_a_worker_told_to_stop_under_load_leaves_nothing_in_doubt_and_loses_nothing(
    tmp_path: Path,
) -> None:
    journal = tmp_path / "journal"
    # So many that these workers one after the other cannot finish them.
    mails = 25_000 * STOPS
    bulk = stage.bulk(stage.sender("acme", journal=str(journal)), mails)

    with rig.installation(tmp_path, stage.database()) as installed:
        for _ in range(STOPS):
            before = stage.count(bulk)
            worker = installed.worker("--beat")
            rig.until(lambda before=before: stage.count(bulk) > before, every=0.01)  # type: ignore[misc]
            assert worker.stop() == 0
            assert stage.count(bulk, State.IN_DOUBT) == 0
            assert stage.count(bulk) == sum(stage.taken(journal).values())
            assert stage.count(bulk) < mails, "the load ended before the stops did"

    audited = audit.audit(bulk)
    assert audited.discrepancies == []
    assert audited.books.planned == mails == audited.books.waiting + stage.count(bulk)
    assert set(stage.taken(journal).values()) == {1}
