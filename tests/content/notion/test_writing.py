"""Rows of Notion are written in the types of their table, and never added twice by a retry."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from postledger.content.notion import writing
from postledger.content.notion.api import (
    NotionPageNotFoundError,
    NotionRateLimitedError,
    NotionRequestRefusedError,
    NotionUnauthorizedError,
    NotionUnreachableError,
)
from postledger.content.notion.writing import DataSource, Writer
from postledger.lib.errors import RefusedError
from tests.content.notion import stage
from tests.content.notion.stage import Time
from tests.fakes.notion import ApiError, FakeNotion, Fault, text_of
from tests.fakes.notion_pages import Schema, number

NINE = datetime(2026, 11, 15, 9, tzinfo=UTC)
ERRORS = Schema(
    database_id="aaaaaaaa-0000-4000-8000-000000000001",
    data_source_id="bbbbbbbb-0000-4000-8000-000000000001",
    properties={"Error": "title", "code": "select"},
)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def writer(fake: FakeNotion, time: Time) -> Iterator[Writer]:
    fake.add_database(ERRORS)
    with stage.reading(fake, time=time) as reader:
        yield reader.writer()


def test_a_value_has_the_form_of_its_property_or_is_left_out() -> None:
    cases: list[tuple[str, writing.Value, object]] = [
        ("number", 5, {"number": 5}),
        ("status", "Send", {"status": {"name": "Send"}}),
        ("select", "a,b", {"select": {"name": "a b"}}),
        ("select", "", None),
        ("date", NINE, {"date": {"start": "2026-11-15T09:00:00+00:00"}}),
        ("email", "a@example.com", {"email": "a@example.com"}),
        ("email", "", {"email": None}),
        ("number", "five", None),
        ("date", "today", None),
        ("formula", 5, None),
    ]
    for kind, value, shape in cases:
        properties = writing.write_properties({"Sent Count": kind}, {"sent_count": value})

        assert properties == ({} if shape is None else {"Sent Count": shape}), (kind, value)


def read_text(written: Any, kind: str) -> object:
    return written[kind][0]["text"]["content"]


def test_any_value_can_be_a_text_of_the_length_that_notion_takes() -> None:
    for kind in ["title", "rich_text"]:
        texts = {
            value: read_text(writing.write_properties({"a": kind}, {"A": value})["a"], kind)
            for value in (5, NINE, "x" * 3_000)
        }

        assert texts == {
            5: "5",
            NINE: "2026-11-15T09:00:00+00:00",
            "x" * 3_000: "x" * writing.LONGEST,
        }, kind


def test_a_row_is_added_under_its_title_and_found_by_it(fake: FakeNotion, writer: Writer) -> None:
    table = writer.table(ERRORS.database_id)
    assert table == DataSource(ERRORS.data_source_id, ERRORS.properties)
    before = writer.has(table, "one")

    writer.add(table, "one", {"code": "subject_required", "email": "a@example.com"})

    [row] = fake.rows(ERRORS.data_source_id)
    assert text_of(row["properties"], "Error") == "one"
    assert (before, writer.has(table, "one"), writer.has(table, "two")) == (False, True, False)
    fake.databases[ERRORS.database_id]["data_sources"] = []
    with pytest.raises(NotionPageNotFoundError, match="not a linked view"):
        writer.table(ERRORS.database_id)


def test_a_row_is_asked_for_again_only_where_notion_did_nothing_for_sure(
    fake: FakeNotion, writer: Writer, time: Time
) -> None:
    table = writer.table(ERRORS.database_id)
    fake.limit_rate(2, retry_after="1")

    writer.add(table, "one", {})

    assert len(fake.created) == 1
    assert time.slept.count(1.0) == 2


def test_a_row_that_may_be_there_is_not_asked_for_again(fake: FakeNotion, writer: Writer) -> None:
    table = writer.table(ERRORS.database_id)

    for count, status in enumerate((500, 502, 409), start=1):
        fake.after_create = partial(fail, status)
        with pytest.raises(NotionUnreachableError):
            writer.add(table, "one", {})

        assert len(fake.created) == count, status


def fail(status: int) -> None:
    raise ApiError(status, "internal_server_error", "Sorry.")


def test_what_changes_nothing_the_second_time_is_asked_for_again(
    fake: FakeNotion, writer: Writer
) -> None:
    page_id = fake.add_page(properties={"Sent Count": number(None)})
    table = writer.table(ERRORS.database_id)
    fake.fail(2)
    # What the row has no properties for is named.
    assert writer.update(page_id, {"sent_count": 3, "sent_at": NINE}) == ["sent_at"]
    fake.fail(2)

    assert not writer.has(table, "one")
    assert "'number': 3" in str(fake.pages[page_id])


def test_no_refusal_of_notion_shows_what_was_written(fake: FakeNotion, writer: Writer) -> None:
    table = writer.table(ERRORS.database_id)
    refusals: dict[int, type[RefusedError]] = {
        400: NotionRequestRefusedError,
        401: NotionUnauthorizedError,
        403: NotionUnauthorizedError,
        404: NotionPageNotFoundError,
        429: NotionRateLimitedError,
        503: NotionUnreachableError,
    }
    for status, refusal in refusals.items():
        fake.faults.clear()
        fake.faults.extend([Fault(status, "code", "You sent bob@example.com", "600")] * 9)

        with pytest.raises(refusal) as refused:
            writer.add(table, "bob@example.com", {})

        assert "bob" not in str(refused.value), status
