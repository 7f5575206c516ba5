"""Topics: what can become one, and what may change."""

from functools import partial
from typing import Any

import pytest

from postledger.contacts import lists
from postledger.contacts.lists import ListExistsError
from postledger.lib.errors import RefusedError
from postledger.notifications.models import Topic, TopicSubscription
from postledger.notifications.topics import topics
from postledger.notifications.topics.event_schemas import InvalidSchemaError
from postledger.notifications.topics.topics import InvalidTopicError, TopicUnknownError
from tests import cast
from tests.notifications import seats

pytestmark = pytest.mark.django_db


def test_a_topic_comes_with_the_list_that_its_recipients_consent_to() -> None:
    topic = seats.topic()
    row = lists.list_all(topic.workspace_id).get(key="seats")
    assert (topic.list_id, row.kind, row.name) == (row.pk, "topic", "Open seats")
    assert (topic.dedupe_seconds, topic.ttl_seconds, topic.notify_on) == (180, 86_400, ["Open"])
    with pytest.raises(ListExistsError):
        seats.topic()
    with pytest.raises(TopicUnknownError):
        topics.get_topic(cast.sender("globex").workspace_id, "seats")


def test_a_topic_of_which_no_mail_can_be_made_is_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"template": "nothing"}, "not found"),
        ({"template_version": 9}, "no version 9"),
        ({"event_schema": {}}, "needs courseTitle"),
        ({"match_fields": tuple("abcdefg")}, "at most 6"),
        ({"match_fields": ("a", "a")}, "each of them once"),
        ({"match_fields": ("",)}, "visible characters"),
        ({"notify_on": ("\0",)}, "visible characters"),
        ({"fallback_locale": "de"}, "it has en, pt, ru"),
        ({"dedupe_seconds": -1}, "between 0"),
        ({"ttl_seconds": 59}, "between 60"),
        ({"sender": "news@globex.example"}, "not a sender"),
    ]
    for changes, words in cases:
        cast.sender("globex")
        with pytest.raises(RefusedError, match=words):
            seats.topic(**changes)
        assert not Topic.objects.exists(), changes


def test_what_is_no_schema_or_refers_elsewhere_is_refused() -> None:
    cases: list[dict[str, Any]] = [
        {"type": "objekt"},
        {"$ref": "https://example.com/schema.json"},
        {"properties": {"a": {"$ref": "#"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"properties": {"a": {"pattern": "(?=a)"}}},
        {"description": "x" * 8_192},
        {"pattern": "(?:a{1000}){100}"},
        {"allOf": [{"pattern": "a"}] * 51},
        {"patternProperties": {f"a{number}": {} for number in range(51)}},
        {"description": "\0"},
    ]
    for schema in cases:
        with pytest.raises(InvalidSchemaError):
            seats.topic(event_schema=schema, is_by_job=True)


def test_a_topic_by_job_needs_no_variables_in_its_events() -> None:
    assert seats.topic(event_schema={}, is_by_job=True).is_by_job


def test_a_change_reaches_the_list_and_an_archived_topic_only_after_it_is_restored() -> None:
    topic = seats.topic()
    change = partial(topics.change_topic, topic.workspace_id, key="seats", actor="bob")
    changed = change(changes={"name": "Seats", "ttl_seconds": 60})
    assert (changed.list.name, changed.ttl_seconds, changed.template) == ("Seats", 60, "open-seat")
    for _ in range(2):
        topics.archive_topic(topic.workspace_id, key="seats", actor="bob")
    with pytest.raises(topics.TopicArchivedError):
        change(changes={"name": "Free seats"})
    topics.restore_topic(topic.workspace_id, key="seats", actor="bob")
    assert change(changes={"name": "Free seats"}).list.name == "Free seats"


def test_a_field_that_subscriptions_match_on_stays() -> None:
    topic = seats.topic()
    TopicSubscription.objects.create(
        topic=topic, match={"campusCode": "NB"}, match_digest=b"digest"
    )
    changes = {"match_fields": ("termId", "indexNumber")}
    with pytest.raises(topics.TopicInUseError, match="campusCode"):
        topics.change_topic(topic.workspace_id, key="seats", changes=changes, actor="bob")
    unused = {"match_fields": ("campusCode", "subject")}
    changed = topics.change_topic(topic.workspace_id, key="seats", changes=unused, actor="bob")
    assert changed.match_fields == ["campusCode", "subject"]


def test_a_sender_of_the_workspace_is_taken() -> None:
    sender = cast.sender()
    assert seats.topic(sender=sender.address).sender == sender
    with pytest.raises(InvalidTopicError):
        topics.change_topic(
            sender.workspace_id, key="seats", changes={"template": "x"}, actor="bob"
        )
