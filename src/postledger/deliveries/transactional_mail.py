"""One transactional mail as its workspace sees it: its facts, its timeline, and why it waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import LiteralString

from django.utils.translation import gettext

from postledger.deliveries import causes, queries
from postledger.deliveries.entries import UNCOUNTED, Hold, HoldScope
from postledger.deliveries.explanations.reason_texts import explain_reason
from postledger.deliveries.ledger import sql
from postledger.deliveries.queries import StreamFacts, WorkFacts
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId

_RECEIVED = "RECEIVED"


@dataclass(frozen=True, slots=True)
class MailFacts:
    """What is known of a mail as a whole."""

    to: str
    recipient_id: int | None
    subject: str
    state: State
    status: str
    message_id: str | None
    error_code: str | None
    error_reason: str | None
    attempts: int
    last_try: int
    duration_ms: int | None
    request_id: str
    created_at: datetime
    settled_at: datetime | None
    sent_at: datetime | None
    failed_at: datetime | None
    tags: Sequence[str]
    sender: str
    is_test: bool


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """One step on a mail's way."""

    type: str
    at: datetime
    metadata: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class MailHold:
    """One cause that holds a mail's stream, its sender or its account."""

    scope: HoldScope
    reason: Reason
    why: str
    since: datetime
    until: datetime | None
    moved_by: str


@dataclass(frozen=True, slots=True)
class MailWait:
    """Why a mail has no result yet, since when, and what will move it."""

    reason: str
    why: str
    since: datetime
    until: datetime | None
    moved_by: str
    fails_at: datetime | None = None  # from when on it fails, if nobody acts
    holds: Sequence[MailHold] = ()  # all causes; the first is the reason above


@dataclass(frozen=True, slots=True)
class MailDetails:
    facts: MailFacts
    timeline: Sequence[TimelineEvent]
    waiting: MailWait | None


# Of what went wrong, the last that still counts: an acceptance ends it, and so does a requeue.
_FACTS: LiteralString = """
SELECT d.address, d.contact_id, coalesce(b.subject, s.title), d.state,
       delivery_status(d.state, d.last_try), d.message_id,
       d.code, NULLIF(note.detail, ''), d.attempts, d.last_try,
       d.duration_ms, coalesce(b.request_id, ''), d.planned_at, d.settled_at,
       CASE d.state WHEN 'accepted' THEN d.settled_at END,
       CASE d.state WHEN 'failed' THEN d.settled_at END,
       coalesce(b.tags, '[]'::jsonb), sender.address, s.is_test
FROM deliveries_stream s
JOIN accounts_sender sender ON sender.id = s.sender_id
JOIN deliveries_delivery d ON d.stream_id = %(stream)s AND d.position = %(position)s
LEFT JOIN deliveries_body b ON b.stream_id = %(stream)s AND b.position = %(position)s
LEFT JOIN LATERAL (
    SELECT a.id, a.detail FROM deliveries_attempt a
    WHERE a.stream_id = %(stream)s AND a.position = %(position)s
    UNION ALL
    SELECT e.id, e.data ->> 'detail' FROM deliveries_deliveryevent e
    WHERE e.stream_id = %(stream)s AND e.position = %(position)s
      AND e.kind IN ('requeued', 'proved_not_accepted')
    ORDER BY id DESC LIMIT 1
) AS note ON d.state NOT IN ('accepted', 'cancelled')
WHERE s.id = %(stream)s AND s.workspace_id = %(workspace)s AND s.kind = 'transactional'
"""


def find_mail(workspace_id: int, id_: DeliveryId, *, now: datetime) -> MailDetails | None:
    """The mail with this id, if this workspace has one; the id of a try names no mail."""
    params = {"workspace": workspace_id, "stream": id_.stream_id, "position": id_.position}
    row = sql.first_row(_FACTS, params) if id_.try_number == 0 else None
    if row is None:
        return None
    facts = MailFacts(*sql.convert(row, {3: State}))
    events = [TimelineEvent(*event) for event in sql.rows(_EVENTS, params)]
    waiting = _find_wait(id_, now) if facts.state is State.WAITING else None
    return MailDetails(facts, make_timeline(facts.created_at, events), waiting)


