"""The way of work under a lease: turns, claim, arm, settle, wait."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import LiteralString

from django.db import transaction

from postledger.deliveries import states
from postledger.deliveries.entries import Batch, Claim, Entry, Evidence, Settled, Window
from postledger.deliveries.ledger import books, evidence, sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State

# How long after a lease's end its bytes may still leave the kernel: until then nobody may send
# a doubtful mail again.
ORPHAN_GRACE = timedelta(minutes=15)

_TURNS: LiteralString = """
WITH next AS MATERIALIZED (
    SELECT l.stream_id
    FROM deliveries_lane l
    JOIN deliveries_stream s ON s.id = l.stream_id
    WHERE s.cancelled_at IS NULL
      AND (s.held_reason IS NULL OR s.held_until <= statement_timestamp())
      AND NOT EXISTS (
        SELECT FROM deliveries_senderhold h
        WHERE h.sender_id = s.sender_id AND (h.until IS NULL OR h.until > statement_timestamp())
      )
      AND EXISTS (
        SELECT FROM deliveries_batch b
        WHERE b.stream_id = l.stream_id AND b.due_at <= statement_timestamp() AND b.lease IS NULL
      )
    ORDER BY l.priority, l.turn_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF l SKIP LOCKED
)
UPDATE deliveries_lane l SET turn_at = clock_timestamp()
FROM next WHERE l.stream_id = next.stream_id
RETURNING l.stream_id, l.priority
"""


def turns(*, limit: int) -> list[int]:
    """Names the streams whose turn it is: with due work, not held, longest without a turn first.

    Each goes to the end of its priority's line, so one turn each is fair; two callers at once
    get different streams.
    """
    found = sql.rows(_TURNS, {"limit": limit})
    return [stream_id for stream_id, _ in sorted(found, key=lambda row: row[1])]


_CLAIM: LiteralString = (
    """
WITH due AS MATERIALIZED (
    SELECT b.id FROM deliveries_batch b
    WHERE b.stream_id = %(stream)s AND b.due_at <= statement_timestamp() AND b.lease IS NULL
      AND """
    + sql.STREAM_IS_OPEN
    + """
    ORDER BY b.due_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF b SKIP LOCKED
), token AS MATERIALIZED (
    SELECT nextval('deliveries_lease_token') AS lease WHERE EXISTS (SELECT FROM due)
), claimed AS (
    UPDATE deliveries_batch b
    SET lease = token.lease, lease_until = clock_timestamp() + %(lease_time)s
    FROM due, token WHERE b.id = due.id
    RETURNING b.lease, b.id, b.lo, b.hi, b.try_number, b.version, b.lease_until
), directory AS (
    INSERT INTO deliveries_lease (token, holder, taken_at, check_at, batch_ids)
    SELECT lease, %(holder)s, statement_timestamp(), max(lease_until), array_agg(id)
    FROM claimed GROUP BY lease
)
SELECT lease, id, lo, hi, try_number, version FROM claimed ORDER BY lo
"""
)


def claim(stream_id: int, *, holder: str, limit: int, lease_time: timedelta) -> Claim | None:
    """Leases due batches of one stream that is not held, in the order they are due.

    At most one holder has a batch: rows are taken with SKIP LOCKED, the token comes from a
    sequence and ends by the database's clock. None when there is nothing to take.
    """
    params = {"stream": stream_id, "limit": limit, "lease_time": lease_time, "holder": holder}
    found = sql.rows(_CLAIM, params)
    if not found:
        return None
    batches = [
        Batch(id=id_, stream_id=stream_id, lo=lo, hi=hi, try_number=number, version=version)
        for _, id_, lo, hi, number, version in found
    ]
    return Claim(lease=found[0][0], batches=batches)


_GATES: LiteralString = """
SELECT pg_advisory_xact_lock_shared(%(stream_gate)s, (id & 2147483647)::integer),
       pg_advisory_xact_lock_shared(%(sender_gate)s, (sender_id & 2147483647)::integer)
FROM deliveries_stream WHERE id = %(stream)s
"""

_ARM: LiteralString = (
    """
