"""A stream lives in the month it was opened in, and a month leaves without its totals."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from itertools import product

import psycopg
import pytest
from django.db import connection, transaction

from postledger.deliveries import entries, ledger, lineage, partitions, queries
from postledger.deliveries.entries import Body, Decision, NewDelivery, SeenDelivery, StreamKind
from postledger.deliveries.partitions import MonthDroppedError
from postledger.deliveries.states import State
from postledger.lib import ids
from tests import cast
from tests.cli import installations
from tests.deliveries import views
from tests.races import collide

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC)
NEXT_MONTH = (NOW.replace(day=1) + timedelta(days=32)).replace(day=1)
PAST = datetime(2019, 5, 17, tzinfo=UTC)
PAST_MONTH = ids.month_of(PAST)


def query(statement: str, *params: int | str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return cursor.fetchall() if cursor.description else []


def partition_of(stream_id: int, table: str = "deliveries_delivery") -> str:
    [(name,)] = query(
        f"SELECT DISTINCT tableoid::regclass::text FROM {table} WHERE stream_id = %s", stream_id
    )
    return str(name)


def sent(position: int) -> entries.Entry:
    return entries.accepted(position, message_id=f"m{position}")


@contextmanager
def another_connection() -> Iterator[psycopg.Connection]:
    with psycopg.connect(installations.database_url()) as other:
        yield other


def test_everything_said_of_a_delivery_lies_in_its_month() -> None:
    stream_id = cast.stream(StreamKind.TRANSACTIONAL, now=NEXT_MONTH)
    body = Body(subject="Hi", html="<p>Hi</p>")
    [position] = ledger.enqueue(stream_id, [NewDelivery("a@example.com", body=body)], due_at=NOW)
    cast.book(stream_id, lambda place: entries.refused(place, code="NO"))
    ledger.requeue(stream_id, [SeenDelivery(position, 1)], actor="bob")
    cast.book(stream_id, sent)
    views.report(stream_id, position, "delivered")

    names = {partition_of(stream_id, table) for table in partitions.TABLES}

    assert names == {
        partitions.partition(table, ids.month_of(NEXT_MONTH)) for table in partitions.TABLES
    }


def test_a_missing_month_is_made_when_a_stream_opens_in_it_and_stays_its_own() -> None:
    end = datetime(2019, 6, 1, tzinfo=UTC)
    last = cast.stream(now=end - timedelta(microseconds=1))
    first = cast.stream(now=end)

    cast.enqueue(last, range(3))
    cast.enqueue(first, range(3))
    cast.book(last, sent)

    assert partitions.exists(PAST_MONTH)
    assert partition_of(last) == "deliveries_delivery_2019_05"
    assert partition_of(first) == "deliveries_delivery_2019_06"


def test_the_coming_months_are_made_once() -> None:
    last = partitions.this_month() + partitions.MONTHS_AHEAD

    made = partitions.create_missing(ahead=partitions.MONTHS_AHEAD + 2)

    assert made == [ids.month_name(last + 1), ids.month_name(last + 2)]
    assert partitions.create_missing(ahead=partitions.MONTHS_AHEAD + 2) == []


def test_a_partition_has_its_parents_keys_and_room_to_settle_in_place() -> None:
    partitions.create(PAST_MONTH)

    [(options,)] = query(
        "SELECT reloptions FROM pg_class WHERE relname = 'deliveries_delivery_2019_05'"
    )
    indexes = query(
        "SELECT count(*) FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid"
        " WHERE x.indrelid = 'deliveries_delivery_2019_05'::regclass AND x.indisvalid"
    )

    assert options == ["fillfactor=40"]
    assert indexes == [(2,)]


@pytest.mark.django_db(transaction=True)
def test_a_month_is_made_while_others_read_and_write() -> None:
    stream_id = cast.stream(mails=1)

    with another_connection() as other:
        other.execute(
            "UPDATE deliveries_delivery SET attempts = 0 WHERE stream_id = %s", [stream_id]
        )
        with transaction.atomic():
            query("SET LOCAL lock_timeout = '2s'")
            partitions.create(PAST_MONTH)

    assert partitions.exists(PAST_MONTH)
    ledger.drop_month(PAST_MONTH)


def test_the_overview_counts_what_keeps_a_month_and_reads_no_lines() -> None:
    stream_id = cast.stream(mails=9, now=PAST)
    cast.lose(stream_id, size=2)
    cast.lose(stream_id, size=1)
    ledger.fold()
    cast.lose(stream_id, size=1)

    month = partitions.describe(PAST_MONTH)

    assert (month.name, month.live_batch_count, month.doubt_count) == ("2019-05", 1, 4)
    assert month.bytes > 0
    assert month in list(partitions.list_months())
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN " + partitions._IN_USE, {"first": 0, "end": 1})
        assert "deliveries_delivery" not in "\n".join(line for (line,) in cursor.fetchall())


def test_dropping_a_month_keeps_its_streams_and_their_totals() -> None:
    stream_id = cast.stream(mails=5, now=PAST)
    kept = cast.stream(mails=2)
    cast.book(stream_id, sent, size=3)
    ledger.fold()
    cast.book(stream_id, lambda place: entries.refused(place, code="NO"))
    before = queries.read_books([stream_id, kept])

    ledger.drop_month(PAST_MONTH)

    assert not partitions.exists(PAST_MONTH)
    assert queries.read_books([stream_id, kept]) == before
    assert before[stream_id].counts[State.ACCEPTED] == 3
    assert before[stream_id].counts[State.FAILED] == 2
    assert queries.find_stream(stream_id) is not None
    assert query("SELECT FROM deliveries_streamdelta WHERE stream_id = %s", stream_id) == []
    assert query("SELECT FROM deliveries_lane WHERE stream_id = %s", stream_id) == []
    assert queries.find_delivery(stream_id, 0) is None
    assert len(cast.states(kept)) == 2


def test_a_month_with_live_batches_or_doubts_is_dropped_only_after_they_are_resolved() -> None:
    stream_id = cast.stream(mails=1, now=PAST)
    with pytest.raises(ledger.MonthInUseError, match="1 live batches and 0 deliveries in doubt"):
        ledger.drop_month(PAST_MONTH)
    assert len(cast.states(stream_id)) == 1
    cast.lose(stream_id)
    with pytest.raises(ledger.MonthInUseError, match="0 live batches and 1 deliveries in doubt"):
        ledger.drop_month(PAST_MONTH)

    ledger.resolve(
        stream_id, [SeenDelivery(0, 1)], decision=Decision.COUNT_AS_NOT_SENT, actor="bob"
    )
    ledger.drop_month(PAST_MONTH)

    assert not partitions.exists(PAST_MONTH)
    assert queries.read_books([stream_id])[stream_id].counts[State.FAILED] == 1


def test_a_month_that_is_not_over_or_whose_counters_hide_an_open_line_is_not_dropped() -> None:
    stream_id = cast.stream(mails=1, now=PAST)
    query("DELETE FROM deliveries_batch WHERE stream_id = %s RETURNING 1", stream_id)

    for month, words in (
        (PAST_MONTH, r"1 of its deliveries wait.* postledger audit"),
        (ids.month_of(NOW), "not over"),
        (ids.month_of(NEXT_MONTH), "not over"),
    ):
        with pytest.raises(ledger.MonthInUseError, match=words):
            ledger.drop_month(month)
        assert partitions.exists(month)


def test_a_month_that_was_dropped_is_never_made_again() -> None:
    stream_id = cast.stream(mails=1, now=PAST)
    cast.book(stream_id, sent)
    ledger.drop_month(PAST_MONTH)

    with pytest.raises(MonthDroppedError, match="2019-05 was dropped from the ledger"):
        partitions.create(PAST_MONTH)
    with pytest.raises(MonthDroppedError, match="set the clock right"):
        cast.stream(now=PAST)

    assert not partitions.exists(PAST_MONTH)
    assert lineage.is_forgotten([cast.stream(), stream_id])


def test_a_database_whose_clock_fell_back_into_a_dropped_month_makes_it_no_more() -> None:
    for table in partitions.TABLES:
        query(f"DROP TABLE {partitions.partition(table, partitions.this_month())}")
    query(
        "INSERT INTO deliveries_droppedmonth (month, dropped_at)"
        " VALUES (deliveries_month(now()), now())"
    )

    with pytest.raises(MonthDroppedError, match="not created again"):
        partitions.create_missing()
    with pytest.raises(MonthDroppedError, match="not created again"):
        cast.stream()


def test_the_database_counts_months_as_we_do_whatever_its_zone() -> None:
    moments = (
        datetime(2000, 1, 1, tzinfo=UTC),
        datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2027, 1, 1, tzinfo=UTC),
        datetime(2027, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
    )
    with connection.cursor() as cursor:
        for zone, moment in product(("UTC", "Asia/Vladivostok", "America/Anchorage"), moments):
            cursor.execute("SELECT set_config('TimeZone', %s, true)", [zone])
            cursor.execute("SELECT deliveries_month(%s)", [moment])
            assert cursor.fetchall() == [(ids.month_of(moment.astimezone(UTC)),)], (zone, moment)


@pytest.mark.django_db(transaction=True)
def test_a_month_is_not_made_again_behind_the_back_of_its_drop() -> None:
    """Who makes it waits for the drop, and then sees that it is gone."""
    cast.stream(now=PAST)

    with collide.uncommitted(lambda: ledger.drop_month(PAST_MONTH)):
        making = collide.start(lambda: partitions.create(PAST_MONTH))
        making.must_wait()
    with pytest.raises(MonthDroppedError):
        making.answer()

    assert not partitions.exists(PAST_MONTH)


@pytest.mark.django_db(transaction=True)
def test_a_month_others_are_using_is_left_alone_and_nobody_waits_for_long() -> None:
    stream_id = cast.stream(mails=1, now=PAST)
    cast.book(stream_id, sent)

    with another_connection() as other:
        other.execute("SELECT FROM deliveries_delivery WHERE stream_id = %s", [stream_id])
        with pytest.raises(ledger.MonthInUseError, match="try again"):
            ledger.drop_month(PAST_MONTH)

    assert len(cast.states(stream_id)) == 1
    ledger.drop_month(PAST_MONTH)
    assert not partitions.exists(PAST_MONTH)
