"""Events are lost, repeated, overtaken, delayed and held on demand, and each is accounted for."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes import ses
from tests.fakes.sns import Sink
from tests.fakes.wire import PATIENCE
from tools.drill.waiting import until
from tools.fakes.events.disturbances import Disturbances, Fate
from tools.fakes.events.event_books import EventBooks
from tools.fakes.events.publisher import SendRate
from tools.fakes.http import journal
from tools.fakes.http.journal import Journal
from tools.fakes.http.server import serving_in_thread
from tools.fakes.ses import set_up
from tools.fakes.ses.events import reported_mail
from tools.fakes.ses.events.outcomes import Outcome, Shares, choose_outcome
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


def test_repeated_events_come_in_the_same_message_or_in_another(
    fake: FakeSes, client: Any, sink: Sink
) -> None:
    put(fake, "events", duplication=1.0)
    send(client)
    wait_for_the_end(fake)

    posts = list(sink.posts)
    messages = Counter(post.envelope["MessageId"] for post in posts)
    assert len(posts) == 4 * MAILS
    assert Counter(messages.values()).keys() == {1, 2}
    assert set(Counter(post.envelope["Message"] for post in posts).values()) == {2}


def test_events_wait_while_publishing_is_paused(fake: FakeSes, client: Any, sink: Sink) -> None:
    assert put(fake, "events", is_paused=True)["is_paused"]
    send(client, 3)
    assert fake.service.publisher.waiting == 6
    assert sink.posts == []

    shown = put(fake, "events", is_paused=False)

    assert shown["counts"]["waiting"] == 6
    sink.wait(6)


def test_an_event_that_waits_is_overtaken() -> None:
    disturbances = Disturbances(disorder=0.5, disorder_seconds=2.0, delay=0.1, delay_seconds=9.0)

    waits = [disturbances.draw_wait(number) for number in range(1000)]

    assert 60 < waits.count(9.0) < 140
    assert 380 < sum(0 < wait <= 2.0 for wait in waits) < 520
    assert waits == [disturbances.draw_wait(number) for number in range(1000)]
    assert {Disturbances().draw_fate(number) for number in range(100)} == {Fate.ONCE}


def test_shares_of_the_addresses_meet_each_outcome() -> None:
    shares = Shares(bounced=0.06, complained=0.02, seed=5)
    addresses = [f"r{number}@example.com" for number in range(5000)]

    outcomes = [choose_outcome(name, shares, is_suppressed=False) for name in addresses]

    counts = Counter(outcomes)
    assert 240 < counts[Outcome.BOUNCED] < 360
    assert 60 < counts[Outcome.COMPLAINED] < 140
    assert counts.total() == sum(
        counts[outcome] for outcome in (Outcome.BOUNCED, Outcome.COMPLAINED, Outcome.DELIVERED)
    )
    assert outcomes == [choose_outcome(name, shares, is_suppressed=False) for name in addresses]


def test_reports_are_set_by_shares(fake: FakeSes, client: Any, sink: Sink) -> None:
    put(fake, "reports", bounced=1.0)
    send(client, 2)

    sink.wait(4)
    assert Counter(event["eventType"] for event in sink.events()) == {"Send": 2, "Bounce": 2}


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("events", {"loss": 1.1}),
        ("events", {"delay_seconds": -1}),
        ("events", {"lost": 0.5}),
        ("reports", {"bounced": 0.6, "complained": 0.6}),
        ("reports", {"bounced": -0.1}),
    ],
)
def test_what_does_not_fit_is_refused(fake: FakeSes, name: str, fields: dict[str, float]) -> None:
    answer = httpx.put(f"{fake.endpoint}/_fake/{name}", json=fields, trust_env=False)

    assert (answer.status_code, answer.json()["message"]) == (400, "The JSON does not fit.")


def test_a_message_is_posted_four_times_at_most_and_then_failed(
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


def test_a_message_that_failed_is_delivered_when_the_endpoint_is_back(
    fake: FakeSes, client: Any, sink: Sink
) -> None:
    fake.service.publisher.fanout.retry_seconds = 0.5
    sink.status = 500
    send(client, 1)
    sink.wait(2)
    sink.status = 200
    wait_for_the_end(fake)

    assert fake.service.publisher.counts["delivered"] == 2


def test_an_answer_of_4xx_is_the_end_as_for_sns(
    fake: FakeSes, client: Any, sink: Sink, path: Path
) -> None:
    sink.status = 403
    send(client, 1)

    books = read_books(fake, path)
    assert (len(sink.posts), books.counts["declined"]) == (2, 2)
    assert books.list_unreported() == list(books.mails)


def test_events_for_a_subscription_that_ended_are_failed(
    fake: FakeSes, client: Any, sns_client: Any, sink: Sink
) -> None:
    fake.service.publisher.fanout.retry_seconds = 600.0
    sink.status = 503
    send(client, 1)
    [topic] = fake.service.account.topics.by_arn.values()
    until(lambda: len(sink.posts) == 2, seconds=PATIENCE)

    sns_client.delete_topic(TopicArn=topic.arn)

    wait_for_the_end(fake)
    assert fake.service.publisher.counts["failed"] == 2


def test_events_that_nobody_listens_to_are_told_apart_from_lost_ones(
    fake: FakeSes, client: Any, sns_client: Any
) -> None:
    [topic] = fake.service.account.topics.by_arn.values()
    topic.subscriptions.clear()
    send(client, 1)
    wait_for_the_end(fake)

    assert fake.service.publisher.counts == {"unheard": 2}


def test_many_mails_are_told_from_few_and_from_none_after_many() -> None:
    rate = SendRate()
    for number in range(400):
        rate.add(10 + number / 1000)
    assert rate.is_high(10.4)
    assert not rate.is_high(11.0)
    for number in range(100):
        rate.add(12 + number / 100)
    assert not rate.is_high(13.0)
