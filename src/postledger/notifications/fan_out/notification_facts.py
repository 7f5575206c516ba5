"""One notification as people and programs read it: its status, and what it is about."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from postledger.contacts import sql
from postledger.lib.errors import NotFoundError
from postledger.lib.ids import DeliveryId


class NotificationUnknownError(NotFoundError):
    code = "notification_unknown"


@dataclass(frozen=True, slots=True)
class NotificationFacts:
    """The columns of the view `open_event_notifications`, with the event's topic and times."""

    id: int
    event_id: int
    subscription_id: int
    dedupe_key: str
    status: str
    attempts: int
    last_attempt_at: datetime | None
    locked_by: str | None
    locked_at: datetime | None
    error: Mapping[str, Any] | None
    topic: str
    workspace_id: int
    mail: DeliveryId | None
    end: str | None  # how it ended without a delivery
    end_code: str
    created_at: datetime
    expires_at: datetime
    address: str | None  # of the contact; None: the person is gone

    @property
    def mail_id(self) -> str | None:
        return self.mail.text() if self.mail else None


_FIND: LiteralString = """
SELECT shown.notification_id, shown.open_event_id, shown.subscription_id, shown.dedupe_key,
       shown.fanout_status, shown.fanout_attempts, shown.last_attempt_at, shown.locked_by,
       shown.locked_at, shown.error, list.key, shown.workspace_id, shown.stream_id,
       shown."position", n."end", n.code, n.created_at, event.expires_at, contact.address
FROM open_event_notifications AS shown
JOIN notifications_notification AS n ON n.id = shown.notification_id
JOIN notifications_event AS event ON event.id = shown.open_event_id
JOIN notifications_topic AS topic ON topic.id = shown.topic_id
JOIN contacts_list AS list ON list.id = topic.list_id
LEFT JOIN notifications_topicsubscription AS subscription ON subscription.id = n.subscription_id
LEFT JOIN contacts_contact AS contact
  ON contact.id = subscription.contact_id AND contact.deleted_at IS NULL
WHERE shown.notification_id = %(id)s
  AND (%(workspace)s::bigint IS NULL OR shown.workspace_id = %(workspace)s)
"""


def find_notification(
    notification_id: int, *, workspace_id: int | None = None
) -> NotificationFacts | None:
    """A notification of a workspace, or of any; None where there is none."""
    row = sql.first(_FIND, {"id": notification_id, "workspace": workspace_id})
    if row is None:
        return None
    *before, error, topic, owner, stream_id, position, end, code, created, expires, address = row
    # Django leaves jsonb as text to those who write their own SQL.
    read = json.loads(error) if isinstance(error, str) else error
    mail = None if stream_id is None else DeliveryId(stream_id, position)
    columns = (*before, read, topic, owner, mail, end, code, created, expires, address)
    return NotificationFacts(*columns)


def get_notification(notification_id: int, *, workspace_id: int) -> NotificationFacts:
    facts = find_notification(notification_id, workspace_id=workspace_id)
    if facts is None:
        raise NotificationUnknownError(f"The workspace has no notification {notification_id}.")
    return facts
