"""Tells the subscriptions that match an event, chunk by chunk; after a crash it resumes.

The cursor is committed with the notifications and deliveries of its chunk: all subscriptions up to
it have their notification, and none after it. Events of one topic see each other's notifications,
because a chunk is planned with the topic's row locked.
"""

import threading
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import structlog
from django.db import connection, transaction
from django.db.models import Min, OuterRef, Subquery
from django.db.models.functions import Now

from postledger.lib import database_outage, wake
from postledger.lib.errors import RefusedError
from postledger.notifications.fan_out import chunks
from postledger.notifications.fan_out.chunks import ContactChangedError
from postledger.notifications.models import Event, Topic
from postledger.notifications.topics import letters as topic_letters
from postledger.notifications.topics import streams as topic_streams
from postledger.notifications.topics.letters import TopicText

CHUNK = 10_000

_BROKEN = (
    "internal_error: The subscriptions of this event cannot be told. The worker's log says why."
    " Planning is retried continually until the event expires."
)
# The next second's task finds this one at work.
_busy = threading.Lock()
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    """A chunk that was committed: whether it has mail for workers, and whether it was the last."""

    stream_id: int | None
    has_mail: bool
    is_last: bool


def plan_all() -> None:
    """Plans all unplanned events, unless this process does so already.

    Workspaces take turns: each has one chunk of its oldest event. Events are looked for anew after
    each turn, so a new one waits for no more than one chunk of every other workspace.
    """
    if not _busy.acquire(blocking=False):
        return
    try:
        done = set[int]()  # also those in trouble, and those that another process has
        while event_ids := _list_next(done):
            done.update(event_id for event_id in event_ids if not _plan_part(event_id))
    finally:
        _busy.release()


def _list_next(done: Collection[int]) -> list[int]:
    """The oldest unplanned event of each workspace, but for these."""
    unplanned = Event.objects.filter(planned_at=None).exclude(pk__in=done)
    if not unplanned.exists():
        return []
    of_topic = unplanned.filter(topic=OuterRef("pk")).order_by("pk").values("pk")[:1]
    topics = Topic.objects.annotate(oldest=Subquery(of_topic)).exclude(oldest=None)
    return list(
        topics.values("workspace_id")
        .annotate(next=Min("oldest"))
        .order_by("next")
        .values_list("next", flat=True)
    )


def _plan_part(event_id: int) -> bool:
    """Plans one chunk, and wakes a worker for it; False if there is nothing more to plan now.

    An unreachable database fails every event and is raised. Any other error is this event's
    trouble.
    """
    try:
        chunk = plan_next_chunk(event_id)
    except RefusedError as error:
        _store_trouble(event_id, f"{error.code}: {error}")
        return False
    except Exception as error:  # a broken event must not stop the others
        if database_outage.is_away(error):
            raise
        _log.exception("event_not_planned", event_id=event_id)
        _store_trouble(event_id, _BROKEN)
        return False
    if chunk is None:
        return False
    if chunk.has_mail and chunk.stream_id is not None:
        wake.notify(chunk.stream_id)
    return not chunk.is_last


def plan_next_chunk(event_id: int, *, size: int = CHUNK) -> PlannedChunk | None:
    """Plans one chunk as a whole or not at all; None if there is nothing to plan now.

    A locked event, or one of a locked topic, is left to the process that has it.
    """
    with transaction.atomic():
        unlocked = Event.objects.select_for_update(no_key=True, skip_locked=True)
        event = unlocked.filter(pk=event_id, planned_at=None).first()
        if event is None:
            return None
        topics = Topic.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
        topic = topics.select_related("list", "sender").filter(pk=event.topic_id).first()
        if topic is None:
            return None
        now = _set_up_planning()
        text = None
        if event.expires_at > now and not topic.is_by_job:
            text = _read_text(event, topic)
        if event.expires_at > now:
            _pin(event, topic, text)
        try:
            with transaction.atomic():
                chunk = chunks.plan_chunk(event, topic, text, size=size, now=now)
        except ContactChangedError:
            return PlannedChunk(event.stream_id, has_mail=False, is_last=False)
        is_last = chunk.given < size
        Event.objects.filter(pk=event.pk).update(
            cursor=max(chunk.last_id, event.cursor),
            planned_at=Now() if is_last else None,
            trouble="",
            trouble_since=None,
        )
    return PlannedChunk(event.stream_id, has_mail=chunk.added > 0, is_last=is_last)


def _set_up_planning() -> datetime:
    """Returns the time by the database's clock, after every lock: all processes plan by it."""
    with connection.cursor() as cursor:
        # Compiling these statements takes longer than executing them.
        cursor.execute("SET LOCAL jit = off")
        # A chunk grows the tables that it looks rows up in: for the planner these are still empty.
        cursor.execute("SET LOCAL enable_seqscan = off")
        # The default is a little too small for the rows of a chunk, which would go to a file.
        cursor.execute("SET LOCAL work_mem = '32MB'")
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def _read_text(event: Event, topic: Topic) -> TopicText:
    """All chunks of an event have the text of its first one, whatever its topic says by then."""
    pinned = event if event.template else topic
    return topic_letters.read_text(topic, template=pinned.template, version=pinned.template_version)


def _pin(event: Event, topic: Topic, text: TopicText | None) -> None:
    if event.stream_id is None:
        event.stream_id = topic_streams.find_stream(topic)
    if text is not None and not event.template:
        event.template, event.template_version = topic.template, text.version.number
    event.save(update_fields=["stream_id", "template", "template_version"])


def _store_trouble(event_id: int, trouble: str) -> None:
    """Keeps the time since when planning has had this trouble; planning is retried continually."""
    events = Event.objects.filter(pk=event_id).exclude(trouble=trouble)
    events.update(trouble=trouble, trouble_since=Now())
