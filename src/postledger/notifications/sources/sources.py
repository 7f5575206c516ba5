"""A workspace's sources of events: created, changed, archived, and the snapshots that they take."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from postledger.accounts import constraints, trail
from postledger.accounts.models import Workspace
from postledger.contacts import details
from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point
from postledger.lib.errors import ConflictError, NotFoundError, RefusedError
from postledger.lib.values import KEY_PATTERN
from postledger.notifications.events import publishing
from postledger.notifications.events.publishing import NewEvent, PublishedEvent
from postledger.notifications.models import Source
from postledger.notifications.sources import snapshots, source_items
from postledger.notifications.sources.snapshots import Change, Reading, Snapshot
from postledger.notifications.topics import event_schemas, topics
from postledger.providers import url_reading

MOST_SOURCES = 100  # of a workspace, without archived ones
MOST_ID_FIELDS = 6
MOST_FIELDS = 50
LONGEST_INTERVAL = 86_400  # seconds
# The clock of the machine that takes snapshots may be ahead of ours by this.
MOST_AHEAD = timedelta(minutes=1)
_PATH = re.compile(r"(?:[^.\x00-\x1f]{1,100}(?:\.[^.\x00-\x1f]{1,100}){0,9})?")
_MOST_NAMED = 3  # items in a trouble
_USUAL_PORTS = frozenset({80, 443})


class SourceUnknownError(NotFoundError):
    code = "source_unknown"


class SourceExistsError(ConflictError):
    code = "source_exists"


class SourceArchivedError(ConflictError):
    code = "source_archived"


class TooManySourcesError(ConflictError):
    code = "too_many_sources"


class InvalidSourceError(RefusedError):
    code = "invalid_event_source"


class SnapshotOutdatedError(ConflictError):
    code = "snapshot_outdated"


@dataclass(frozen=True, slots=True)
class SourceFields:
    """A source as a caller wants it; its key and its topic never change."""

    id_fields: Sequence[str]
    watched_field: str
    fields: Mapping[str, str] = field(default_factory=dict)
    url: str = ""  # empty: snapshots are posted
    interval_seconds: int = 60
    items_path: str = ""  # of the array in the answer; empty: it is one


class SnapshotResult(StrEnum):
    """What a snapshot was compared with the one before it."""

    BASELINE = "baseline"  # the first: nothing to compare it with
    UNCHANGED = "unchanged"  # the same as the last one
    COMPARED = "compared"


@dataclass(frozen=True, slots=True)
class TakenSnapshot:
    hash: str
    result: SnapshotResult
    events: Sequence[PublishedEvent] = ()
    trouble: str = ""  # names the changes that are no events of the topic


def create_source(
    workspace_id: int, *, key: str, topic: str, fields: SourceFields, actor: str
) -> Source:
    """Creates a source of a topic's events; its first snapshot will be the baseline."""
    if not re.fullmatch(KEY_PATTERN, key):
        raise InvalidSourceError(
            f"{key[:64]!r} cannot be the key of a source: use up to 64 lowercase letters, digits"
            " and hyphens, not beginning with a hyphen."
        )
    _check(fields)
    try:
        of = topics.get_topic(workspace_id, topic)
    except topics.TopicUnknownError as unknown:
        raise InvalidSourceError(str(unknown)) from None
    topics.refuse_archived(of)
    exists = SourceExistsError(f"The source {key!r} exists already. Choose another key.")
    with constraints.refusing(notifications_source_once=exists):
        _refuse_too_many(workspace_id)
        Source.objects.create(workspace_id=workspace_id, topic=of, key=key, **_columns(fields))
        trail.note(workspace_id, actor=actor, action="source.created", subject=f"source {key}")
    return get_source(workspace_id, key)


def _refuse_too_many(workspace_id: int) -> None:
    """The lock lets nobody count or create at the same time."""
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
    used = Source.objects.filter(workspace_id=workspace_id, archived_at=None)
    if used.count() >= MOST_SOURCES:
        raise TooManySourcesError(
            f"The workspace has {MOST_SOURCES} sources. Archive those that are not needed, or read"
            " more items by one of them."
        )


def change_source(workspace_id: int, *, key: str, changes: Mapping[str, Any], actor: str) -> Source:
    """Changes some fields; with other items, or another watched field, it begins anew."""
    with transaction.atomic():
        source = _lock(workspace_id, key)
        _refuse_archived(source)
        before = read_fields(source)
        after = replace(before, **changes)
        if after == before:
            return source
        _check(after)
        Source.objects.filter(pk=source.pk).update(
            **_columns(after), next_poll_at=Now(), trouble="", trouble_since=None
        )
        if _identity(after) != _identity(before):
            _begin_anew(source)
        trail.note(
            workspace_id,
            actor=actor,
            action="source.changed",
            subject=f"source {key}",
            data={"fields": [*changes]},
        )
    return get_source(workspace_id, key)


