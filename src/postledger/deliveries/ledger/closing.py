"""Ends waiting mail that nobody will hand over: of a cancelled stream, of a sender that stayed
blocked, and what workers died of.
"""

from dataclasses import dataclass
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.entries import AttemptOutcome, StreamKind
from postledger.deliveries.ledger import books, counting, sql
from postledger.deliveries.states import State
from postledger.providers.base import Category


@dataclass(frozen=True, slots=True)
class Ending:
    """How mail ends that nobody will hand over; without an outcome there was no attempt."""

    state: State
    outcome: AttemptOutcome | None = None
    code: str | None = None
    category: str | None = None
    original_code: str | None = None
    detail: str | None = None


POISONED = Ending(
    State.FAILED, AttemptOutcome.POISON, code="poison", category=Category.PERMANENT.value
)
_CANCELLED = Ending(State.CANCELLED)

# Ends unleased batches whose mails will not go. Doubt is sticky here too.
_CLOSE: LiteralString = f"""
WITH win AS MATERIALIZED (
    SELECT id, stream_id, lo, hi, try_number, hi AS moved_to FROM deliveries_batch
    WHERE id = ANY(%(ids)s::bigint[]) AND lease IS NULL
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
), booked AS (
    UPDATE deliveries_delivery d SET
        state = CASE WHEN d.doubts IS NULL THEN %(state)s ELSE 'in_doubt' END,
        code = %(code)s, settled_at = clock_timestamp(),
        -- Of a try not made; after a restore its number leapt, and that must not be forgotten.
        last_try = win.try_number - 1
    FROM win
    WHERE d.stream_id = win.stream_id AND d.position >= win.lo AND d.position < win.hi
      AND d.state = 'waiting'
    RETURNING win.id AS batch_id, d.stream_id, d.position, win.try_number, d.state,
        %(outcome)s::text AS outcome, d.code, %(detail)s::text AS detail,
        %(category)s::text AS category, NULL AS message_id, NULL::integer AS duration_ms,
        %(original_code)s::text AS original_code, NULL::interval AS delay
), {books.ATTEMPTS}, {books.counters(moved="armed_to = NULL")}
SELECT {counting.RESULTS}
"""


def close(ids: list[int], ending: Ending) -> int:
    """Ends the mail of batches that nobody leases; returns how much. Call it in a transaction."""
    if not ids:
        return 0
    params = {
        "ids": sql.Bigints(ids),
        "state": ending.state.value,
        "outcome": ending.outcome and ending.outcome.value,
        "code": ending.code,
        "category": ending.category,
        "original_code": ending.original_code,
        "detail": ending.detail,
    }
    [(results,)] = sql.rows(_CLOSE, params)
    counting.count_results(results, is_untouched=True)
    return len(results)


_TO_DRAIN: LiteralString = """
SELECT b.id, s.block_code, s.block_category, s.block_original_code, s.block_detail
FROM deliveries_batch b
JOIN deliveries_stream s ON s.id = b.stream_id AND s.cancelled_at IS NOT NULL
WHERE b.stream_id = %(stream)s AND b.lease IS NULL AND deliveries_is_judged(%(stream)s)
ORDER BY b.due_at
LIMIT %(limit)s
FOR NO KEY UPDATE OF b SKIP LOCKED
"""
_CANCELLED_WHILE_BLOCKED = "Its stream was cancelled while the provider refused its sender."


def drain(stream_id: int, *, limit: int = 2) -> int:
    """Books what waits in a cancelled stream as cancelled, a few batches at a time; as failed if
    its sender was blocked when it was cancelled.

    From waiting only, in batches nobody leases; returns how many deliveries ended: 0 when nothing
    is left, or a worker has everything that is left.
    """
    with transaction.atomic():
        rows = sql.rows(_TO_DRAIN, {"stream": stream_id, "limit": limit})
        if not rows:
            return 0
        _, *block = rows[0]
        ending = _give_up(_CANCELLED_WHILE_BLOCKED, *block) if block[0] else _CANCELLED
        return close([id_ for id_, *_ in rows], ending)


def _give_up(
    cause: str, code: str, category: str, original_code: str | None, detail: str
) -> Ending:
    outcome, detail = AttemptOutcome.GIVEN_UP, f"{cause} {detail}".rstrip()
    return Ending(State.FAILED, outcome, code, category, original_code, detail)


# Locked until the commit: a person who releases the sender, or acts on one of its streams, waits
# for it, and afterwards nothing fails. A stream that is held by itself waits for that too.
_STAYED_BLOCKED: LiteralString = """
SELECT s.kind, h.code, h.category, h.original_code, h.detail
FROM deliveries_stream s JOIN deliveries_senderhold h ON h.sender_id = s.sender_id
WHERE s.id = %(stream)s AND h.fails_at <= clock_timestamp()
  AND s.cancelled_at IS NULL
  AND deliveries_is_judged(s.id)
  AND NOT EXISTS (
    SELECT FROM deliveries_streamhold own
    WHERE own.stream_id = s.id AND (own.until IS NULL OR own.until > clock_timestamp())
  )
FOR SHARE OF h
"""
_TO_GIVE_UP: LiteralString = """
SELECT id FROM deliveries_batch
WHERE stream_id = %(stream)s AND due_at <= statement_timestamp() AND lease IS NULL
ORDER BY due_at
LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED
"""
_NOBODY_ACTED = "The provider refused its sender, and nobody acted for 72 hours."


def give_up(stream_id: int) -> int:
    """Fails what is due in a stream whose sender stayed blocked, with the code of the block; about
    a thousand mails at a time.

    From waiting only, in batches nobody leases; returns how many deliveries ended: 0 when nothing
    is left, a worker has everything that is left, or the block is over.
    """
    with transaction.atomic():
        row = sql.first_row(_STAYED_BLOCKED, {"stream": stream_id})
        if row is None:
            return 0
        kind, *block = row
        limit = 500 if kind == StreamKind.TRANSACTIONAL else 2
        ids = [id_ for (id_,) in sql.rows(_TO_GIVE_UP, {"stream": stream_id, "limit": limit})]
        return close(ids, _give_up(_NOBODY_ACTED, *block))
