"""Topics on the dashboard: their events, who was told, who was not and why, and who subscribed."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import NewDelivery, StreamKind
from postledger.notifications.models import Event, Notification, Topic, TopicSubscription
from postledger.notifications.states import FanOutEnd, Skip
from tests import cast as books
from tests.notifications import cast
from tests.web.callers import Caller
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.usefixtures("furnished")


@pytest.fixture
def topic(alice: Caller) -> Topic:
    return cast.add_topic(alice.workspace_id)


def tell(event: Event, *subscriptions: TopicSubscription) -> int:
    """Plans a notification for each, as the fan-out does; returns the stream."""
    stream_id = books.stream(StreamKind.TOPIC)
    rows = [
        Notification.objects.create(
            event=event, subscription=one, dedupe_key=event.dedupe_key, is_planned=True
        )
        for one in subscriptions
    ]
    ledger.enqueue(
        stream_id,
        [NewDelivery(f"told-{row.pk}@example.com", dedupe_key=str(row.pk)) for row in rows],
    )
    Event.objects.filter(pk=event.pk).update(stream_id=stream_id, planned_at=datetime.now(UTC))
    return stream_id


def test_topics_are_listed_with_their_subscriptions_and_what_cannot_be_told(
    anna: Person, topic: Topic
) -> None:
    cast.subscribe_all(topic, ["ann", "bob"])
    cast.subscribe(topic, "cy", state="unsubscribed")
    trouble = "content_unknown: This workspace has no template 'gone'."
    event = cast.event(topic, trouble=trouble, trouble_since=datetime.now(UTC))

    text = anna.read("topics/")

    assert f'href="/w/{anna.workspace_id}/topics/open-seats/">Open seats</a>' in text
    assert re.search(r'data-label="Subscriptions">2<', text)
    assert "An event cannot be told." in text
    for path in ("topics/open-seats/", f"topics/open-seats/events/{event.pk}/"):
        assert "content_unknown" in anna.read(path)


def test_a_topic_lists_its_events_page_by_page(anna: Person, topic: Topic) -> None:
    events = [cast.event(topic, key=f"e{number}").pk for number in range(51)]

    newest = anna.read("topics/open-seats/")
    [before] = re.findall(r'href="\?before=(\d+)"', newest)
    older = anna.read("topics/open-seats/", before=before)

    def listed(text: str) -> list[int]:
        return [int(number) for number in re.findall(r'/events/(\d+)/"', text)]

    assert listed(newest) + listed(older) == events[::-1]
    assert "Being told" in newest


def test_the_fan_out_of_an_event_balances_and_explains_every_skip(
    anna: Person, topic: Topic
) -> None:
    event = cast.event(topic)
    told = cast.subscribe_all(topic, ["ann", "bob"])
    stream_id = tell(event, *told)
    books.book(stream_id, lambda position: entries.accepted(position, message_id="m"))
    for name, skip in {"cy": Skip.PAUSED, "dee": Skip.NOT_WANTED}.items():
        Notification.objects.create(
            event=event,
            subscription=cast.subscribe(topic, name),
            dedupe_key=event.dedupe_key,
            end=FanOutEnd.SKIPPED,
            code=skip,
        )

    text = anna.read(f"topics/open-seats/events/{event.pk}/")
    skipped = anna.read(f"topics/open-seats/events/{event.pk}/", state="skipped", code="notify_on")

    assert re.search(r'Planned</th><td role="cell"><a class="num" href="[^"?]+">4</a>', text)
    assert re.search(r'href="[^"?]+\?state=accepted">2</a>', text)
    assert "The subscription is paused." in text
    assert "The person does not want to hear of this status." in text
    assert "dee@example.com" in skipped
    assert "cy@example.com" not in skipped
    assert "told-" not in skipped


def test_subscriptions_are_found_by_address_with_what_holds_for_them(
    anna: Person, topic: Topic
) -> None:
    snooze = datetime.now(UTC) + timedelta(days=3)
    cast.subscribe(topic, "ann", window_from=540, window_until=1080, max_notifications=3)
    cast.subscribe(topic, "bob", snooze_until=snooze)
    cast.subscribe(topic, "cy", consent={"state": "pending"})

    everyone = anna.read("topics/open-seats/subscriptions/")
    ann = anna.read("topics/open-seats/subscriptions/", q="ANN@example.com")
    nobody = anna.read("topics/open-seats/subscriptions/", q="ann")

    assert re.findall(r"(\w+)@example.com<", everyone) == ["cy", "bob", "ann"]
    assert "Not confirmed yet" in everyone
    assert "a break until" in everyone
    assert re.findall(r"(\w+)@example.com<", ann) == ["ann"]
    assert "09:00–18:00" in ann  # noqa: RUF001  the dash of a range
    assert "at most 3" in ann
    assert "Nobody with this address" in nobody


def test_another_workspaces_topic_is_not_listed(anna: Person, settings: Settings) -> None:
    cast.topic(settings, workspace="umbrella", key="theirs")

    assert "theirs" not in anna.read("topics/")
