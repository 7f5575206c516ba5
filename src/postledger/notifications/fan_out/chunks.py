"""One chunk of an event's fan-out: the notifications of some subscriptions, and their deliveries.

Three statements: subscriptions in groups that have the same fate, their notifications, and the
deliveries of those that are mailed. What PostgreSQL cannot decide, the next opening of a delivery
window and the letter of a language, is decided once for each group.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, repeat
from typing import Any, LiteralString

from django.db import connection
from psycopg import sql as pg
from psycopg.types.json import Jsonb

from postledger.deliveries import keyed, ledger, queries
from postledger.deliveries.reasons import Reason
from postledger.notifications.models import Event, Topic
from postledger.notifications.states import Failure, FanOutEnd, Skip
from postledger.notifications.subscriptions import windows
from postledger.notifications.subscriptions.standing import STANDING, make_params
from postledger.notifications.subscriptions.windows import Expired, GoNow, WaitUntil, Window
from postledger.notifications.topics import letters as topic_letters
from postledger.notifications.topics import topics
from postledger.notifications.topics.letters import TopicText


class ContactChangedError(Exception):
    """A contact was deleted between two statements: the chunk must start again."""


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """How many subscriptions a chunk had and how many deliveries it added, and its last id."""

    given: int
    added: int
    last_id: int


@dataclass(frozen=True, slots=True)
class Group:
    """Subscriptions of a chunk to which the same applies; with a code they are skipped."""

    code: str | None
    zone: str
    window: Window | None
    snooze_until: datetime | None
    locale: str
    subscription_ids: Sequence[int]
    contact_ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of the notifications of a group: an end, or mail, or they wait for their job."""

    end: FanOutEnd | None = None
    code: str = ""
    letter: int | None = None  # None: no mail
    due_at: datetime | None = None  # None: now
    reason: Reason = Reason.READY


@dataclass(frozen=True, slots=True)
class InsertedNotifications:
    """The ids of a chunk's notifications and of their subscriptions, as arrays of PostgreSQL."""

    ids: str | None
    subscription_ids: str | None


def plan_chunk(
    event: Event, topic: Topic, text: TopicText | None, *, size: int, now: datetime
) -> ChunkResult:
    """Plans the next subscriptions after the cursor. Commits with the caller's transaction.

    `text` is None where no mail can be made: the event has expired, or its mails come from jobs.
    """
    groups = _list_groups(event, topic, size=size, now=now)
    letters = _resolve_letters(event, topic, text, groups)
    is_cancelled = event.stream_id is not None and _is_cancelled(event.stream_id)
    fates = [
        decide(
            group,
            letters=letters,
            is_by_job=topic.is_by_job,
            is_cancelled=is_cancelled,
            expires_at=event.expires_at,
            now=now,
        )
        for group in groups
    ]
    inserted = _insert_notifications(event, groups, fates)
    added = _plan_mail(event, text, groups, fates, inserted)
    ids = [id_ for group in groups for id_ in group.subscription_ids]
    return ChunkResult(len(ids), added, max(ids, default=0))


def decide(  # noqa: PLR0913  what an event and its topic say, each by its name
    group: Group,
    *,
    letters: Mapping[str, int | None],
    is_by_job: bool,
    is_cancelled: bool,
    expires_at: datetime,
    now: datetime,
) -> Fate:
    """What becomes of a group's notifications; the first thing that speaks against mail counts."""
    if group.code is not None:
        return Fate(FanOutEnd.SKIPPED, group.code)
    if expires_at <= now:
        return Fate(FanOutEnd.EXPIRED, Skip.EXPIRED)
    if is_cancelled:
        return Fate(FanOutEnd.SKIPPED, Skip.CANCELLED)
    if is_by_job:
        return Fate()
    letter = letters[group.locale]
    if letter is None:
        # Planned all the same: the ledger books the failure, and a person is told of it.
        return Fate(code=Failure.NO_LOCALE, letter=topic_letters.NO_LETTER)
    return _time_mail(group, letter, expires_at=expires_at, now=now)


def _time_mail(group: Group, letter: int, *, expires_at: datetime, now: datetime) -> Fate:
    match windows.decide_departure(
        group.window, group.zone, group.snooze_until, expires_at=expires_at, now=now
    ):
        case Expired():
            return Fate(FanOutEnd.EXPIRED, Skip.EXPIRED)
        case GoNow():
            return Fate(letter=letter)
        case WaitUntil(opening, reason):
            return Fate(letter=letter, due_at=opening, reason=reason)


def _is_cancelled(stream_id: int) -> bool:
    return queries.is_cancelled(queries.find_stream(stream_id))


def _resolve_letters(
    event: Event, topic: Topic, text: TopicText | None, groups: Sequence[Group]
) -> Mapping[str, int | None]:
    wanted = {group.locale for group in groups if group.code is None}
    if text is None or event.stream_id is None:
        return {}
    return topic_letters.resolve_letters(topic, event.stream_id, text, wanted)


