"""One transactional mail as its workspace sees it: its facts, its timeline, and why it waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries import queries
from postledger.deliveries.ledger import sql
from postledger.deliveries.queries import StreamFacts, WorkFacts
from postledger.deliveries.reasons import EXPLANATIONS, Reason
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId


@dataclass(frozen=True, slots=True)
class MailFacts:
    """A mail as the view email_logs shows it, with the request's other fields."""

    to: str
    recipient_id: int | None
    subject: str
    state: State
    status: str
    message_id: str | None
    error_code: str | None
    error_reason: str | None
    attempts: int
    duration_ms: int | None
    request_id: str
    created_at: datetime
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
class MailWait:
    """Why a mail has no result yet, since when, and what will move it."""

    reason: str
    why: str
    since: datetime
    until: datetime | None
    moved_by: str


@dataclass(frozen=True, slots=True)
class MailDetails:
    facts: MailFacts
    timeline: Sequence[TimelineEvent]
    waiting: MailWait | None


_FACTS: LiteralString = """
SELECT l."to", l."recipientId", l.subject, d.state, l.status, l."sesMessageId", l."errorCode",
       l."errorReason", l.attempts, l."durationMs", coalesce(l."requestId", ''), l."createdAt",
       l."sentAt", l."failedAt", coalesce(b.tags, '[]'::jsonb), sender.address, s.is_test
FROM deliveries_stream s
JOIN accounts_sender sender ON sender.id = s.sender_id
JOIN email_logs l ON l.stream_id = s.id
JOIN deliveries_delivery d ON d.stream_id = l.stream_id AND d.position = l.position
LEFT JOIN deliveries_body b ON b.stream_id = l.stream_id AND b.position = l.position
WHERE s.id = %(stream)s AND s.workspace_id = %(workspace)s AND s.kind = 'transactional'
  AND l.stream_id = %(stream)s AND l.position = %(position)s
"""


def find_mail(workspace_id: int, id_: DeliveryId, *, now: datetime) -> MailDetails | None:
    """The mail with this id, if this workspace has one; the id of a try names no mail."""
    params = {"workspace": workspace_id, "stream": id_.stream_id, "position": id_.position}
    row = sql.first_row(_FACTS, params) if id_.try_number == 0 else None
    if row is None:
        return None
    facts = MailFacts(*sql.convert(row, {3: State}))
    # The views have no event of a mail before its first result.
    timeline = [TimelineEvent(*event) for event in sql.rows(_EVENTS, params)]
    timeline = timeline or [TimelineEvent("RECEIVED", facts.created_at, {})]
    waiting = _find_wait(id_, now) if facts.state is State.WAITING else None
    return MailDetails(facts, timeline, waiting)


_EVENTS: LiteralString = """
SELECT type, "createdAt", metadata FROM email_events
WHERE stream_id = %(stream)s AND position = %(position)s
UNION ALL
SELECT upper(event_type), event_at, '{}'::jsonb FROM delivery_events
WHERE stream_id = %(stream)s AND position = %(position)s
ORDER BY 2
"""


def _find_wait(id_: DeliveryId, now: datetime) -> MailWait | None:
    stream = queries.find_stream(id_.stream_id)
    delivery = queries.find_delivery(id_.stream_id, id_.position)
    if stream is None or delivery is None or delivery.work is None:
        return None  # it got its result a moment ago
    return _wait_of_stream(stream, now) or _wait_of_work(delivery.work, now)


def _wait_of_stream(stream: StreamFacts, now: datetime) -> MailWait | None:
    """The widest hold in force: it comes before the mail's own reason."""
    for hold in (stream.sender_hold, stream.stream_hold):
        if hold and (hold.until is None or hold.until > now):
            return _explained(hold.reason, hold.since, hold.until)
    if stream.cancelled_at:
        why, moved_by = "its stream was cancelled", "it is booked as cancelled"
        return MailWait("cancelled", why, stream.cancelled_at, None, moved_by)
    return None


def _wait_of_work(work: WorkFacts, now: datetime) -> MailWait:
    if work.lease_until is not None:
        why = f"it is {'with the provider' if work.is_armed else 'with a worker'} now"
        return MailWait(work.reason, why, work.since, work.lease_until, "the answer comes")
    return _explained(work.reason, work.since, work.due_at if work.due_at > now else None)


def _explained(reason: Reason, since: datetime, until: datetime | None) -> MailWait:
    explanation = EXPLANATIONS[reason]
    return MailWait(reason, explanation.why, since, until, explanation.moved_by)
