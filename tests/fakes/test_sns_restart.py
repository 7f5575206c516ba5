"""After a kill the fake finds what was set up, and finishes the events of accepted mail."""

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes import ses, sns
from tests.fakes.processes import FakeProcess
from tests.fakes.sns import Sink
from tools.drill.waiting import until
from tools.fakes.ses.events import reported_mail

MAILS = 12


def set_everything_up(fake: FakeProcess, sink: Sink) -> None:
    """By the API alone, as `postledger ses connect --create` does."""
    client, sns_client = ses.connect(fake.endpoint), sns.connect(fake.endpoint)
    topic_arn = sns_client.create_topic(Name="events")["TopicArn"]
    sns_client.subscribe(TopicArn=topic_arn, Protocol="http", Endpoint=sink.url)
    [asked] = sink.wait(1)
    sns_client.confirm_subscription(TopicArn=topic_arn, Token=asked.envelope["Token"])
    client.create_configuration_set(ConfigurationSetName="main")
    client.create_configuration_set_event_destination(
        ConfigurationSetName="main",
        EventDestinationName="sns",
        EventDestination={
            "Enabled": True,
            "MatchingEventTypes": ["SEND", "DELIVERY"],
            "SnsDestination": {"TopicArn": topic_arn},
        },
    )
    sink.wait(2)
    sink.posts.clear()


def send(fake: FakeProcess, first: int) -> list[str]:
    client = ses.connect(fake.endpoint)
    return [
        client.send_email(**ses.mail(f"r{number}@example.com", ConfigurationSetName="main"))[
            "MessageId"
        ]
        for number in range(first, first + MAILS)
    ]


def show_events(fake: FakeProcess) -> Any:
    return httpx.get(f"{fake.endpoint}/_fake/events", trust_env=False).json()


def wait_for_the_end(fake: FakeProcess) -> None:
    until(lambda: show_events(fake)["counts"]["waiting"] == 0, seconds=60)
    fake.process.send_signal(signal.SIGTERM)
    fake.process.wait()


def disturb(fake: FakeProcess, **fields: object) -> None:
    url = f"{fake.endpoint}/_fake/events"
    httpx.put(url, json=fields, trust_env=False).raise_for_status()


@pytest.mark.slow
def test_every_event_of_accepted_mail_arrives_although_the_fake_is_killed(
    tmp_path: Path, sink: Sink
) -> None:
    """The kill meets events that arrived, events that wait, and events that are tried again."""
    path = tmp_path / "journal"
    with ses.running(journal=path) as fake:
        set_everything_up(fake, sink)
        disturb(fake, delay=0.5, delay_seconds=600)
        accepted = send(fake, 0)
        sink.wait(1)
        sink.status = 503
        accepted += send(fake, MAILS)
        fake.process.send_signal(signal.SIGKILL)
        fake.process.wait()
    assert len({post.envelope["Message"] for post in sink.posts}) < 4 * MAILS
    sink.status = 200

    with ses.running(journal=path) as fake:
        assert show_events(fake)["delay"] == 0.5
        disturb(fake)
        accepted += send(fake, 2 * MAILS)
        wait_for_the_end(fake)

    facts = {post.envelope["Message"] for post in sink.posts}
    events = Counter(
        (event["mail"]["messageId"], event["eventType"]) for event in map(json.loads, facts)
    )
    assert set(events) == {(name, kind) for name in accepted for kind in ("Send", "Delivery")}
    books = reported_mail.read_books(path)
    assert (books.count_unfinished(), books.list_unreported()) == (0, [])
