"""An id seen outside leads to its row, in Python and in SQL alike."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from postledger.lib import ids
from postledger.lib.ids import DeliveryId

EDGES = [
    DeliveryId(0, 0),
    DeliveryId(2**48 - 1, 2**50 - 1, 2**24 - 1),
    DeliveryId(ids.first_stream_of(322) + 1, 0, 1),
    DeliveryId(1, 2**49, 255),
    DeliveryId(7, 3, 2**12 - 1),
    DeliveryId(7, 3, 2**12),
    DeliveryId(7, 3, 2**23),
]

delivery_ids = st.builds(
    DeliveryId,
    st.integers(0, 2**48 - 1),
    st.integers(0, 2**50 - 1),
    st.integers(0, 2**24 - 1),
)


@given(delivery_ids)
def test_an_id_is_a_uuid_of_the_version_for_own_layouts_and_comes_back_as_it_went(
    delivery_id: DeliveryId,
) -> None:
    assert delivery_id.uuid().version == 8
    assert DeliveryId.parse(delivery_id.uuid()) == delivery_id
    assert DeliveryId.parse(str(delivery_id.uuid())) == delivery_id
    assert delivery_id.text() == str(delivery_id.uuid())
    whole = DeliveryId(delivery_id.stream_id, delivery_id.position)
    assert ids.without_try(delivery_id.text()) == whole.text()


@given(delivery_ids, delivery_ids)
def test_two_deliveries_never_share_an_id(one: DeliveryId, other: DeliveryId) -> None:
    assert (one.uuid() == other.uuid()) == (one == other)


def test_a_foreign_id_parses_to_nothing() -> None:
    for value in (
        "9f1c2a34-5b6d-4e8f-a012-3456789abcde",
        UUID("c232ab00-9414-11ec-b3c8-9f6bdeced846"),
        "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        str(UUID(int=0)),
        "01420000-0001-8000-c000-000000000000",  # our version, another variant
        "010001-8c2f-ses-message-id",
        "17",
        "",
    ):
        assert DeliveryId.parse(value) is None, value
    for text in ("", "x", "00000000-0000-4000-8000-000000000000", "A" * 36):
        assert ids.without_try(text) is None, text


def test_what_does_not_fit_is_refused() -> None:
    for delivery_id, complaint in (
        (DeliveryId(2**48, 0), "stream 281474976710656, position 0 do not fit"),
        (DeliveryId(-1, 0), "stream -1"),
        (DeliveryId(0, 2**50), "position 1125899906842624"),
        (DeliveryId(0, -1), "position -1"),
        (DeliveryId(0, 0, 2**24), "try 16777216 does not fit"),
        (DeliveryId(0, 0, -1), "try -1"),
    ):
        with pytest.raises(ValueError, match=complaint):
            delivery_id.uuid()


@pytest.mark.django_db
def test_the_database_makes_the_same_id_and_reads_it_back() -> None:
    for delivery_id in EDGES:
        parts = [delivery_id.stream_id, delivery_id.position, delivery_id.try_number]

        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT id, delivery_stream(id), delivery_position(id)"
                " FROM delivery_uuid(%s, %s, %s) AS id",
                parts,
            )
            [row] = cursor.fetchall()

        assert row == (delivery_id.uuid(), delivery_id.stream_id, delivery_id.position)


def test_a_stream_id_starts_with_its_month() -> None:
    for moment, name in (
        (datetime(2000, 1, 1, tzinfo=UTC), "2000-01"),
        (datetime(2026, 11, 30, 23, 59, 59, 999999, tzinfo=UTC), "2026-11"),
        (datetime(2026, 12, 1, tzinfo=UTC), "2026-12"),
        (datetime(2027, 1, 1, tzinfo=UTC), "2027-01"),
    ):
        month = ids.month_of(moment)
        first, last = ids.first_stream_of(month), ids.first_stream_of(month + 1) - 1

        assert ids.month_name(month) == name
        assert {ids.month_of_stream(first), ids.month_of_stream(last)} == {month}, name
