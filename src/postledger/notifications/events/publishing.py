"""Publishes events of a topic: all of a request or none, and once for each key."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db import connection, transaction
from jsonschema_rs import Draft202012Validator

from postledger.lib import values
from postledger.lib.errors import MOST_ISSUES, ConflictError, RefusedError
from postledger.notifications.models import Event, Topic
from postledger.notifications.topics import event_schemas, matching, topics

MOST_EVENTS = 1_000
LARGEST_DATA = 16_384  # bytes of JSON
LONGEST_KEY = 300  # an idempotency key of 255 characters, and the number of the event
LONGEST_DEDUPE_KEY = 255
LONGEST_TRACE_ID = 128


@dataclass(frozen=True, slots=True)
class NewEvent:
    """Something that happened, as its publisher tells it."""

    data: Mapping[str, Any]
    key: str | None = None  # the publisher's own id; None: it is not repeated
    occurred_at: datetime | None = None  # None: now
    dedupe_key: str | None = None  # None: from the match fields and the status
    trace_id: str | None = None  # None: a new one
    # When a source was last seen before its change: an earlier copy of the database may have told
    # of it since then.
    unchanged_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PublishedEvent:
    """An event that is stored; a repeated one is as it was published first."""

    id: int
    key: str | None
    dedupe_key: str
    trace_id: str
    occurred_at: datetime
    expires_at: datetime
    is_repeat: bool


@dataclass(frozen=True, slots=True)
class EventIssue:
    index: int
    place: str
    detail: str


class InvalidEventError(RefusedError):
    """Events that do not fit their topic; nothing was published."""

    code = "invalid_event"

    def __init__(self, issues: Sequence[EventIssue]) -> None:
        self.issues = issues
        first = issues[0]
        super().__init__(f"events.{first.index}.{first.place}: {first.detail}")


class EventConflictError(ConflictError):
    code = "event_conflict"


def publish_events(
    topic: Topic, events: Sequence[NewEvent], *, actor: str, now: datetime
) -> list[PublishedEvent]:
    """Stores the events, all or none, in their order; the fan-out finds them by itself.

    An event whose key was published before with the same content is not stored again, also if
    both requests come at once. With other content it is a conflict.
    """
    topics.refuse_archived(topic)
    issues = list(_find_issues(topic, events))
    if issues:
        raise InvalidEventError(issues)
    rows = [_make_row(topic, event, actor, now) for event in events]
    first_rows = _choose_first(rows)
    with transaction.atomic():
        _number(first_rows)
        # In the order of keys: two requests with the same keys wait for each other only one way.
        Event.objects.bulk_create(
            sorted(first_rows, key=lambda row: row.key or ""), ignore_conflicts=True
        )
        stored = _find_stored(topic, first_rows)
    return [_describe(row, stored) for row in rows]


def _find_issues(topic: Topic, events: Sequence[NewEvent]) -> Iterator[EventIssue]:
    if not 1 <= len(events) <= MOST_EVENTS:
        yield EventIssue(0, "", f"Publish 1 to {MOST_EVENTS} events in one request.")
        return
    issue_count = 0
    validator = event_schemas.compile_schema(topic.event_schema)
    for index, event in enumerate(events):
        for place, detail in find_flaws(validator, event):
            yield EventIssue(index, place, detail)
            issue_count += 1
            if issue_count == MOST_ISSUES:
                return


def find_flaws(validator: Draft202012Validator, event: NewEvent) -> Iterator[tuple[str, str]]:
    """Yields why an event cannot be published, and where; `validator` is of its topic's schema."""
    texts = {
        "id": (event.key, LONGEST_KEY),
        "dedupe_key": (event.dedupe_key, LONGEST_DEDUPE_KEY),
        "trace_id": (event.trace_id, LONGEST_TRACE_ID),
    }
    for place, (text, longest) in texts.items():
        if text is not None and not (0 < len(text) <= longest and text.isprintable()):
            yield place, f"Use 1 to {longest} visible characters."
    flaw = values.find_flaw(event.data, most=LARGEST_DATA)
    if flaw:
        yield "data", flaw
        return
    difference = event_schemas.find_flaw(validator, event.data)
    if difference:
        yield difference


def _make_row(topic: Topic, event: NewEvent, actor: str, now: datetime) -> Event:
    occurred_at = event.occurred_at or now
    return Event(
        topic=topic,
        key=event.key,
        data=dict(event.data),
        digest=_digest(event.data, event.occurred_at, event.dedupe_key),
        trace_id=event.trace_id or uuid4().hex,
        dedupe_key=event.dedupe_key or make_dedupe_key(topic, event.data),
        occurred_at=occurred_at,
        received_at=now,
        expires_at=min(occurred_at, now) + timedelta(seconds=topic.ttl_seconds),
        unchanged_at=event.unchanged_at,
        actor=actor,
        match_digests=matching.list_match_digests(topic.match_fields, event.data),
    )


def make_dedupe_key(topic: Topic, data: Mapping[str, Any]) -> str:
    """The same for events of a topic about the same thing with the same status."""
    match = matching.read_match(topic.match_fields, data)
    return _digest(match, data.get(topic.status_field)).hex()[:32]


def _digest(*parts: object) -> bytes:
    text = json.dumps(parts, sort_keys=True, default=lambda moment: moment.isoformat())
    return hashlib.sha256(text.encode()).digest()


def _choose_first(rows: Sequence[Event]) -> list[Event]:
    """Leaves out repeats within the request."""
    first: dict[str, Event] = {}
    for row in rows:
        if row.key is not None:
            _refuse_other_content(row, first.setdefault(row.key, row))
    return [row for row in rows if row.key is None or first[row.key] is row]


_NUMBERS = (
    "SELECT nextval(pg_get_serial_sequence('notifications_event', 'id'))"
    " FROM generate_series(1, %s)"
)


def _number(rows: Sequence[Event]) -> None:
    """Gives the rows their ids beforehand: in the order of the request, not of keys."""
    with connection.cursor() as cursor:
        cursor.execute(_NUMBERS, [len(rows)])
        for row, (number,) in zip(rows, cursor.fetchall(), strict=True):
            row.pk = number


def _find_stored(topic: Topic, rows: Sequence[Event]) -> dict[str, Event]:
    """The events under the keys of these rows: the rows themselves, or earlier ones."""
    keys = [row.key for row in rows if row.key is not None]
    stored = {row.key or "": row for row in Event.objects.filter(topic=topic, key__in=keys)}
    for row in rows:
        if row.key is not None:
            _refuse_other_content(row, stored[row.key])
    return stored


def _refuse_other_content(row: Event, earlier: Event) -> None:
    if bytes(row.digest) != bytes(earlier.digest):
        raise EventConflictError(
            f"The event {row.key!r} was published before with other content. Nothing was published:"
            " give the new event an id of its own."
        )


def _describe(row: Event, stored: Mapping[str, Event]) -> PublishedEvent:
    event = row if row.key is None else stored[row.key]
    return PublishedEvent(
        id=event.pk,
        key=event.key,
        dedupe_key=event.dedupe_key,
        trace_id=event.trace_id,
        occurred_at=event.occurred_at,
        expires_at=event.expires_at,
        is_repeat=event.pk != row.pk,
    )
