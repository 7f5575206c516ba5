"""The facts about one delivery: where it stands, and everything that happened to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.entries import Outcome
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State


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
    outcome: Outcome
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
class DeliveryFacts:
    """A delivery as its story is told."""

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
    history: Sequence[AttemptFacts | EventFacts]


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


def delivery(stream_id: int, position: int) -> DeliveryFacts | None:
    params = {"stream": stream_id, "position": position}
    row = sql.one(_DELIVERY, params)
    if row is None:
        return None
    work = sql.one(_WORK, params) if row[3] == State.WAITING else None
    history: list[AttemptFacts | EventFacts] = [
        AttemptFacts(number, at, Outcome(outcome), State(after), code, detail)
        for number, at, outcome, after, code, detail in sql.rows(_ATTEMPTS, params)
    ]
    history += [EventFacts(*event) for event in sql.rows(_EVENTS, params)]
    return DeliveryFacts(
        position=position,
        address=row[1],
        planned_at=row[2],
        state=State(row[3]),
        attempts=row[4],
        last_try=row[5],
        code=row[6],
        message_id=row[7],
        settled_at=row[8],
        doubts=row[9],
        resend_after=row[10],
        work=WorkFacts(Reason(work[0]), *work[1:]) if work else None,
        history=sorted(history, key=lambda fact: fact.at),
    )


_BY_MESSAGE: LiteralString = """
SELECT stream_id, position FROM deliveries_providermessage WHERE message_id = %(message)s
"""


def find_by_message_id(message_id: str) -> tuple[int, int] | None:
    """The delivery a provider's own id belongs to."""
    row = sql.one(_BY_MESSAGE, {"message": message_id})
    return (row[0], row[1]) if row else None
