"""Topics and events in numbers, as lists of them show it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.contacts import sql

MOST_COUNTED = 10_000  # of one topic or event in a list; a page of its own counts all


@dataclass(frozen=True, slots=True)
class TopicRow:
    key: str
    name: str
    template: str
    is_archived: bool
    subscriptions: int  # up to one more than MOST_COUNTED
    last_event_at: datetime | None
    has_trouble: bool  # an event of it cannot be planned


_TOPICS: LiteralString = """
SELECT list.key, list.name, topic.template, list.archived_at IS NOT NULL,
       (SELECT count(*) FROM (
           SELECT FROM notifications_topicsubscription
           WHERE topic_id = topic.id AND state <> 'unsubscribed' LIMIT %(most)s + 1
       ) AS counted),
       (SELECT received_at FROM notifications_event
        WHERE topic_id = topic.id ORDER BY id DESC LIMIT 1),
       EXISTS (SELECT FROM notifications_event
               WHERE topic_id = topic.id AND planned_at IS NULL AND trouble <> '')
FROM notifications_topic AS topic JOIN contacts_list AS list ON list.id = topic.list_id
WHERE topic.workspace_id = %(workspace)s
ORDER BY list.archived_at IS NOT NULL, list.key COLLATE "C"
LIMIT %(limit)s
"""


def list_topics(workspace_id: int, *, limit: int) -> list[TopicRow]:
    """The topics of a workspace by key, archived ones last."""
    params = {"workspace": workspace_id, "most": MOST_COUNTED, "limit": limit}
    return [TopicRow(*row) for row in sql.rows(_TOPICS, params)]


_NOTIFICATIONS: LiteralString = """
SELECT event.id, (SELECT count(*) FROM (
    SELECT FROM notifications_notification WHERE event_id = event.id LIMIT %(most)s + 1
) AS counted)
FROM unnest(%(events)s::bigint[]) AS event (id)
"""


def count_notifications(event_ids: Sequence[int]) -> dict[int, int]:
    """How many notifications each event has, up to one more than MOST_COUNTED."""
    params = {"events": list(event_ids), "most": MOST_COUNTED}
    return dict(sql.rows(_NOTIFICATIONS, params))
