"""That the fake keeps what is written to it, as later tests will ask."""

import logging
from collections.abc import Iterator
from contextlib import closing

import pytest
from notion_client import Client
from notion_client.client import ClientOptions
from notion_client.errors import APIResponseError

from tests.fakes.notion import TOKEN, FakeNotion
from tests.fakes.notion_pages import Schema, number, title

ERRORS = Schema(
    database_id="aaaaaaaa-0000-4000-8000-000000000001",
    data_source_id="bbbbbbbb-0000-4000-8000-000000000001",
    properties={"Name": "title", "code": "rich_text"},
)


@pytest.fixture
def notion(fake: FakeNotion) -> Iterator[Client]:
    quiet = logging.getLogger("notion_client")
    options = ClientOptions(
        auth=TOKEN,
        base_url=fake.url,
        notion_version="2026-03-11",
        retry=False,
        logger=quiet,
        log_level=logging.CRITICAL,
    )
    with closing(Client(options)) as client:
        yield client


def test_a_row_that_is_updated_reads_as_updated(fake: FakeNotion, notion: Client) -> None:
    page_id = fake.add_page(properties={"Name": title("x"), "sent_count": number(None)})

    notion.pages.update(page_id, properties={"sent_count": {"number": 5}})

    page = fake.pages[page_id]
    assert page["properties"] == {
        "Name": title("x"),
        "sent_count": {"id": "n%3E", "type": "number", "number": 5},
    }


def test_a_row_that_is_added_is_kept(fake: FakeNotion, notion: Client) -> None:
    fake.add_database(ERRORS)

    notion.databases.retrieve(ERRORS.database_id)
    notion.data_sources.retrieve(ERRORS.data_source_id)
    notion.pages.create(
        parent={"type": "data_source_id", "data_source_id": ERRORS.data_source_id},
        properties={"Name": {"title": [{"text": {"content": "x"}}]}},
    )

    [page_id] = fake.created
    assert "Name" in str(fake.pages[page_id]["properties"])


def test_a_property_that_does_not_exist_is_refused(fake: FakeNotion, notion: Client) -> None:
    page_id = fake.add_page(properties={"Name": title("x")})

    with pytest.raises(APIResponseError, match="not a property"):
        notion.pages.update(page_id, properties={"count": {"number": 5}})
