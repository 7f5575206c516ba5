"""A page shows what was reported of its mails, where it has properties for it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postledger.campaigns.models import Mailout
from postledger.campaigns.notion import status_reports
from postledger.campaigns.notion.feedback_counts import FOLLOWED_FOR, WRITTEN_EVERY
from postledger.campaigns.runs import run_control
from postledger.deliveries import entries
from tests import cast
from tests.campaigns import mailouts
from tests.deliveries.models import StreamDelta
from tests.fakes import notion_pages as pages
from tests.fakes.notion import FakeNotion
from tests.web.callers import Caller

pytestmark = pytest.mark.django_db


def tell(*, after: timedelta = timedelta(0)) -> None:
    run_control.end_finished_runs()
    status_reports.report_all(datetime.now(UTC) + after)


def send(fake: FakeNotion, alice: Caller, *, has_properties: bool = True) -> tuple[str, int]:
    """A page that was mailed and told so, and the stream of its run."""
    names = ("Delivered count", "Bounced count") if has_properties else ()
    properties = {**mailouts.row(), **{name: pages.number(None) for name in names}}
    page_id = mailouts.page(fake, properties=properties)
    run = mailouts.send_and_plan(alice, page_id)
    cast.book(run.stream_id, lambda at: entries.accepted(at, message_id=f"m{at}"))
    tell()
    return page_id, run.stream_id


def read_counts(fake: FakeNotion, page_id: str) -> tuple[int | None, int | None]:
    properties: Any = fake.pages[page_id]["properties"]
    return properties["Delivered count"]["number"], properties["Bounced count"]["number"]


def test_the_counts_follow_the_reports_and_are_written_once_in_a_while(
    fake: FakeNotion, alice: Caller
) -> None:
    page_id, stream_id = send(fake, alice)
    before = read_counts(fake, page_id)

    StreamDelta.objects.create(stream_id=stream_id, delivered=2, reported=2)
    tell()
    first = read_counts(fake, page_id)
    asked = len(fake.requests)
    StreamDelta.objects.create(stream_id=stream_id, bounced=1, reported=1)
    tell()
    soon, asked_soon = read_counts(fake, page_id), len(fake.requests)
    tell(after=WRITTEN_EVERY)

    assert (before, first, soon) == ((None, None), (2, 0), (2, 0))
    assert asked_soon == asked
    assert read_counts(fake, page_id) == (2, 1)
    assert mailouts.read_page_row(fake, page_id)["status"] == "Send"


def test_nothing_is_asked_of_notion_without_a_new_report_or_after_some_days(
    fake: FakeNotion, alice: Caller
) -> None:
    _, stream_id = send(fake, alice)
    asked = len(fake.requests)

    tell(after=WRITTEN_EVERY)
    StreamDelta.objects.create(stream_id=stream_id, delivered=2, reported=2)
    tell(after=FOLLOWED_FOR)

    assert len(fake.requests) == asked


def test_a_page_without_the_properties_is_no_trouble(fake: FakeNotion, alice: Caller) -> None:
    page_id, stream_id = send(fake, alice, has_properties=False)
    row = mailouts.read_page_row(fake, page_id)

    StreamDelta.objects.create(stream_id=stream_id, delivered=2, reported=2)
    tell()

    assert mailouts.read_page_row(fake, page_id) == row
    assert not Mailout.objects.get().trouble
