"""A person sees what topics know of them, and is forgotten there too."""

import json

import pytest

from postledger.contacts.consent import Origin, Preferences
from postledger.notifications.models import Event, Notification, TopicSubscription
from postledger.notifications.subscriptions import queries as subscription_queries
from postledger.notifications.subscriptions import subscriptions
from postledger.notifications.topics import matching
from postledger.privacy import erasure, export
from tests.contacts import people
from tests.notifications import seats
from tests.notifications.seats import NOW

pytestmark = pytest.mark.django_db

MATCH = {"indexNumber": "10023"}


def _subscribe() -> tuple[int, int]:
    """The workspace, and a subscription that was told of one event."""
    topic = seats.topic()
    contact_id = people.contact(topic.workspace_id)
    subscription_id = subscriptions.subscribe(
        topic,
        contact_id=contact_id,
        match=MATCH,
        preferences=Preferences(max_notifications=3, locale="pt"),
        origin=Origin("test", "test"),
        now=NOW,
    )
    event = Event.objects.create(
        topic=topic,
        data={},
        digest=b"",
        dedupe_key="d",
        occurred_at=NOW,
        expires_at=NOW,
        actor="test",
        match_digests=[],
    )
    Notification.objects.create(
        event=event,
        subscription_id=subscription_id,
        dedupe_key="d",
        end="skipped",
        code="subscription_pending",
    )
    return topic.workspace_id, subscription_id


def test_an_export_has_the_topic_subscriptions_and_what_was_told() -> None:
    workspace_id, subscription_id = _subscribe()
    document = json.loads(export.export(workspace_id, address=people.R1, now=NOW))
    [shown] = document["topic_subscriptions"]
    assert (shown["id"], shown["topic"], shown["match"]) == (subscription_id, "seats", MATCH)
    assert shown["preferences"]["max_notifications"] == 3
    assert [item["code"] for item in shown["notifications"]] == ["subscription_pending"]


def test_an_erasure_leaves_the_fan_out_and_nobody_in_it() -> None:
    workspace_id, subscription_id = _subscribe()
    erasure.erase(workspace_id, address=people.R1, actor="alice", now=NOW)
    row = TopicSubscription.objects.get(pk=subscription_id)
    assert (row.contact_id, row.max_notifications, row.locale) == (None, None, "")
    assert row.match == {}
    assert bytes(row.match_digest) not in {matching.digest_match(each) for each in (MATCH, {})}
    facts = subscription_queries.get_subscription(workspace_id, subscription_id)
    assert (facts.status, facts.address) == ("unsubscribed", None)
    assert Notification.objects.filter(subscription=row).exists()
    document = json.loads(export.export(workspace_id, address=people.R1, now=NOW))
    assert document["topic_subscriptions"] == []
