"""Reads topic subscriptions with the status that counts for them now."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from postledger.contacts import sql
from postledger.contacts.consent import Preferences
from postledger.lib.ids import LAST_ID
from postledger.notifications.models import Topic
from postledger.notifications.states import TopicSubscriptionState
from postledger.notifications.subscriptions import standing
from postledger.notifications.subscriptions.standing import SubscriptionStatus
from postledger.notifications.subscriptions.subscriptions import TopicSubscriptionUnknownError


@dataclass(frozen=True, slots=True)
class SubscriptionFacts:
    """A topic subscription; without a contact, the person was deleted or erased."""

    id: int
    topic: str
    contact_id: int | None
    address: str | None
    match: Mapping[str, str]
    status: SubscriptionStatus
    state: TopicSubscriptionState  # its own
    preferences: Preferences  # its own
    snooze_until: datetime | None  # that counts: its own or the list's
    created_at: datetime
    changed_at: datetime


# Filtered by the topic's index or by the primary key, which the planner takes into the query.
_SELECT: LiteralString = (
    """
SELECT own.id, list.key, standing.contact_id, standing.address, own.match,
       CASE WHEN standing.contact_id IS NULL THEN 'unsubscribed' ELSE standing.status END,
       own.state, own.notify_on, own.max_notifications, own.window_from, own.window_until,
       own.snooze_until, own.locale, standing.snooze_until, own.created_at, own.changed_at
FROM notifications_topicsubscription AS own
JOIN ("""
    + standing.STANDING
    + """) AS standing ON standing.subscription_id = own.id
JOIN notifications_topic AS topic ON topic.id = own.topic_id
JOIN contacts_list AS list ON list.id = topic.list_id
WHERE topic.workspace_id = %(workspace)s
"""
)
_BY_ID: LiteralString = " AND own.id = %(id)s"
_OF_CONTACT: LiteralString = " AND own.contact_id = %(contact)s ORDER BY list.key, own.id"
_OF_TOPIC: LiteralString = " AND own.topic_id = %(topic)s AND own.id < %(before)s"
_WITH_CONTACT: LiteralString = " AND own.contact_id = %(contact)s"
_WITH_STATUS: LiteralString = (
    " AND CASE WHEN standing.contact_id IS NULL THEN 'unsubscribed' ELSE standing.status END"
    " = %(status)s"
)
_NEWEST: LiteralString = " ORDER BY own.id DESC LIMIT %(limit)s"


def get_subscription(workspace_id: int, subscription_id: int) -> SubscriptionFacts:
    for facts in _read(_SELECT + _BY_ID, workspace_id, {"id": subscription_id}):
        return facts
    raise TopicSubscriptionUnknownError(f"There is no topic subscription {subscription_id}.")


def list_of_contact(workspace_id: int, *, contact_id: int) -> list[SubscriptionFacts]:
    """All of one contact's, by topic; served by notifications_subscription_once."""
    return _read(_SELECT + _OF_CONTACT, workspace_id, {"contact": contact_id})


def list_of_topic(
    topic: Topic,
    *,
    status: SubscriptionStatus | None = None,
    contact_id: int | None = None,
    before: int = LAST_ID,
    limit: int,
) -> Sequence[SubscriptionFacts]:
    """A page of a topic's subscriptions, the newest first."""
    statement = _SELECT + _OF_TOPIC
    if contact_id is not None:
        statement += _WITH_CONTACT
    if status is not None:
        statement += _WITH_STATUS
    params = {
        "topic": topic.pk,
        "contact": contact_id,
        "status": status,
        "before": before,
        "limit": limit,
    }
    return _read(statement + _NEWEST, topic.workspace_id, params)


def _read(
    statement: LiteralString, workspace_id: int, params: Mapping[str, Any]
) -> list[SubscriptionFacts]:
    given = {**standing.make_params(workspace_id), **params}
    return [_make_facts(row) for row in sql.rows(statement, given)]


def _make_facts(row: sql.Row) -> SubscriptionFacts:
    id_, topic, contact_id, address, match, status, state, *others = row
    notify_on, most, start, end, own_snooze, locale, snooze_until, created_at, changed_at = others
    return SubscriptionFacts(
        id=id_,
        topic=topic,
        contact_id=contact_id,
        address=address,
        match=json.loads(match) if isinstance(match, str) else match,
        status=SubscriptionStatus(status),
        state=TopicSubscriptionState(state),
        preferences=Preferences(
            None if notify_on is None else tuple(notify_on),
            most,
            start,
            end,
            own_snooze,
            locale or None,
        ),
        snooze_until=snooze_until,
        created_at=created_at,
        changed_at=changed_at,
    )
