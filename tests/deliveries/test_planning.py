"""Claims about opening streams and planning mail into them."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from psycopg import sql as pg

from postledger.deliveries import audit, ledger
from postledger.deliveries.entries import Body, NewDelivery, StreamKind
from postledger.lib import ids
from tests import cast

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime.now(UTC)
PAST = datetime(2019, 5, 17, tzinfo=UTC)
SOURCE = pg.SQL(
    "SELECT 'r' || n || '@example.com' AS address, 'r' || n AS dedupe_key,"
    " NULL::bigint AS contact_id, NULL::text AS variables, 0 AS letter, NULL::text AS kept_back"
    " FROM generate_series(1, %(upto)s) AS n"
)


def test_a_repeated_key_adds_nothing_and_gets_its_position() -> None:
    for kind in StreamKind:
        stream_id = cast.stream(kind)

        first = cast.enqueue(stream_id, [1, 2, 3])
        second = cast.enqueue(stream_id, [3, 4, 1])

        assert (second[0], second[2]) == (first[2], first[0])
        assert len(cast.states(stream_id)) == 4
        assert audit.audit(stream_id).discrepancies == [], kind

    single = cast.stream(StreamKind.TRANSACTIONAL)
    in_one_call = cast.enqueue(single, [7, 7])
    without = ledger.enqueue(single, [NewDelivery("a@example.com")] * 3, due_at=NOW)
    assert in_one_call[0] == in_one_call[1]
    assert len({*in_one_call, *without}) == len(cast.states(single)) == 4


def test_a_transactional_mail_has_a_batch_and_a_body_of_its_own() -> None:
    stream_id = cast.stream(StreamKind.TRANSACTIONAL)
    body = Body(subject="Hi", html="<p>Hi</p>", headers={"X-A": "1"}, request_id="req-1")

    [position] = ledger.enqueue(stream_id, [NewDelivery("a@example.com", body=body)], due_at=NOW)

    assert [(lo, hi) for lo, hi, *_ in cast.batches(stream_id)] == [(position, position + 1)]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT subject, request_id FROM deliveries_body WHERE position = %s", [position]
        )
        assert cursor.fetchall() == [("Hi", "req-1")]


def test_nothing_is_planned_when_the_callers_transaction_fails() -> None:
    stream_id = cast.stream()

    with transaction.atomic():
        cast.enqueue(stream_id, [1])
        transaction.set_rollback(True)

    assert cast.states(stream_id) == {}


def test_a_campaign_is_cut_into_batches_of_500_and_a_replayed_chunk_changes_no_line() -> None:
    stream_id = cast.stream()

    planned = ledger.plan(stream_id, source=SOURCE, params={"upto": 1200}, due_at=NOW)

    assert (planned.added, planned.repeated) == (1200, 0)
    assert [(lo, hi) for lo, hi, *_ in cast.batches(stream_id)] == [
        *((0, 500), (500, 1000), (1000, 1200))
    ]
    again = ledger.plan(stream_id, source=SOURCE, params={"upto": 1210}, due_at=NOW)
    assert (again.added, again.repeated) == (10, 1200)
    assert audit.audit(stream_id).discrepancies == []


def test_a_stream_that_is_cancelled_or_of_a_dropped_month_takes_no_mail() -> None:
    cancelled, dropped = cast.stream(), cast.stream(now=PAST)
    with pytest.raises(ValueError, match="up to 1000"):
        cast.enqueue(cancelled, range(1001))
    ledger.cancel(cancelled, actor="bob")
    ledger.drop_month(ids.month_of(PAST))

    with pytest.raises(ledger.StreamClosedError, match="Open a new stream"):
        cast.enqueue(cancelled, [1])
    with pytest.raises(ledger.StreamClosedError, match="its month was dropped"):
        cast.enqueue(dropped, [1])


BY_ROW = pg.SQL(
    "SELECT 'r' || n || '@example.com' AS address, 'r' || n AS dedupe_key,"
    " NULL::bigint AS contact_id, NULL::text AS variables, 0 AS letter, NULL::text AS kept_back,"
    " CASE WHEN n > 700 THEN %(noon)s::timestamptz END AS due_at,"
    " CASE WHEN n > 700 THEN 'outside_hours' ELSE 'ready' END AS reason"
    " FROM generate_series(1, 1200) AS n ORDER BY due_at NULLS FIRST, n"
)


def test_no_batch_has_mails_of_two_due_times_and_a_repeated_chunk_adds_nothing() -> None:
    stream_id = cast.stream()
    noon = NOW + timedelta(hours=5)

    for _ in range(2):
        ledger.plan(stream_id, source=BY_ROW, params={"noon": noon}, is_timed_by_row=True)

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lo, hi, reason, due_at >= %s FROM deliveries_batch"
            " WHERE stream_id = %s ORDER BY lo",
            [noon, stream_id],
        )
        batches = cursor.fetchall()
    assert batches == [
        (0, 500, "ready", False),
        (500, 700, "ready", False),
        (700, 1000, "outside_hours", True),
        (1000, 1200, "outside_hours", True),
    ]
    assert audit.audit(stream_id).discrepancies == []
