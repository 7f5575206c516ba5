"""What one contact was told of topics, or was not, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.contacts import sql
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId


@dataclass(frozen=True, slots=True)
class ContactNotification:
    """One event that matched a subscription of the contact; without a mail, none was planned."""

    event_id: int
    topic_key: str
    topic_name: str
    state: State
    code: str
    mail: DeliveryId | None
    created_at: datetime


# Served by notifications_subscription_once, and for each subscription by
# notifications_of_subscription; the line of the books is a look-up in deliveries_delivery_once.
_NEWEST: LiteralString = """
SELECT event.id, list.key, list.name, coalesce(told."end", delivery.state, 'waiting'),
       coalesce(nullif(told.code, ''), delivery.code, ''), event.stream_id, delivery.position,
       told.created_at
FROM notifications_topicsubscription AS subscription
JOIN notifications_topic AS topic
  ON topic.id = subscription.topic_id AND topic.workspace_id = %(workspace)s
JOIN contacts_list AS list ON list.id = topic.list_id
CROSS JOIN LATERAL (
    SELECT * FROM notifications_notification
    WHERE subscription_id = subscription.id AND created_at < %(until)s
    ORDER BY created_at DESC LIMIT %(limit)s
) AS told
JOIN notifications_event AS event ON event.id = told.event_id
LEFT JOIN deliveries_delivery AS delivery
  ON delivery.stream_id = event.stream_id AND delivery.dedupe_key = told.id::text
 AND told.is_planned
WHERE subscription.contact_id = %(contact)s
ORDER BY told.created_at DESC LIMIT %(limit)s
"""


def list_notifications(
    workspace_id: int, contact_id: int, *, until: datetime, limit: int
) -> Sequence[ContactNotification]:
    """The newest before a moment."""
    params = {"workspace": workspace_id, "contact": contact_id, "until": until, "limit": limit}
    return [_make_notification(row) for row in sql.rows(_NEWEST, params)]


def _make_notification(row: sql.Row) -> ContactNotification:
    event_id, key, name, state, code, stream_id, position, created_at = row
    mail = None if position is None else DeliveryId(stream_id, position)
    return ContactNotification(event_id, key, name, State(state), code, mail, created_at)
