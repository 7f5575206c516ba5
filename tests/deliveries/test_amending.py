"""Claims about waiting notifications that get another address, or another due time."""

from collections.abc import Iterator
from datetime import timedelta
from operator import itemgetter

import pytest

from postledger.deliveries import audit, entries, ledger
from postledger.deliveries.entries import SeenDelivery, StreamKind
from postledger.deliveries.reasons import Reason
from tests import cast, epochs
from tests.deliveries.machine import rows

pytestmark = pytest.mark.django_db(transaction=True)

NOW = timedelta()
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _own_epoch() -> Iterator[None]:
    yield from epochs.kept()


def _move_first(stream_id: int) -> set[int]:
    """Claims the first mail of a stream and gives it another address."""
    return ledger.readdress(cast.claim(stream_id), stream_id, {0: "moved@example.com"})


def _address(stream_id: int) -> str:
    """Of the first mail."""
    _place, _fact, address = min(rows.read_lines([stream_id]), key=itemgetter(0))
    return address


def test_a_notification_gets_another_address_under_its_lease_until_it_is_armed() -> None:
    stream_id = cast.stream(StreamKind.TOPIC, mails=2)
    claim = cast.claim(stream_id)

    assert ledger.readdress(claim, stream_id, {0: "moved@example.com"}) == {0}
    assert _address(stream_id) == "moved@example.com"
    [batch] = claim.batches
    assert ledger.arm(claim, [entries.Window(batch, 2)], lease_time=cast.LEASE)
    assert ledger.readdress(claim, stream_id, {1: "late@example.com"}) == set()
    assert audit.audit(stream_id).discrepancies == []


def test_the_mail_of_a_run_keeps_its_address() -> None:
    assert _move_first(cast.stream(mails=1)) == set()


def test_who_lost_the_lease_or_is_of_an_earlier_epoch_changes_no_address() -> None:
    stream_id = cast.stream(StreamKind.TOPIC, mails=1)
    lost = cast.claim(stream_id)
    cast.run_out(lost.lease)
    ledger.sweep()
    assert ledger.readdress(lost, stream_id, {0: "moved@example.com"}) == set()

    other = cast.stream(StreamKind.TOPIC, mails=1)
    old = cast.claim(other)
    epochs.fall()
    assert ledger.readdress(old, other, {0: "moved@example.com"}) == set()


def test_what_a_provider_may_report_keeps_its_address_also_after_a_requeue() -> None:
    throttled, tried, requeued = (cast.stream(StreamKind.TOPIC, mails=1) for _ in range(3))
    cast.book(throttled, lambda at: entries.throttled(at, delay=NOW))
    cast.book(tried, lambda at: entries.try_later(at, delay=NOW, code="busy"))
    cast.book(requeued, lambda at: entries.refused(at, code="bad"))
    ledger.requeue(requeued, [SeenDelivery(0, 1)], actor="bob")

    assert _move_first(throttled) == {0}, "nothing of it was handed over"
    assert _move_first(tried) == set()
    assert _move_first(requeued) == set()


def test_only_what_waits_for_its_recipient_is_brought_forward() -> None:
    for kind, reason, is_suspect, comes in (
        (StreamKind.TOPIC, Reason.SCHEDULED, False, True),
        (StreamKind.TOPIC, Reason.OUTSIDE_HOURS, False, True),
        (StreamKind.TOPIC, Reason.RETRY, False, False),
        (StreamKind.TOPIC, Reason.SCHEDULED, True, False),
        (StreamKind.CAMPAIGN, Reason.SCHEDULED, False, False),
    ):
        stream_id = cast.stream(kind, mails=2)
        claim = cast.claim(stream_id)
        ledger.wait(claim, claim.batches, reason=reason, delay=HOUR, is_suspect=is_suspect)

        moved = ledger.bring_forward([(stream_id, "r1"), (stream_id, "nobody")])

        case = (kind, reason, is_suspect)
        assert moved == ({stream_id} if comes else set()), case
        assert cast.batches(stream_id) == [(0, 2, 1, reason)], case
    assert ledger.bring_forward([]) == set()
