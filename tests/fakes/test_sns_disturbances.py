"""Events are lost, repeated, overtaken, delayed and held on demand, and each is accounted for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes import ses
from tests.fakes.sns import Sink
from tests.fakes.wire import PATIENCE
from tools.drill.waiting import until
from tools.fakes.events.event_books import EventBooks
from tools.fakes.http import journal
from tools.fakes.http.journal import Journal
from tools.fakes.http.server import serving_in_thread
from tools.fakes.ses import set_up
from tools.fakes.ses.events import reported_mail
from tools.fakes.ses.events.reported_mail import ReportedMail
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import Service

MAILS = 30


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def fake(path: Path, sink: Sink) -> Iterator[FakeSes]:
    """With a journal; its retries come soon."""
    service = Service(journal=Journal(path))
    service.account.add_identities(ses.DOMAIN)
    service.publisher.fanout.retry_seconds = 0.02
    set_up.connect(service.account, "events", ["main"], [sink.url])
    with serving_in_thread(FakeSes(service)) as fake:
        yield fake


def put(fake: FakeSes, name: str, **fields: object) -> Any:
    url = f"{fake.endpoint}/_fake/{name}"
    return httpx.put(url, json=fields, trust_env=False).raise_for_status().json()


def send(client: Any, count: int = MAILS) -> None:
    for number in range(count):
        client.send_email(**ses.mail(f"r{number}@example.com", ConfigurationSetName="main"))


def wait_for_the_end(fake: FakeSes) -> None:
    until(lambda: fake.service.publisher.waiting == 0, seconds=PATIENCE, every=0.01)


def read_books(fake: FakeSes, path: Path) -> EventBooks[ReportedMail]:
    """The journal of events that have all ended."""
    wait_for_the_end(fake)
    fake.run(fake.service.record_set_up())  # is written after all else
    return reported_mail.read_books(path)


def test_lost_events_never_arrive_and_the_journal_names_each(
    fake: FakeSes, client: Any, sink: Sink, path: Path
) -> None:
    put(fake, "events", loss=0.5, seed=3)
    send(client)

    books = read_books(fake, path)
    arrived = {event["mail"]["messageId"] for event in sink.events()}
    assert books.counts["lost"] + len(sink.posts) == 2 * MAILS
    assert 0 < books.counts["lost"] < 2 * MAILS
    assert books.counts["delivered"] == books.counts["published"] == len(sink.posts)
    assert set(books.mails) - arrived == set(books.list_unreported()) != set()
    assert len(list(journal.read_mails(path))) == MAILS
    assert books.count_unfinished() == 0


def test_a_message_is_posted_four_times_at_most_and_once_after_a_4xx(
    fake: FakeSes, client: Any, sink: Sink, path: Path
) -> None:
    sink.status = 503
    send(client, 1)
    books = read_books(fake, path)
    assert (len(sink.posts), books.counts["failed"], books.counts["delivered"]) == (8, 2, 0)
    assert books.list_unreported() == list(books.mails)
    assert {event["why"] for event in journal.read_events(path) if "why" in event} == {
        "given up after 4 tries: status 503"
    }

    sink.status = 403
    send(client, 1)
    books = read_books(fake, path)
    assert (len(sink.posts), books.counts["declined"]) == (10, 2)
    assert books.list_unreported() == list(books.mails)