_KEY = {"stream": pg.SQL("event.stream_id"), "key": pg.SQL("earlier.id::text")}
# One that has waited for longer is asked about when it is handed over.
_DUPLICATE = pg.SQL("""
EXISTS (
    SELECT FROM notifications_notification AS earlier
    WHERE earlier.subscription_id = standing.subscription_id
      AND earlier.dedupe_key = %(dedupe_key)s AND earlier."end" IS NULL
      AND (
          (earlier.created_at > %(dedupe_since)s AND NOT earlier.is_planned)
          OR (
              SELECT (earlier.created_at > %(dedupe_since)s AND {waits}) OR {was_sent_since}
              FROM notifications_event AS event WHERE event.id = earlier.event_id
          )
      )
)
""").format(
    waits=pg.SQL(keyed.WAITS).format(**_KEY),
    was_sent_since=pg.SQL(keyed.WAS_SENT_SINCE).format(**_KEY, since=pg.SQL("%(dedupe_since)s")),
)
_SENT_COUNT = pg.SQL("""
(
    SELECT count(*) FROM notifications_notification AS earlier
    JOIN notifications_event AS event ON event.id = earlier.event_id
    WHERE earlier.subscription_id = standing.subscription_id AND earlier.is_planned
      AND {was_sent}
)
""").format(was_sent=pg.SQL(keyed.WAS_SENT).format(**_KEY))
# In the order of ids, whatever the digest: each digest has its own walk of the index.
_GROUPS = pg.SQL("""
WITH chunk AS MATERIALIZED (
    SELECT found.id
    FROM unnest(%(digests)s::bytea[]) AS given (digest)
    CROSS JOIN LATERAL (
        SELECT id FROM notifications_topicsubscription
        -- Not as an equality, for which the planner may walk the primary key instead.
        WHERE topic_id = %(topic)s AND match_digest <= given.digest
          AND (match_digest, id) > (given.digest, %(cursor)s)
        ORDER BY match_digest, id LIMIT %(size)s
    ) AS found
    ORDER BY found.id LIMIT %(size)s
), judged AS MATERIALIZED (
    SELECT standing.*, CASE
        WHEN contact_type <> 'email' THEN 'contact_type'
        WHEN contact_id IS NULL THEN 'contact_gone'
        WHEN status <> 'active' THEN 'subscription_' || status
        WHEN %(status)s::text IS NOT NULL AND notify_on <> '{{}}'
         AND %(status)s <> ALL (notify_on) THEN 'notify_on'
        WHEN {is_duplicate} THEN 'duplicate'
        WHEN CASE WHEN max_notifications IS NULL THEN false
                  ELSE max_notifications <= forgotten_sent + {sent_count} END
            THEN 'max_notifications'
    END AS code
    FROM chunk JOIN ({standing}) AS standing ON standing.subscription_id = chunk.id
), reduced AS (
    SELECT subscription_id, contact_id, code,
           CASE WHEN code IS NULL THEN zone ELSE '' END AS zone,
           CASE WHEN code IS NULL AND window_from <> window_until THEN window_from END
               AS window_from,
           CASE WHEN code IS NULL AND window_from <> window_until THEN window_until END
               AS window_until,
           CASE WHEN code IS NULL AND snooze_until > %(now)s THEN snooze_until END
               AS snooze_until,
           CASE WHEN code IS NULL THEN locale ELSE '' END AS locale
    FROM judged
)
SELECT code, zone, window_from, window_until, snooze_until, locale,
       array_agg(subscription_id), array_agg(contact_id)
FROM reduced
GROUP BY 1, 2, 3, 4, 5, 6
""").format(is_duplicate=_DUPLICATE, sent_count=_SENT_COUNT, standing=pg.SQL(STANDING))


def _list_groups(event: Event, topic: Topic, *, size: int, now: datetime) -> list[Group]:
    params = {
        **make_params(topic.workspace_id),
        "digests": [bytes(digest) for digest in event.match_digests],
        "topic": topic.pk,
        "cursor": event.cursor,
        "size": size,
        "status": _read_status(event, topic),
        "dedupe_key": event.dedupe_key,
        "dedupe_since": now - timedelta(seconds=topic.dedupe_seconds),
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_GROUPS.as_string(), params)
        return [_make_group(*row) for row in cursor.fetchall()]


def _make_group(
    code: str | None,
    zone: str,
    window_from: int | None,
    window_until: int | None,
    *others: Any,
) -> Group:
    window = None
    if window_from is not None and window_until is not None:
        window = Window(window_from, window_until)
    return Group(code, zone, window, *others)


def _read_status(event: Event, topic: Topic) -> str | None:
    """What `notify_on` is about; an event without a status is for everybody."""
    status = event.data.get(topic.status_field)
    return status if isinstance(status, str) else None


