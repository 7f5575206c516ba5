"""The audit finds nothing in good books, and in spoiled ones exactly what was spoiled."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from django.db import connection

from postledger.deliveries import audit, entries, ledger, partitions
from postledger.deliveries.entries import Decision, Evidence, SeenDelivery, StreamKind
from postledger.deliveries.ledger import books
from postledger.deliveries.states import State
from postledger.lib import ids
from postledger.lib.ids import DeliveryId
from tests import cast

pytestmark = pytest.mark.django_db(transaction=True)


def execute(statement: str, *params: int | str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)


def findings(stream_id: int) -> list[tuple[str, int | None]]:
    return [
        (discrepancy.sentence, discrepancy.position)
        for discrepancy in audit.audit(stream_id).discrepancies
    ]


def sent(position: int) -> entries.Entry:
    return entries.accepted(position, message_id=f"m{position}")


def refused(position: int) -> entries.Entry:
    return entries.refused(position, code="NO")


def busy(position: int) -> entries.Entry:
    return entries.try_later(position, delay=timedelta(), code="BUSY")


def mixed() -> int:
    """Ten lines: 0-1 accepted, 2 failed, 3 in doubt, 4-9 waiting."""
    stream_id = cast.stream(mails=10)
    cast.book(stream_id, sent, size=2)
    cast.book(stream_id, refused, size=1)
    cast.lose(stream_id, size=1)
    return stream_id


@pytest.fixture
def stream() -> int:
    return mixed()


def test_the_books_balance_after_a_mixed_story() -> None:
    stream_id = cast.stream(mails=60)
    cast.book(stream_id, sent)
    cast.book(stream_id, refused)
    cast.book(stream_id, busy, size=5)
    cast.lose(stream_id)
    cast.judge(stream_id, lambda position: entries.suppressed(position, code="bounced"), size=3)
    cast.judge(stream_id, lambda position: entries.skipped(position, code="paused"), size=2)
    cast.judge(stream_id, entries.expired, size=1)
    in_doubt = [place for place, state in cast.states(stream_id).items() if state == "in_doubt"]
    ledger.requeue(stream_id, [SeenDelivery(10, 1), SeenDelivery(11, 1)], actor="bob")
    ledger.resolve(
        stream_id, [SeenDelivery(in_doubt[0], 1)], decision=Decision.COUNT_AS_SENT, actor="bob"
    )
    ledger.record(stream_id, [Evidence(1, sent(in_doubt[1]), "event")])
    ledger.fold()
    ledger.cancel(stream_id, actor="bob")
    while ledger.drain(stream_id):
        pass

    audited = audit.audit(stream_id)

    assert audited.discrepancies == []
    assert audited.books.planned == 60
    assert audited.books.waiting == 0
    assert all(audited.books.counts.values())


def test_the_books_of_one_mail_batches_balance_too() -> None:
    stream_id = cast.stream(StreamKind.TRANSACTIONAL, mails=5)
    cast.book(stream_id, sent)
    cast.book(stream_id, busy)
    cast.lose(stream_id)

    assert findings(stream_id) == []
    assert audit.missing_constraints() == []


def test_every_stream_is_audited_once(stream: int) -> None:
    other = cast.stream(mails=1, workspace="globex")

    assert [audited.stream_id for audited in audit.audit_all()] == [stream, other]


def test_the_totals_of_a_dropped_month_are_history_not_a_miscount() -> None:
    past = datetime(2019, 5, 1, tzinfo=UTC)
    stream_id = cast.stream(mails=3, now=past)
    cast.book(stream_id, sent)
    ledger.drop_month(ids.month_of(past))

    audited = audit.audit(stream_id)

    assert not partitions.exists(ids.month_of(past))
    assert audited.books.counts[State.ACCEPTED] == 3
    assert audited.discrepancies == []


SPOILED = [
    (
        "it waits, but no live batch covers it",
        "UPDATE deliveries_batch SET hi = hi - 1 WHERE stream_id = %s",
        9,
    ),
    (
        "it is in doubt without a doubtful try, or has one although it is closed",
        "UPDATE deliveries_delivery SET doubts = NULL WHERE stream_id = %s AND state = 'in_doubt'",
        3,
    ),
    (
        "it is in doubt without a doubtful try, or has one although it is closed",
        "UPDATE deliveries_delivery SET doubts = '{1}' WHERE stream_id = %s AND state = 'failed'",
        2,
    ),
    (
        "it has a result without a time, or a time without a result",
        "UPDATE deliveries_delivery SET settled_at = NULL WHERE stream_id = %s AND position = 1",
        1,
    ),
    (
        "it has a result without a time, or a time without a result",
        "UPDATE deliveries_delivery SET settled_at = now() WHERE stream_id = %s AND position = 8",
        8,
    ),
    (
        "it was accepted without an attempt",
        "UPDATE deliveries_delivery SET attempts = 0 WHERE stream_id = %s AND position = 0",
        0,
    ),
    (
        "it was accepted without an attempt",
        "UPDATE deliveries_delivery SET last_try = 0 WHERE stream_id = %s AND position = 1",
        1,
    ),
    (
        "its batch is on a try that already has a result",
        "UPDATE deliveries_delivery SET last_try = 1 WHERE stream_id = %s AND position = 5",
        5,
    ),
    (
        "its batch is leased, but no lease is written down",
        "UPDATE deliveries_batch SET lease = -1, lease_until = now() WHERE stream_id = %s",
        4,
    ),
    (
        "it has work, but its stream is not in the rotation",
        "DELETE FROM deliveries_lane WHERE stream_id = %s",
        4,
    ),
    (
        "two live batches cover it",
        (
            "INSERT INTO deliveries_batch"
            " (stream_id, lo, hi, is_single, try_number, due_at, reason, since)"
            " VALUES (%s, 6, 7, true, 1, now(), 'ready', now())"
        ),
        6,
    ),
]


def test_a_broken_rule_is_found_at_its_line() -> None:
    for sentence, spoil, position in SPOILED:
        stream = mixed()
        execute(spoil, stream)

        # An overlap also hides the end of the longer batch, which is found as well.
        others = [finding for finding in findings(stream) if finding != (sentence, position)]
        assert (sentence, position) in findings(stream), spoil
        hidden = [("it waits, but no live batch covers it", 7)] if position == 6 else []
        assert others == hidden, spoil
    assert {sentence for sentence, _, _ in SPOILED} == set(audit._RULES)


@pytest.fixture
def overlaps_allowed() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE conname = 'deliveries_batch_no_overlap'"
        )
        [(definition,)] = cursor.fetchall()
    execute("ALTER TABLE deliveries_batch DROP CONSTRAINT deliveries_batch_no_overlap")
    yield
    execute("DELETE FROM deliveries_batch")
    execute(f"ALTER TABLE deliveries_batch ADD CONSTRAINT deliveries_batch_no_overlap {definition}")


def test_two_batches_over_one_position_are_found_and_the_missing_constraint_is_named(
    stream: int, overlaps_allowed: None
) -> None:
    execute(
        "INSERT INTO deliveries_batch (stream_id, lo, hi, is_single, try_number, due_at, reason,"
        " since) VALUES (%s, 7, 20, false, 1, now(), 'ready', now())",
        stream,
    )

    assert findings(stream) == [("two live batches cover it", 7)]
    assert audit.missing_constraints() == ["deliveries_batch_no_overlap"]


def test_an_overlap_is_found_whichever_batch_came_first(stream: int) -> None:
    execute(
        "INSERT INTO deliveries_batch"
        " (id, stream_id, lo, hi, is_single, try_number, due_at, reason, since)"
        " OVERRIDING SYSTEM VALUE VALUES (-1, %s, 6, 7, true, 1, now(), 'ready', now())",
        stream,
    )

    assert ("two live batches cover it", 6) in findings(stream)


def miscount(table: str, column: str, by: int, stream: int) -> None:
    key = "id" if table == "stream" else "stream_id"
    execute(
        f"UPDATE deliveries_{table} SET {column} = {column} + {by} WHERE {key} = %s"
        f" AND ctid = (SELECT max(ctid) FROM deliveries_{table} WHERE {key} = %s)",
        stream,
        stream,
    )


def test_a_miscounted_state_is_found(stream: int) -> None:
    execute("INSERT INTO deliveries_streamdelta (stream_id) VALUES (%s)", stream)
    real = Counter(cast.states(stream).values())
    waiting = real[State.WAITING]
    results = [state for state in State if state is not State.WAITING]
    for table, state in (
        *(("stream", state) for state in results),
        ("streamdelta", State.ACCEPTED),
    ):
        miscount(table, state.value, 1, stream)
        found = findings(stream)
        miscount(table, state.value, -1, stream)

        # What is booked as a result is not left to wait, so the rest is off by as much.
        assert sorted(found) == sorted(
            [
                (f"{real[state] + 1} booked as {state}, but {real[state]} are", None),
                (f"{waiting - 1} booked as waiting, but {waiting} are", None),
            ]
        ), (table, state)
    assert findings(stream) == []


def test_a_miscounted_report_is_found(stream: int) -> None:
    execute("INSERT INTO deliveries_streamdelta (stream_id) VALUES (%s)", stream)
    for table, counter in product(("stream", "streamdelta"), books.REPORTED):
        miscount(table, counter, 1, stream)
        found = findings(stream)
        miscount(table, counter, -1, stream)
        assert found == [(f"1 counted as {counter}, but 0 are", None)], table


def test_a_line_too_many_planned_and_a_lost_line_are_found(stream: int) -> None:
    other = mixed()
    execute("UPDATE deliveries_stream SET planned = planned + 1 WHERE id = %s", stream)
    execute("DELETE FROM deliveries_delivery WHERE stream_id = %s AND position = 0", other)

    assert findings(stream) == [
        ("11 planned, but it has 10 deliveries", None),
        ("7 booked as waiting, but 6 are", None),
    ]
    assert findings(other) == [
        ("10 planned, but it has 9 deliveries", None),
        ("2 booked as accepted, but 1 are", None),
    ]


def test_a_finding_names_the_delivery_as_people_know_it() -> None:
    finding = audit.Discrepancy(7, "it is wrong", position=3)

    assert str(finding) == f"stream 7, delivery {DeliveryId(7, 3).uuid()}: it is wrong"
    assert str(audit.Discrepancy(7, "it is wrong")) == "stream 7: it is wrong"