WITH want AS (
    SELECT * FROM unnest(
        %(ids)b::bigint[], %(versions)b::integer[], %(los)b::bigint[], %(tos)b::bigint[],
        %(empties)b::boolean[]
    ) AS w (id, version, lo, armed_to, is_empty)
), win AS MATERIALIZED (
    SELECT b.id, b.stream_id, b.lo, b.hi, b.try_number, b.lease_until, w.is_empty,
           w.armed_to AS line_to, CASE WHEN w.is_empty THEN w.armed_to ELSE b.lo END AS moved_to
    FROM want w JOIN deliveries_batch b ON b.id = w.id
    WHERE b.lease = %(lease)s
      AND b.lease_until > clock_timestamp()
      AND b.version = w.version
      AND b.lo = w.lo
      AND b.armed_to IS NULL
      AND b.due_at <= clock_timestamp()
      AND w.armed_to <= b.hi
      AND """
    + sql.STREAM_IS_OPEN
    + """
    ORDER BY b.id
    FOR NO KEY UPDATE OF b
), """
    + books.ENTRIES
    + ", "
    + books.LINE_FROM_ENTRIES
    + ", "
    + books.book(
        moved="armed_to = CASE WHEN win.is_empty THEN NULL ELSE win.line_to END,"
        " lease_until = clock_timestamp() + %(lease_time)s"
    )
    + """
SELECT id FROM win
"""
)


def arm(
    claim: Claim,
    windows: Sequence[Window],
    *,
    lease_time: timedelta,
    verdicts: Mapping[int, Sequence[Entry]] | None = None,
    empty: Collection[int] = (),
) -> list[Window]:
    """Declares windows of one stream as being with the provider; returns those that may be sent.

    A window is armed only if the lease is mine and still runs, nothing changed since it was
    composed (version, lo), nothing is armed in its batch, and neither stream nor sender is held;
    arming renews the lease. The gates' verdicts (by batch id) commit with it or not at all.
    The windows of the batches in `empty` have nothing left to send: they are passed over and not
    returned. Never call this inside a longer transaction: the commit is what allows the sending.
    """
    if not windows:
        return []
    stream_id = windows[0].batch.stream_id
    params = {
        **_entry_columns(_checked(verdicts or {})),
        "stream": stream_id,
        "lease": claim.lease,
        "lease_time": lease_time,
        "grace": ORPHAN_GRACE,
        "ids": [window.batch.id for window in windows],
        "versions": [window.batch.version for window in windows],
        "los": [window.batch.lo for window in windows],
        "tos": [window.to for window in windows],
        "empties": [window.batch.id in empty for window in windows],
    }
    gates = {
        "stream": stream_id,
        "stream_gate": sql.GATE_OF_STREAM,
        "sender_gate": sql.GATE_OF_SENDER,
    }
    with transaction.atomic():
        # Two statements: only the second one's snapshot is sure to see a hold that won the gate.
        sql.rows(_GATES, gates)
        armed = {id_ for (id_,) in sql.rows(_ARM, params)}.difference(empty)
    return [window for window in windows if window.batch.id in armed]


def _checked(verdicts: Mapping[int, Sequence[Entry]]) -> Mapping[int, Sequence[Entry]]:
    for entry in (entry for entries in verdicts.values() for entry in entries):
        if not states.is_verdict(entry.state):
            msg = f"{entry.state} is not a verdict the gates can give"
            raise ValueError(msg)
    return verdicts


_SETTLE: LiteralString = (
    """
WITH want AS (
    SELECT * FROM unnest(
        %(ids)b::bigint[], %(los)b::bigint[], %(tos)b::bigint[], %(moved_tos)b::bigint[]
    ) AS w (id, lo, armed_to, moved_to)
), win AS MATERIALIZED (
    SELECT b.id, b.stream_id, b.lo, b.hi, b.armed_to, b.try_number, b.lease_until, b.is_single,
           w.moved_to, w.moved_to AS line_to
    FROM want w JOIN deliveries_batch b ON b.id = w.id
    WHERE b.lease = %(lease)s AND b.lo = w.lo AND b.armed_to = w.armed_to
    ORDER BY b.id
    FOR NO KEY UPDATE OF b
), """
    + books.ENTRIES
    + ", "
    + books.LINE_FROM_ENTRIES
    + ", "
    + books.book(moved="armed_to = NULLIF(win.armed_to, win.moved_to), losses = 0")
    + """
