"""The terms of notifications at the hand-over, which the dispatcher reads by TOPIC_TERMS.

They are read when a mail is composed and once more before it is handed over, so an unsubscribe, a
snooze or another window counts until that moment.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString

from psycopg import sql as pg

from postledger.deliveries import entries, keyed, queries
from postledger.deliveries.entries import Entry, Recipient
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.mailing.terms import NO_JOB, JobPolicy, Terms, Wait
from postledger.notifications.states import Failure, Skip
from postledger.notifications.subscriptions import windows
from postledger.notifications.subscriptions.standing import STANDING, make_params
from postledger.notifications.subscriptions.windows import Expired, GoNow, WaitUntil, Window

# How soon it is asked again whether an earlier notification of the subscription was sent.
MOST_UNCERTAIN = timedelta(seconds=10)

_EXPIRED = "Its time to live ended, or ends before its recipient may be told."
_FAILURES: Mapping[str, str] = {
    Failure.NO_LOCALE: (
        "The template has no text in the person's language. Add it to the template, or give the"
        " topic a fallback_locale, and publish the event again."
    )
}
_LONGEST_TAG = 200
_SKIPS: Mapping[str, Skip] = {
    "pending": Skip.PENDING,
    "paused": Skip.PAUSED,
    "unsubscribed": Skip.UNSUBSCRIBED,
    "suppressed": Skip.SUPPRESSED,
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is stored about one notification, its event and its subscription."""

    contact_id: int | None
    contact_type: str
    status: str
    window: Window | None
    zone: str
    snooze_until: datetime | None
    expires_at: datetime
    max_notifications: int | None
    sent: int  # others of the subscription that were accepted, or may have been
    ahead: int  # others that still wait: earlier ones, and any that is with the provider
    is_duplicate: bool  # one with its dedupe key was sent, or may have been, within the window
    has_twin: bool  # one with its dedupe key is ahead
    failure: str = ""  # why no mail can be made of it


_OTHER = {"stream": pg.SQL("its_event.stream_id"), "key": pg.SQL("other.id::text")}
_WINDOW_START = pg.SQL("statement_timestamp() - make_interval(secs => topic.dedupe_seconds)")
_IS_AHEAD = pg.SQL("(other.id < notification.id AND {waits} OR {is_armed})").format(
    waits=pg.SQL(keyed.WAITS).format(**_OTHER), is_armed=pg.SQL(keyed.IS_ARMED).format(**_OTHER)
)
# Nothing speaks against it, so `decide` would let it go. Most mails are like that.
_IS_CLEAR = pg.SQL("""
(
    standing.contact_type = 'email' AND standing.contact_id IS NOT NULL
    AND standing.status = 'active' AND standing.window_from IS NULL
    AND (standing.snooze_until IS NULL OR standing.snooze_until <= statement_timestamp())
    AND event.expires_at > statement_timestamp()
    AND standing.max_notifications IS NULL AND NOT others.is_duplicate AND NOT others.has_twin
    AND notification.code = ''
)
""")
# All others of the subscription are counted where somebody set a maximum, else those with the same
# dedupe key, which few have. It is read again once a window is armed: of two that go at once, at
# least one sees the other. By OFFSET 0 each subscription is looked up by its id: from fresh tables
# the planner would read all subscriptions of the topic for every round.
_TERMS = (
    pg.SQL("""
WITH notification AS MATERIALIZED (
    SELECT * FROM notifications_notification WHERE id = ANY(%(ids)s::bigint[])
), judged AS (
    SELECT notification.id, notification.event_id, notification.subscription_id,
           notification.dedupe_key,
           notification.max_attempts, notification.lock_ttl_seconds, notification.retry_schedule_ms,
           {is_clear} AS is_clear,
           standing.contact_id, standing.contact_type, standing.status, standing.window_from,
           standing.window_until, standing.zone, standing.snooze_until, standing.max_notifications,
           others.sent + standing.forgotten_sent AS sent, others.ahead, others.is_duplicate,
           others.has_twin, notification.code
    FROM notification
    JOIN notifications_event AS event ON event.id = notification.event_id
    JOIN notifications_topic AS topic ON topic.id = event.topic_id
    CROSS JOIN LATERAL (
        SELECT * FROM ({standing}) AS standing
        WHERE standing.subscription_id = notification.subscription_id
        OFFSET 0
    ) AS standing
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE {was_sent}) AS sent,
               count(*) FILTER (WHERE {is_ahead}) AS ahead,
               count(*) FILTER (WHERE {is_same} AND {was_sent_since}) > 0 AS is_duplicate,
               count(*) FILTER (WHERE {is_same} AND {is_ahead}) > 0 AS has_twin
        FROM notifications_notification AS other
        JOIN notifications_event AS its_event ON its_event.id = other.event_id
        WHERE other.subscription_id = notification.subscription_id
          AND other.id <> notification.id AND other.is_planned
          AND (standing.max_notifications IS NOT NULL OR {is_same})
    ) AS others
)
SELECT * FROM judged WHERE NOT %(leave_out_clear)s OR is_clear IS NOT TRUE
""")
    .format(
        is_clear=_IS_CLEAR,
        standing=pg.SQL(STANDING),
        was_sent=pg.SQL(keyed.WAS_SENT).format(**_OTHER),
        was_sent_since=pg.SQL(keyed.WAS_SENT_SINCE).format(**_OTHER, since=_WINDOW_START),
        is_same=pg.SQL("other.dedupe_key = notification.dedupe_key"),
        is_ahead=_IS_AHEAD,
    )
    .as_string()
)
_EVENTS: LiteralString = """
SELECT id, statement_timestamp(), expires_at, trace_id, data ->> 'termId', data ->> 'campusCode'
FROM notifications_event WHERE id = ANY(%(ids)s)
"""