_EVENTS: LiteralString = """
SELECT type, "createdAt", metadata FROM email_events
WHERE stream_id = %(stream)s AND position = %(position)s
UNION ALL
SELECT upper(delivery_report(kind, counts_as)), happened_at,
       jsonb_strip_nulls(jsonb_build_object(
           'try', try_number, 'event', NULLIF(name, ''), 'error_code', NULLIF(code, ''),
           'error_reason', NULLIF(detail, '')
       ))
FROM deliveries_feedback
WHERE stream_id = %(stream)s AND position = %(position)s
ORDER BY 2
"""

# The words of the view email_events in ours.
_WORDS = {
    "attempt": "try",
    "errorCode": "error_code",
    "errorCategory": "error_category",
    "backoffDelay": "backoff_ms",
    "errorMessage": "error_reason",
    "originalCode": "original_code",
    "sesMessageId": "message_id",
    "durationMs": "duration_ms",
    "willRetry": "will_retry",
    "nextAttemptNumber": "next_try",
}


def make_timeline(created_at: datetime, events: Sequence[TimelineEvent]) -> Sequence[TimelineEvent]:
    """The steps of a mail from the moment it was stored; a retry is received again.

    The view has no step before the first result, and dates the steps of a try by its duration.
    """
    received = next((event for event in events if event.type == _RECEIVED), None)
    return [
        TimelineEvent(_RECEIVED, created_at, {}),
        *(
            TimelineEvent(event.type, max(event.at, created_at), _translate(event.metadata))
            for event in events
            if event is not received
        ),
    ]


def _translate(metadata: Mapping[str, object]) -> dict[str, object]:
    translated = {_WORDS.get(word, word): value for word, value in metadata.items()}
    if "outcome" in metadata:
        translated["is_counted"] = metadata["outcome"] not in UNCOUNTED
    return translated


def _find_wait(id_: DeliveryId, now: datetime) -> MailWait | None:
    stream = queries.find_stream(id_.stream_id)
    delivery = queries.find_delivery(id_.stream_id, id_.position)
    if stream is None or delivery is None or delivery.work is None:
        return None  # it got its result a moment ago
    return _wait_of_stream(stream, now) or _wait_of_work(delivery.work, now)


def _wait_of_stream(stream: StreamFacts, now: datetime) -> MailWait | None:
    """The hold that ends last: it comes before the mail's own reason."""
    holds = causes.sort_in_force(stream.holds, now=now)
    if holds:
        mail_holds = list(map(_mail_hold, holds))
        waiting = _explained(holds[0].reason, holds[0].since, holds[0].until)
        fails_at = next((hold.fails_at for hold in holds if hold.fails_at), None)
        return replace(
            waiting, moved_by=mail_holds[0].moved_by, fails_at=fails_at, holds=mail_holds
        )
    if stream.cancelled_at:
        why = gettext("its stream was cancelled")
        failed, cancelled = gettext("it is booked as failed"), gettext("it is booked as cancelled")
        moved_by = failed if stream.block_code else cancelled
        return MailWait("cancelled", why, stream.cancelled_at, None, moved_by)
    return None


def _mail_hold(hold: Hold) -> MailHold:
    explanation = explain_reason(hold.reason, scope=hold.scope)
    return MailHold(
        hold.scope, hold.reason, explanation.why, hold.since, hold.until, explanation.moved_by
    )


def _wait_of_work(work: WorkFacts, now: datetime) -> MailWait:
    if work.lease_until is not None:
        armed, leased = gettext("it is with the provider now"), gettext("it is with a worker now")
        why, moved_by = armed if work.is_armed else leased, gettext("the answer comes")
        return MailWait(work.reason, why, work.since, work.lease_until, moved_by)
    return _explained(work.reason, work.since, work.due_at if work.due_at > now else None)


def _explained(reason: Reason, since: datetime, until: datetime | None) -> MailWait:
    explanation = explain_reason(reason)
    return MailWait(reason, explanation.why, since, until, explanation.moved_by)


_LETTERS: LiteralString = """
SELECT body.stream_id, body.position, body.letter
FROM unnest(%(streams)s::bigint[], %(positions)s::bigint[]) AS mail (stream_id, position)
JOIN deliveries_body AS body USING (stream_id, position)
WHERE body.letter <> ''
"""


def read_letters(ids: Sequence[DeliveryId]) -> dict[DeliveryId, str]:
    """The digests of the letters that these mails were made from, in one query."""
    params = {
        "streams": sql.Bigints(id_.stream_id for id_ in ids),
        "positions": sql.Bigints(id_.position for id_ in ids),
    }
    rows = sql.rows(_LETTERS, params)
    return {DeliveryId(stream_id, position): digest for stream_id, position, digest in rows}
