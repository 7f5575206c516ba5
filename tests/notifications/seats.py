"""A topic about seats in courses, the people who wait for one, and events about them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from postledger.notifications.events.publishing import NewEvent
from postledger.notifications.models import Topic
from postledger.notifications.topics import topics
from postledger.notifications.topics.topics import TopicFields
from tests import cast

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)
FIELDS = ("termId", "campusCode", "indexNumber")
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": [
        *("termId", "campusCode", "indexNumber", "statusAfter"),
        *("courseTitle", "courseString", "sectionIndex", "sectionNumber", "meetingSummary"),
    ],
    "properties": {"indexNumber": {"type": "string", "pattern": "^[0-9]{5}$"}},
}
OPENED: Mapping[str, Any] = {
    "termId": "2026-fall",
    "campusCode": "NB",
    "indexNumber": "10023",
    "statusAfter": "Open",
    "courseTitle": "Data Structures",
    "courseString": "01:198:112",
    "sectionIndex": "10023",
    "sectionNumber": "02",
    "meetingSummary": "Mon 10:20",
}


def fields(**changes: Any) -> TopicFields:
    sound = {
        "name": "Open seats",
        "template": "open-seat",
        "event_schema": SCHEMA,
        "match_fields": FIELDS,
    }
    return TopicFields(**{**sound, **changes})


def topic(workspace: str = "acme", key: str = "seats", **changes: Any) -> Topic:
    workspace_id = cast.sender(workspace).workspace_id
    return topics.create_topic(workspace_id, key=key, fields=fields(**changes), actor="alice")


def event(key: str | None = None, *, occurred_at: datetime | None = None, **data: Any) -> NewEvent:
    return NewEvent({**OPENED, **data}, key=key, occurred_at=occurred_at)
