"""The facts about one delivery: its state, its live work, and its history."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.entries import AttemptOutcome
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId


@dataclass(frozen=True, slots=True)
class WorkFacts:
    """Live work: why it waits, or who has it."""

    reason: Reason
    since: datetime
    due_at: datetime
    try_number: int
    holder: str | None
    lease_until: datetime | None
    is_armed: bool


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    try_number: int
    at: datetime
    outcome: AttemptOutcome
    state: State
    code: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class EventFacts:
    at: datetime
    kind: str
    actor: str
    try_number: int


@dataclass(frozen=True, slots=True)
class ReportFacts:
    """What a provider reported afterwards, at the time that it names."""

    at: datetime
    report: str  # a kind of event, or a counter
    name: str  # the provider's own
    try_number: int
    code: str
    detail: str
    received_at: datetime


@dataclass(frozen=True, slots=True)
class DeliveryFacts:
    position: int
    address: str
    planned_at: datetime
    state: State
    attempts: int
    last_try: int
    code: str | None
    message_id: str | None
    settled_at: datetime | None
    doubts: Sequence[int]
    resend_after: datetime | None
    work: WorkFacts | None
    history: Sequence[AttemptFacts | EventFacts | ReportFacts]


_DELIVERY: LiteralString = """
SELECT position, address, planned_at, state, attempts, last_try, code, message_id, settled_at,
       coalesce(doubts, '{}'), resend_after
FROM deliveries_delivery WHERE stream_id = %(stream)s AND position = %(position)s
"""

_WORK: LiteralString = """
SELECT b.reason, b.since, b.due_at, b.try_number, l.holder, b.lease_until,
       coalesce(b.armed_to > %(position)s, false)
FROM deliveries_batch b LEFT JOIN deliveries_lease l ON l.token = b.lease
WHERE b.stream_id = %(stream)s AND b.lo <= %(position)s AND b.hi > %(position)s
ORDER BY b.lo DESC LIMIT 1
"""

_ATTEMPTS: LiteralString = """
SELECT try_number, at, outcome, state, code, detail FROM deliveries_attempt
WHERE stream_id = %(stream)s AND position = %(position)s ORDER BY id
"""

_EVENTS: LiteralString = """
SELECT at, kind, actor, coalesce((data ->> 'try')::int, 0) FROM deliveries_deliveryevent
WHERE stream_id = %(stream)s AND position = %(position)s ORDER BY id
"""


_REPORTS: LiteralString = """
SELECT happened_at, delivery_report(kind, counts_as), name, try_number, coalesce(code, ''),
       coalesce(detail, ''), received_at
FROM deliveries_feedback
WHERE stream_id = %(stream)s AND position = %(position)s ORDER BY happened_at, key
"""


def find_delivery(stream_id: int, position: int) -> DeliveryFacts | None:
    params = {"stream": stream_id, "position": position}
    row = sql.first_row(_DELIVERY, params)
    if row is None:
        return None
    history: list[AttemptFacts | EventFacts | ReportFacts] = [
        AttemptFacts(*sql.convert(attempt, {2: AttemptOutcome, 3: State}))
        for attempt in sql.rows(_ATTEMPTS, params)
    ]
    history += [EventFacts(*event) for event in sql.rows(_EVENTS, params)]
    history += [ReportFacts(*report) for report in sql.rows(_REPORTS, params)]
    work = sql.first_row(_WORK, params) if row[3] == State.WAITING else None
    work_facts = WorkFacts(*sql.convert(work, {0: Reason})) if work else None
    columns = (*row, work_facts, sorted(history, key=lambda fact: fact.at))
    return DeliveryFacts(*sql.convert(columns, {3: State}))


_BY_MESSAGE: LiteralString = """
SELECT stream_id, position FROM deliveries_providermessage WHERE message_id = %(message)s
"""


def find_by_message_id(message_id: str) -> tuple[int, int] | None:
    """The delivery a provider's own id belongs to."""
    row = sql.first_row(_BY_MESSAGE, {"message": message_id})
    return (row[0], row[1]) if row else None


_SETTLED: LiteralString = """
SELECT given.stream_id, given.position,
       CASE WHEN d.state NOT IN ('waiting', 'in_doubt') THEN d.settled_at END
FROM unnest(%(streams)s::bigint[], %(positions)s::bigint[]) AS given (stream_id, position)
CROSS JOIN LATERAL (
    SELECT state, settled_at FROM deliveries_delivery
    WHERE stream_id = given.stream_id AND position = given.position LIMIT 1
) AS d
"""


def find_settled(ids: Sequence[DeliveryId]) -> dict[DeliveryId, datetime | None]:
    """When each delivery got its result; None while it waits or is in doubt. Deliveries of dropped
    months are left out.
    """
    params = {
        "streams": sql.Bigints(id_.stream_id for id_ in ids),
        "positions": sql.Bigints(id_.position for id_ in ids),
    }
    rows = sql.rows(_SETTLED, params)
    return {DeliveryId(stream, position): at for stream, position, at in rows}
