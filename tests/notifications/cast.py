"""Topics, their subscribers and their events, as rows: for tests of what comes after them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pytest_django import Settings

from postledger.contacts.models import Contact, List, Subscription
from postledger.contacts.states import ListKind
from postledger.notifications.models import Event, Topic, TopicSubscription
from postledger.notifications.topics import matching
from tests.campaigns import press

MATCH = {"termId": "92026", "campusCode": "NB", "indexNumber": "10001"}
# What the template open-seat and S4's events have, without the links.
DATA = {
    **MATCH,
    "statusBefore": "Closed",
    "statusAfter": "Open",
    "courseTitle": "Data Structures",
    "courseString": "01:198:112",
    "sectionIndex": "10001",
    "sectionNumber": "01",
    "meetingSummary": "Mon 10:20",
    "eventAt": "2026-11-18T10:00:00Z",
}


def topic(
    settings: Settings, *, workspace: str = "acme", key: str = "open-seats", **fields: Any
) -> Topic:
    """A topic of a new workspace, which has a footer and a sender of the sandbox."""
    return add_topic(press.set_up_workspace(settings, workspace), key=key, **fields)


def add_topic(workspace_id: int, *, key: str = "open-seats", **fields: Any) -> Topic:
    consents = List.objects.create(
        workspace_id=workspace_id, key=key, name="Open seats", kind=ListKind.TOPIC.value
    )
    given = {"template": "open-seat", "match_fields": [*MATCH], **fields}
    created = Topic.objects.create(workspace_id=workspace_id, list=consents, **given)
    return Topic.objects.get(pk=created.pk)


def subscribe(
    of: Topic,
    name: str,
    *,
    match: Mapping[str, str] = MATCH,
    contact: Mapping[str, Any] | None = None,
    consent: Mapping[str, Any] | None = None,
    **fields: Any,
) -> TopicSubscription:
    """A contact `name`@example.com that confirmed the topic's list, and what it wants of the topic.

    Called again, it gives the same contact one more match.
    """
    person, _ = Contact.objects.get_or_create(
        workspace_id=of.workspace_id,
        address=f"{name}@example.com",
        defaults={"name": name.title(), **(contact or {})},
    )
    Subscription.objects.get_or_create(
        contact=person, list_id=of.list_id, defaults={"state": "active", **(consent or {})}
    )
    digest = matching.digest_match(match)
    created = TopicSubscription.objects.create(
        topic=of, contact=person, match=dict(match), match_digest=digest, **fields
    )
    return TopicSubscription.objects.get(pk=created.pk)


def subscribe_all(of: Topic, names: Sequence[str], **fields: Any) -> list[TopicSubscription]:
    return [subscribe(of, name, **fields) for name in names]


def event(of: Topic, *, data: Mapping[str, Any] = DATA, **fields: Any) -> Event:
    """An event that was published and not planned yet; received now, by the test's clock."""
    now = datetime.now(UTC)
    given = {
        "data": dict(data),
        "digest": b"",
        "dedupe_key": "seat-10001",
        "occurred_at": now,
        "received_at": now,
        "expires_at": now + timedelta(seconds=of.ttl_seconds),
        "actor": "alice",
        "match_digests": matching.list_match_digests(of.match_fields, data),
        **fields,
    }
    created = Event.objects.create(topic=of, **given)
    return Event.objects.get(pk=created.pk)
