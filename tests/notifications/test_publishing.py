"""Publishing: all events of a request or none, and once for each key."""

from datetime import timedelta
from functools import partial

import pytest

from postledger.notifications.events import publishing
from postledger.notifications.events.publishing import (
    EventConflictError,
    InvalidEventError,
    NewEvent,
    PublishedEvent,
)
from postledger.notifications.models import Event, Topic
from postledger.notifications.topics import matching, topics
from tests.notifications import seats
from tests.notifications.seats import NOW
from tests.races import collide

pytestmark = pytest.mark.django_db


def _publish(topic: Topic, *events: NewEvent) -> list[PublishedEvent]:
    return publishing.publish_events(topic, events, actor="registrar", now=NOW)


def test_an_event_is_stored_with_what_the_fan_out_needs() -> None:
    topic = seats.topic()
    [published] = _publish(topic, seats.event("a"))
    event = Event.objects.get(pk=published.id)
    assert event.data == seats.OPENED
    expected = matching.list_match_digests(seats.FIELDS, seats.OPENED)
    assert [bytes(digest) for digest in event.match_digests] == expected
    assert event.expires_at == NOW + timedelta(days=1)
    assert len(event.trace_id) == 32


def test_a_repeated_key_is_one_event_and_with_other_content_a_conflict() -> None:
    topic = seats.topic()
    [first] = _publish(topic, seats.event("b"))
    again, twin, other = _publish(topic, seats.event("b"), seats.event("b"), seats.event("a"))
    assert again.id < other.id, "ids follow the order of the request, whatever the keys"
    assert (again.id, again.trace_id, again.is_repeat) == (first.id, first.trace_id, True)
    assert twin == again
    assert not other.is_repeat
    for key in ("a", "c"):
        with pytest.raises(EventConflictError):
            _publish(topic, seats.event("c"), seats.event(key, statusAfter="Closed"))
    assert Event.objects.count() == 2


def test_one_event_that_does_not_fit_the_schema_refuses_all() -> None:
    topic = seats.topic()
    with pytest.raises(InvalidEventError) as refused:
        _publish(topic, seats.event(), seats.event(indexNumber="ten"), NewEvent({"termId": "x"}))
    # One for each event, whose other flaws are seen when that one is mended.
    assert [issue.index for issue in refused.value.issues] == [1, 2]
    assert refused.value.issues[0].place == "data.indexNumber"
    assert not Event.objects.exists()


def test_what_cannot_be_stored_is_refused() -> None:
    topic = seats.topic()
    for event in (
        seats.event("\0"),
        seats.event("k" * 301),
        seats.event(notes="\0"),
        seats.event(notes="x" * 20_000),
        NewEvent(seats.OPENED, trace_id=""),
    ):
        with pytest.raises(InvalidEventError):
            _publish(topic, event)


def test_the_dedupe_key_is_that_of_the_match_and_the_status() -> None:
    topic = seats.topic()
    first, same, closed, section, given = _publish(
        topic,
        seats.event(),
        seats.event(sectionNumber="03"),
        seats.event(statusAfter="Closed"),
        seats.event(indexNumber="10024"),
        NewEvent(seats.OPENED, dedupe_key="mine"),
    )
    assert first.dedupe_key == same.dedupe_key
    assert len({event.dedupe_key for event in (first, closed, section, given)}) == 4
    assert given.dedupe_key == "mine"


def test_the_time_to_live_runs_from_the_event_and_never_from_the_future() -> None:
    topic = seats.topic(ttl_seconds=3600)
    early, late = NOW - timedelta(minutes=50), NOW + timedelta(days=9)
    old, future = _publish(topic, seats.event(occurred_at=early), seats.event(occurred_at=late))
    assert old.expires_at == NOW + timedelta(minutes=10)
    assert future.expires_at == NOW + timedelta(hours=1)


def test_an_archived_topic_takes_no_events() -> None:
    topic = seats.topic()
    archived = topics.archive_topic(topic.workspace_id, key="seats", actor="bob")
    with pytest.raises(topics.TopicArchivedError):
        _publish(archived, seats.event())


@pytest.mark.django_db(transaction=True)
def test_the_same_events_published_at_once_in_other_orders_are_stored_once() -> None:
    topic = seats.topic()
    keys = [f"k{number}" for number in range(40)]

    def publish(turn: int) -> list[PublishedEvent]:
        ordered = keys if turn % 2 else keys[::-1]
        return _publish(topic, *(seats.event(key) for key in ordered))

    answers = collide.together([partial(publish, turn) for turn in range(5)])
    assert Event.objects.filter(topic=topic).count() == 40
    assert len({event.id for answer in answers for event in answer}) == 40
    assert sum(not event.is_repeat for answer in answers for event in answer) == 40