def archive_source(workspace_id: int, *, key: str, actor: str) -> Source:
    """Ends polling and snapshots; events that were published stay."""
    with transaction.atomic():
        source = _lock(workspace_id, key)
        if source.archived_at is None:
            Source.objects.filter(pk=source.pk).update(
                archived_at=Now(), trouble="", trouble_since=None
            )
            source_items.forget_all(source)
            trail.note(workspace_id, actor=actor, action="source.archived", subject=f"source {key}")
    return get_source(workspace_id, key)


def list_sources(workspace_id: int, *, after: str = "", limit: int) -> list[Source]:
    """The sources after a key, in the order of keys, archived ones too."""
    return list(_select(workspace_id).filter(key__gt=after).order_by("key")[:limit])


def get_source(workspace_id: int, key: str) -> Source:
    source = _select(workspace_id).filter(key=key).first()
    if source is None:
        raise _unknown(key)
    return source


def take_snapshot(
    source: Source, items: Sequence[object], *, taken_at: datetime, now: datetime
) -> TakenSnapshot:
    """Publishes an event for each item whose watched field changed, and remembers the items.

    Both or neither: after a crash the same snapshot makes the same events, and none of them twice.
    One snapshot of a source at a time; one that is older than the last is refused. A change that is
    no event of the topic is left out: its item keeps the old value and is compared again, and the
    source's trouble names it until then.
    """
    if taken_at > now + MOST_AHEAD:
        raise snapshots.InvalidSnapshotError(
            f"The snapshot says that it was taken at {taken_at.isoformat()}, which is in the"
            " future. Correct the clock of the machine that takes snapshots."
        )
    snapshot = snapshots.read_snapshot(items, describe_reading(source))
    with transaction.atomic():
        locked = Source.objects.select_for_update(no_key=True, of=("self",)).get(pk=source.pk)
        _refuse_archived(locked)
        _refuse_other_reading(source, locked)
        taken = _take(locked, snapshot, taken_at, now)
        crashpoints.reached(Point.IN_SNAPSHOT)
    return taken


def _take(source: Source, snapshot: Snapshot, taken_at: datetime, now: datetime) -> TakenSnapshot:
    last = source.last_snapshot_at
    if last is not None and snapshot.hash == source.snapshot_hash:
        _note_taken(source, snapshot.hash, max(last, taken_at), trouble="")
        return TakenSnapshot(snapshot.hash, SnapshotResult.UNCHANGED)
    if last is not None and taken_at <= last:
        raise SnapshotOutdatedError(
            f"The snapshot was taken at {taken_at.isoformat()}, and the source {source.key!r} has"
            f" one of {last.isoformat()}. It was not taken: send newer ones."
        )
    known = source_items.read_values(source)
    changes = snapshots.list_changes(known, snapshot)
    made = _make_events(source, changes, snapshot, min(taken_at, now))
    flaws = _find_flaws(source, made)
    events = _publish(source, [event for key, event in made.items() if key not in flaws], now)
    items = [
        item
        for item in snapshot.items.values()
        if known.get(item.key) != item.value and item.key not in flaws
    ]
    source_items.remember(source, items, taken_at)
    source_items.forget_missing(source, snapshot.items, taken_at)
    trouble = _write_trouble(flaws)
    # Without its hash the same snapshot is compared again.
    _note_taken(source, "" if flaws else snapshot.hash, taken_at, trouble=trouble)
    result = SnapshotResult.BASELINE if last is None else SnapshotResult.COMPARED
    return TakenSnapshot(snapshot.hash, result, events, trouble)


def _make_events(
    source: Source, changes: Sequence[Change], snapshot: Snapshot, taken_at: datetime
) -> dict[str, NewEvent]:
    """The event of each change, by the key of its item."""
    reading, who = describe_reading(source), (source.pk, source.key)
    return {
        change.item.key: replace(
            snapshots.make_event(
                change, reading, source=who, hash_=snapshot.hash, taken_at=taken_at
            ),
            unchanged_at=source.last_snapshot_at,
        )
        for change in changes
    }


def _find_flaws(source: Source, events: Mapping[str, NewEvent]) -> dict[str, str]:
    """The first flaw of each event that its topic refuses, by the key of its item."""
    validator = event_schemas.compile_schema(source.topic.event_schema)
    flaws: dict[str, str] = {}
    for key, event in events.items():
        for place, detail in publishing.find_flaws(validator, event):
            flaws.setdefault(key, f"{place}: {detail}")
    return flaws


def _write_trouble(flaws: Mapping[str, str]) -> str:
    if not flaws:
        return ""
    named = "; ".join(f"{key[:64]} ({flaw})" for key, flaw in list(flaws.items())[:_MOST_NAMED])
    return (
        f"{len(flaws):,} changed items are no events of the topic, and were left out: {named}."
        " Correct the fields of the source or the schema of the topic; they are compared again."
    )