, message AS (
    INSERT INTO deliveries_providermessage (stream_id, position, try_number, message_id)
    SELECT stream_id, position, try_number, message_id FROM line WHERE message_id IS NOT NULL
), spaced AS (
    SELECT batch_id, position, state, try_number, delay, reason,
           position - row_number() OVER (PARTITION BY batch_id ORDER BY position) AS run
    FROM line
), grouped AS (
    SELECT batch_id, position, state, try_number, delay, reason, run,
           row_number() OVER (PARTITION BY batch_id, run ORDER BY position)
           - row_number() OVER (
               PARTITION BY batch_id, run, state, delay, reason ORDER BY position
           ) AS island
    FROM spaced WHERE state <> 'accepted'
), again AS (
    INSERT INTO deliveries_batch (
        stream_id, lo, hi, is_single, try_number, due_at, reason, since
    )
    SELECT %(stream)s, min(g.position), max(g.position) + 1, bool_and(win.is_single),
           g.try_number + 1, statement_timestamp() + g.delay, g.reason, statement_timestamp()
    FROM grouped g
    JOIN (SELECT id FROM moved UNION ALL SELECT id FROM ended) AS shrunk ON shrunk.id = g.batch_id
    JOIN win ON win.id = g.batch_id
    WHERE g.state = 'waiting'
    GROUP BY g.batch_id, g.run, g.island, g.try_number, g.delay, g.reason
)
SELECT (SELECT coalesce(array_agg(id), '{}') FROM win),
       (SELECT coalesce(array_agg(state), '{}') FROM line)
"""
)


def settle(
    claim: Claim,
    windows: Sequence[Window],
    *,
    results: Mapping[int, Sequence[Entry]],
    settled_to: Mapping[int, int] | None = None,
) -> Settled:
    """Books the results (by batch id) of armed windows of one stream; counts attempts, once.

    Valid only with the lease: a batch matches by (id, lease, lo, armed_to), deliveries change
    only while they wait without a result of this try. Cursor, results and retry batches commit
    together. Retries of one window that are due together share a batch; it may span mails that
    were accepted, never one that could come back. A window whose lease was lost changes no
    work: its answers are recorded as evidence. `settled_to` books a prefix, by batch id.
    """
    if not windows:
        return Settled(counts={}, retried=0, lost=[])
    tos = {window.batch.id: window.to for window in windows} | dict(settled_to or {})
    params = {
        **_entry_columns(results),
        "stream": windows[0].batch.stream_id,
        "lease": claim.lease,
        "grace": ORPHAN_GRACE,
        "ids": [window.batch.id for window in windows],
        "los": [window.batch.lo for window in windows],
        "tos": [window.to for window in windows],
        "moved_tos": [tos[window.batch.id] for window in windows],
    }
    [(matched, booked)] = sql.rows(_SETTLE, params)
    lost = [window for window in windows if window.batch.id not in set(matched)]
    for window in lost:
        _record_late(window, results.get(window.batch.id, ()))
    counts = Counter(State(state) for state in booked)
    return Settled(counts=counts, retried=counts.pop(State.WAITING, 0), lost=lost)


def _record_late(window: Window, entries: Sequence[Entry]) -> None:
    batch = window.batch
    answers = [Evidence(batch.try_number, entry, "late answer") for entry in entries]
    evidence.record(batch.stream_id, answers)


_WAIT: LiteralString = """
UPDATE deliveries_batch
SET due_at = %(due_at)s, reason = %(reason)s, lease = NULL, lease_until = NULL,
    since = CASE WHEN reason = %(reason)s THEN since ELSE statement_timestamp() END
WHERE id = ANY(%(ids)b::bigint[]) AND lease = %(lease)s AND armed_to IS NULL
RETURNING id
"""


def wait(claim: Claim, batches: Sequence[Batch], *, due_at: datetime, reason: Reason) -> list[int]:
    """Gives leased, unarmed batches back with the reason they wait and the time they go on.

    The one way to defer. Attempts are not counted; waiting on for the same reason keeps `since`.
    """
    params = {
        "ids": [batch.id for batch in batches],
        "lease": claim.lease,
        "due_at": due_at,
        "reason": reason.value,
    }
    return [id_ for (id_,) in sql.rows(_WAIT, params)]


def _entry_columns(by_batch: Mapping[int, Sequence[Entry]]) -> dict[str, object]:
    given = [(batch_id, entry) for batch_id, entries in by_batch.items() for entry in entries]
    entries = [entry for _, entry in given]
    return {
        "batch_ids": [batch_id for batch_id, _ in given],
        "positions": [entry.position for entry in entries],
        "outcomes": [entry.outcome.value for entry in entries],
        "states": [entry.state.value for entry in entries],
        "counts": [entry.counts for entry in entries],
        "codes": [entry.code for entry in entries],
        "details": [entry.detail for entry in entries],
        "message_ids": [entry.message_id for entry in entries],
        "durations": [entry.duration_ms for entry in entries],
        "delays": [entry.delay for entry in entries],
        "reasons": [None if entry.reason is None else entry.reason.value for entry in entries],
    }