# The ids as PostgreSQL writes arrays: they go back to it as they came.
_INSERT: LiteralString = """
WITH inserted AS (
    INSERT INTO notifications_notification (
        event_id, subscription_id, dedupe_key, "end", code, is_planned, created_at
    )
    SELECT %(event)s, line.subscription_id, %(dedupe_key)s, fate."end", fate.code,
           fate.is_planned, statement_timestamp()
    FROM unnest(%(subscriptions)s::bigint[], %(numbers)s::int[]) AS line (subscription_id, number)
    JOIN unnest(%(ends)s::text[], %(codes)s::text[], %(are_planned)s::boolean[])
         WITH ORDINALITY AS fate ("end", code, is_planned, number) ON fate.number = line.number
    ORDER BY line.subscription_id
    RETURNING id, subscription_id
)
SELECT array_agg(id)::text, array_agg(subscription_id)::text FROM inserted
"""


def _insert_notifications(
    event: Event, groups: Sequence[Group], fates: Sequence[Fate]
) -> InsertedNotifications:
    params: dict[str, Any] = {
        "event": event.pk,
        "dedupe_key": event.dedupe_key,
        "subscriptions": _join(group.subscription_ids for group in groups),
        "numbers": _join(repeat(n, len(each.contact_ids)) for n, each in enumerate(groups, 1)),
        "ends": [fate.end and fate.end.value for fate in fates],
        "codes": [str(fate.code) for fate in fates],
        "are_planned": [fate.letter is not None for fate in fates],
    }
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, params)
        return InsertedNotifications(*cursor.fetchone())


_LINES = pg.SQL("""
SELECT contact.address, inserted.id::text AS dedupe_key, line.contact_id,
       %(variables)s || jsonb_strip_nulls(
           jsonb_build_object('name', contact.name, 'from_name', contact.from_name)
       ) AS variables,
       fate.letter, CASE WHEN contact.id IS NULL THEN 'contact_gone' END AS kept_back,
       fate.due_at, fate.reason
FROM unnest(%(subscriptions)s::bigint[], %(contacts)s::bigint[], %(numbers)s::int[])
     AS line (subscription_id, contact_id, number)
JOIN unnest(%(letters)s::int[], %(due_times)s::timestamptz[], %(reasons)s::text[])
     WITH ORDINALITY AS fate (letter, due_at, reason, number) ON fate.number = line.number
JOIN unnest(%(notifications)s::bigint[], %(notified)s::bigint[]) AS inserted (id, subscription_id)
  ON inserted.subscription_id = line.subscription_id
LEFT JOIN contacts_contact AS contact
  ON contact.id = line.contact_id AND contact.deleted_at IS NULL
ORDER BY fate.due_at NULLS FIRST, inserted.id
""")


def _plan_mail(
    event: Event,
    text: TopicText | None,
    groups: Sequence[Group],
    fates: Sequence[Fate],
    inserted: InsertedNotifications,
) -> int:
    """Plans the deliveries of those that are mailed; returns how many."""
    mailed = [
        (group, fate) for group, fate in zip(groups, fates, strict=True) if fate.letter is not None
    ]
    if not mailed or text is None or event.stream_id is None:
        return 0
    params = {
        "notifications": inserted.ids,
        "notified": inserted.subscription_ids,
        "variables": Jsonb(_choose_variables(event, text)),
        "subscriptions": _join(group.subscription_ids for group, _ in mailed),
        "contacts": _join(group.contact_ids for group, _ in mailed),
        "numbers": _join(repeat(n, len(each.contact_ids)) for n, (each, _) in enumerate(mailed, 1)),
        "letters": [fate.letter for _, fate in mailed],
        "due_times": [fate.due_at for _, fate in mailed],
        "reasons": [fate.reason.value for _, fate in mailed],
    }
    planned = ledger.plan(
        event.stream_id,
        source=_LINES,
        params=params,
        is_timed_by_row=True,
        is_interrupted=was_interrupted(event),
    )
    if planned.kept_back:
        raise ContactChangedError
    return planned.added


def _join(parts: Iterable[Iterable[int]]) -> str:
    """The numbers of all parts as PostgreSQL writes an array: a driver is slower with a list."""
    return f"{{{','.join(map(str, chain.from_iterable(parts)))}}}"


def _choose_variables(event: Event, text: TopicText) -> dict[str, Any]:
    """What of an event its letters use."""
    names = (*text.version.required, *text.version.optional)
    given = topics.choose_variables(event.data)
    return {name: given[name] for name in names if name in given}


def was_interrupted(event: Event) -> bool:
    """Whether a restore came after the event, or after the source's state before it: the lost time
    may have planned and sent its mail.
    """
    since = event.received_at
    if event.unchanged_at is not None:
        since = min(since, event.unchanged_at)
    return since < ledger.current_epoch().began_at