def _publish(source: Source, events: Sequence[NewEvent], now: datetime) -> list[PublishedEvent]:
    topic = source.topic
    published: list[PublishedEvent] = []
    for first in range(0, len(events), publishing.MOST_EVENTS):
        part = events[first : first + publishing.MOST_EVENTS]
        published += publishing.publish_events(topic, part, actor=f"source {source.key}", now=now)
    return published


def _note_taken(source: Source, hash_: str, taken_at: datetime, *, trouble: str) -> None:
    since = (source.trouble_since or taken_at) if trouble else None
    Source.objects.filter(pk=source.pk).update(
        last_snapshot_at=taken_at, snapshot_hash=hash_, trouble=trouble, trouble_since=since
    )


def describe_reading(source: Source) -> Reading:
    return Reading(source.id_fields, source.watched_field, source.fields, source.topic.status_field)


def read_fields(source: Source) -> SourceFields:
    return SourceFields(
        id_fields=tuple(source.id_fields),
        watched_field=source.watched_field,
        fields=source.fields,
        url=source.url,
        interval_seconds=source.interval_seconds,
        items_path=source.items_path,
    )


def check_url(url: str, inside_hosts: Collection[str]) -> None:
    """Refuses what no worker may ask: other hosts than public ones are the operator's to allow."""
    try:
        parts = url_reading.split_url(url)
    except ValueError:
        raise InvalidSourceError(
            "The url cannot be asked: write it as https://registrar.example/sections."
        ) from None
    if is_inside(url, inside_hosts):
        return
    if parts.scheme != "https":
        raise InvalidSourceError(
            f"The url begins with http, and {parts.netloc} is not one of the SOURCE_HOSTS of this"
            " installation: use https, or have its operator add the host."
        )
    if parts.port not in {None, *_USUAL_PORTS}:
        raise InvalidSourceError(
            f"The url names the port {parts.port}, and {parts.netloc} is not one of the"
            " SOURCE_HOSTS of this installation: leave the port out, or have its operator add the"
            " host with the port."
        )


def is_inside(url: str, inside_hosts: Collection[str]) -> bool:
    """Whether the operator allows the host of a URL, wherever it is.

    One without a port is allowed at the usual ones: what else listens on it was not meant.
    """
    parts = url_reading.split_url(url)
    is_usual = parts.port is None or parts.port in _USUAL_PORTS
    return parts.netloc.lower() in inside_hosts or (is_usual and parts.hostname in inside_hosts)


def _check(fields: SourceFields) -> None:
    names = [*fields.id_fields, fields.watched_field, *fields.fields, *fields.fields.values()]
    for name in names:
        if not details.is_key(name):
            raise InvalidSourceError(
                f"{name[:64]!r} cannot be a field: use 1 to {details.LONGEST_KEY} visible"
                " characters."
            )
    if not 1 <= len(fields.id_fields) <= MOST_ID_FIELDS:
        raise InvalidSourceError(f"Name 1 to {MOST_ID_FIELDS} id_fields.")
    if len(fields.fields) > MOST_FIELDS:
        raise InvalidSourceError(f"Name at most {MOST_FIELDS} fields.")
    if not 1 <= fields.interval_seconds <= LONGEST_INTERVAL:
        raise InvalidSourceError(f"interval_seconds must be between 1 and {LONGEST_INTERVAL}.")
    if not _PATH.fullmatch(fields.items_path):
        raise InvalidSourceError("Write items_path as names with dots, such as data.sections.")
    if fields.url:
        check_url(fields.url, settings.SOURCE_HOSTS)


def _columns(fields: SourceFields) -> dict[str, Any]:
    return {**asdict(fields), "id_fields": list(fields.id_fields), "fields": dict(fields.fields)}


def _identity(fields: SourceFields) -> tuple[tuple[str, ...], str]:
    """What the known items are told by: values of other fields cannot be compared with theirs."""
    return tuple(fields.id_fields), fields.watched_field


def _begin_anew(source: Source) -> None:
    source_items.forget_all(source)
    Source.objects.filter(pk=source.pk).update(last_snapshot_at=None, snapshot_hash="")


def _select(workspace_id: int) -> QuerySet[Source]:
    return Source.objects.filter(workspace_id=workspace_id).select_related("topic__list")


def _lock(workspace_id: int, key: str) -> Source:
    sources = _select(workspace_id).select_for_update(no_key=True, of=("self",))
    source = sources.filter(key=key).first()
    if source is None:
        raise _unknown(key)
    return source


def _refuse_archived(source: Source) -> None:
    if source.archived_at is not None:
        raise SourceArchivedError(
            f"The source {source.key!r} is archived and takes no snapshots. Create another one."
        )


def _refuse_other_reading(read: Source, locked: Source) -> None:
    """Somebody has changed the source while the snapshot was fetched, or on its way."""
    if read_fields(read) != read_fields(locked):
        raise SnapshotOutdatedError(
            f"The source {locked.key!r} was changed meanwhile. Send the snapshot again."
        )


def _unknown(key: str) -> SourceUnknownError:
    return SourceUnknownError(f"There is no source {key[:64]!r}. Create it first.")