@dataclass(frozen=True, slots=True)
class EventFacts:
    """What the notifications of one event share; `now` is when the database read it."""

    now: datetime
    expires_at: datetime
    tags: Mapping[str, str]


def read_terms(
    stream_id: int, recipients: Sequence[Recipient], *, leave_out_clear: bool = False
) -> Mapping[int, Terms]:
    """The terms of a stream's recipients, by their positions; now is when the database reads them.

    A mail that is no notification of the stream's workspace has none.
    """
    positions = {
        int(recipient.dedupe_key): recipient.position
        for recipient in recipients
        if recipient.dedupe_key and recipient.dedupe_key.isdecimal()
    }
    stream = queries.find_stream(stream_id) if positions else None
    if stream is None:
        return {}
    params = {
        **make_params(stream.workspace_id),
        "ids": sql.Bigints(positions),
        "leave_out_clear": leave_out_clear,
    }
    rows = sql.rows(_TERMS, params)
    events = _read_events({event_id for _, event_id, *_ in rows})
    return {
        positions[id_]: _build(positions[id_], events[event_id], columns)
        for id_, event_id, *columns in rows
    }


def _read_events(event_ids: Collection[int]) -> Mapping[int, EventFacts]:
    if not event_ids:
        return {}
    rows = sql.rows(_EVENTS, {"ids": sql.Bigints(event_ids)})
    return {
        event_id: EventFacts(
            now,
            expires_at,
            _clean(
                traceId=trace_id, openEventId=str(event_id), term=term or "", campus=campus or ""
            ),
        )
        for event_id, now, expires_at, trace_id, term, campus in rows
    }


def _build(position: int, event: EventFacts, columns: Sequence[Any]) -> Terms:
    subscription_id, dedupe_key, *policy, is_clear = columns[:6]
    decision = None
    if not is_clear:
        decision = decide(position, _read_facts(event, *columns[6:]), event.now)
    return Terms(
        verdict=decision if isinstance(decision, Entry) else None,
        wait=decision if isinstance(decision, Wait) else None,
        policy=JobPolicy(*policy) if any(policy) else NO_JOB,
        tags={"subscriptionId": str(subscription_id), **_clean(dedupeKey=dedupe_key), **event.tags},
    )


def _read_facts(  # noqa: PLR0913, PLR0917  the columns of the query, in its order
    event: EventFacts,
    contact_id: int | None,
    contact_type: str,
    status: str,
    window_from: int | None,
    window_until: int | None,
    zone: str,
    snooze_until: datetime | None,
    max_notifications: int | None,
    *others: Any,
) -> Facts:
    window = None
    if window_from is not None and window_until is not None:
        window = Window(window_from, window_until)
    who = (contact_id, contact_type, status, window, zone, snooze_until)
    return Facts(*who, event.expires_at, max_notifications, *others)


def decide(position: int, facts: Facts, now: datetime) -> Entry | Wait | None:
    """Whether a notification ends here, waits by itself, or may go. Pure."""
    skip = _find_skip(facts)
    if skip is not None:
        return entries.skipped(position, code=skip.value)
    if facts.failure:
        return entries.invalid(position, code=facts.failure, detail=_FAILURES[facts.failure])
    match windows.decide_departure(
        facts.window, facts.zone, facts.snooze_until, expires_at=facts.expires_at, now=now
    ):
        case Expired():
            return entries.expired(position, detail=_EXPIRED)
        case WaitUntil(opening, reason):
            return Wait(opening, reason)
        case GoNow():
            return _wait_for_others(facts, now)


def _wait_for_others(facts: Facts, now: datetime) -> Wait | None:
    """Those ahead of it may be as many as the recipient wants, or tell the same."""
    most = facts.max_notifications
    is_full = most is not None and facts.sent + facts.ahead >= most
    if is_full or facts.has_twin:
        return Wait(min(now + MOST_UNCERTAIN, facts.expires_at), Reason.SCHEDULED)
    return None


def _find_skip(facts: Facts) -> Skip | None:
    if facts.contact_type != "email":
        return Skip.CONTACT_TYPE
    if facts.contact_id is None:
        return Skip.CONTACT_GONE
    if facts.status != "active":
        return _SKIPS[facts.status]
    if facts.max_notifications is not None and facts.sent >= facts.max_notifications:
        return Skip.MOST_REACHED
    return Skip.DUPLICATE if facts.is_duplicate else None


def _clean(**tags: str) -> dict[str, str]:
    """What goes with a mail to its provider, each on one line and as long as a header may be.

    The names are those of the job contract; events may have any text.
    """
    lines = {name: _write_line(value) for name, value in tags.items()}
    return {name: line for name, line in lines.items() if line}


def _write_line(value: str) -> str:
    if len(value) <= _LONGEST_TAG and value.isprintable():
        return value
    line = " ".join("".join(char if char.isprintable() else " " for char in value).split())
    return line[:_LONGEST_TAG].rstrip()
