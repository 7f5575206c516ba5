"""One transactional mail as its workspace sees it: its facts, its timeline, and why it waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries import queries
from postledger.deliveries.ledger import sql
from postledger.deliveries.queries import StreamFacts, WorkFacts
from postledger.deliveries.reasons import EXPLANATIONS
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId


@dataclass(frozen=True, slots=True)
class Facts:
    """A mail as the view email_logs tells it, and what its request said besides."""

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
class Event:
    """One step on a mail's way."""

    type: str
    at: datetime
    metadata: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a mail has no result yet, since when, and what will move it."""

    reason: str
    why: str
    since: datetime
    until: datetime | None
    moved_by: str


@dataclass(frozen=True, slots=True)
class Mail:
    facts: Facts
    timeline: Sequence[Event]
    waiting: Waiting | None


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


def find(workspace_id: int, id_: DeliveryId, *, now: datetime) -> Mail | None:
    """The mail with this id, if this workspace has one; a try's id names none."""
    params = {"workspace": workspace_id, "stream": id_.stream_id, "position": id_.position}
    row = sql.one(_FACTS, params) if id_.try_number == 0 else None
    if row is None:
        return None
    to, recipient_id, subject, state, *rest = row
    facts = Facts(to, recipient_id, subject, State(state), *rest)
    waiting = _waiting(id_, now) if facts.state is State.WAITING else None
    return Mail(facts, _timeline(id_, facts), waiting)


_EVENTS: LiteralString = """
SELECT type, "createdAt", metadata FROM email_events
WHERE stream_id = %(stream)s AND position = %(position)s
UNION ALL
SELECT upper(event_type), event_at, '{}'::jsonb FROM delivery_events
WHERE stream_id = %(stream)s AND position = %(position)s
ORDER BY 2
"""


def _timeline(id_: DeliveryId, facts: Facts) -> list[Event]:
    found = sql.rows(_EVENTS, {"stream": id_.stream_id, "position": id_.position})
    # The views tell what came of a mail, and nothing has come of this one yet.
    return [Event(*row) for row in found] or [Event("RECEIVED", facts.created_at, {})]


def _waiting(id_: DeliveryId, now: datetime) -> Waiting | None:
    stream = queries.stream(id_.stream_id)
    delivery = queries.delivery(id_.stream_id, id_.position)
    if stream is None or delivery is None or delivery.work is None:
        return None  # it got its result a moment ago
    return _held(stream, now) or _at_work(delivery.work, now)


def _held(stream: StreamFacts, now: datetime) -> Waiting | None:
    """The widest hold in force: it decides, whatever the mail itself waits for."""
    for held in (stream.sender_hold, stream.stream_hold):
        if held and (held.until is None or held.until > now):
            told = EXPLANATIONS[held.reason]
            return Waiting(held.reason, told.why, held.since, held.until, told.moved_by)
    if stream.cancelled_at:
        why, moved_by = "its stream was cancelled", "it is booked as cancelled"
        return Waiting("cancelled", why, stream.cancelled_at, None, moved_by)
    return None


def _at_work(work: WorkFacts, now: datetime) -> Waiting:
    if work.lease_until is not None:
        where = "with the provider" if work.is_armed else "with a worker"
        return Waiting(
            work.reason, f"it is {where} now", work.since, work.lease_until, "the answer comes"
        )
    told = EXPLANATIONS[work.reason]
    until = work.due_at if work.due_at > now else None
    return Waiting(work.reason, told.why, work.since, until, told.moved_by)
