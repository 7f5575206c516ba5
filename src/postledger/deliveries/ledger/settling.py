"""Books the provider's answers and makes the batches that try again.

One statement does it all. Its CTEs, in order:

want      the windows that the caller settles
taken     their batches, locked, where the lease is still the caller's; `win` is the same
answer    the caller's results
span      the deliveries of the windows that still wait without a result of this try
entry     one result for each of them: its answer, or in doubt without one
booked    the deliveries, updated
attempt   what the history keeps: all but first tries that were accepted
ended, moved, delta          the batches, which end or go on, and the counters of their stream
message   the provider's own ids
spaced, grouped, again       the batches for what is tried again

`_SETTLE_ACCEPTED` is the same for first tries that were all accepted, without attempt and again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import LiteralString

from postledger.deliveries.entries import AttemptOutcome, Claim, Entry, Evidence, Settled, Window
from postledger.deliveries.ledger import books, counting, evidence, sql
from postledger.deliveries.ledger.arming import ORPHAN_GRACE
from postledger.deliveries.states import State

_WINDOWS: LiteralString = """
WITH want AS (
    SELECT * FROM unnest(
        %(ids)s::bigint[], %(los)s::bigint[], %(tos)s::bigint[], %(moved_tos)s::bigint[]
    ) AS w (id, lo, armed_to, moved_to)
), taken AS MATERIALIZED (
    SELECT b.id, b.stream_id, b.lo, b.hi, b.armed_to, b.try_number, b.lease_until, b.is_single,
           w.moved_to, w.moved_to AS span_to
    FROM want w JOIN deliveries_batch b ON b.id = w.id
    WHERE %(epoch)s = (SELECT max(number) FROM deliveries_epoch)
      AND b.lease = %(lease)s AND b.lo = w.lo AND b.armed_to = w.armed_to
      AND b.stream_id = %(stream)s AND w.moved_to BETWEEN w.lo AND w.armed_to
    ORDER BY b.id
    FOR NO KEY UPDATE OF b
), win AS (
    SELECT * FROM taken
)
"""

_COUNTERS: LiteralString = books.counters(
    moved="armed_to = NULLIF(win.armed_to, win.moved_to), losses = 0, lone_losses = 0"
)

_MESSAGES: LiteralString = """
message AS (
    INSERT INTO deliveries_providermessage (stream_id, position, try_number, message_id)
    SELECT stream_id, position, try_number, message_id FROM booked WHERE message_id IS NOT NULL
)
"""

# Runs of retries that are due together become one batch. It may span accepted mails, which never
# come back, but nothing else. The join with the shrunk parents makes them shrink first.
_RETRIES: LiteralString = f"""
spaced AS (
    SELECT batch_id, position, state, try_number, delay, reason,
           position - row_number() OVER (PARTITION BY batch_id ORDER BY position) AS run
    FROM booked
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
           g.try_number + 1, {sql.due_after("g.try_number", "g.delay")},
           g.reason, statement_timestamp()
    FROM grouped g
    JOIN (SELECT id FROM moved UNION ALL SELECT id FROM ended) AS shrunk ON shrunk.id = g.batch_id
    JOIN win ON win.id = g.batch_id
    WHERE g.state = 'waiting'
    GROUP BY g.batch_id, g.run, g.island, g.try_number, g.delay, g.reason
)
"""

_RESULT: LiteralString = f"""
SELECT (SELECT coalesce(array_agg(id), '{{}}') FROM win),
       (SELECT coalesce(array_agg(state), '{{}}') FROM booked),
       {books.FOUND_ALL}
"""

# Every armed mail gets a result: one that was handed over and has no answer is in doubt.
_ENTRIES: LiteralString = f"""
answer AS MATERIALIZED ({books.GIVEN_ENTRIES}), {books.SPAN}, entry AS MATERIALIZED (
    SELECT * FROM answer
    UNION ALL
    SELECT position, 'in_doubt', 'in_doubt', true, 'no_answer', 'No answer was reported.',
           NULL, NULL, NULL, NULL, 'TRANSIENT_ERROR', NULL
    FROM span WHERE NOT EXISTS (SELECT FROM answer WHERE answer.position = span.position)
)
"""
_SETTLE: LiteralString = f"""
{_WINDOWS}, {_ENTRIES}, {books.BOOKED}, {books.ATTEMPTS}, {_COUNTERS}, {_MESSAGES}, {_RETRIES}
{_RESULT}
"""

# The common case, every position of first tries accepted: no attempts, no retries, three columns.
_ACCEPTED_ENTRIES: LiteralString = f"""
answer AS MATERIALIZED (
    SELECT e.position, e.message_id, e.duration_ms
    FROM unnest(%(positions)s::bigint[], %(message_ids)s::text[], %(durations)s::integer[])
      AS e (position, message_id, duration_ms)
), {books.SPAN}, entry AS MATERIALIZED (
    SELECT position, 'accepted' AS outcome, 'accepted' AS state, true AS counts, NULL AS code,
           NULL AS detail, message_id, duration_ms, NULL AS delay, NULL AS reason,
           NULL AS category, NULL AS original_code
    FROM answer
)
"""
_SETTLE_ACCEPTED: LiteralString = f"""
{_WINDOWS}, {_ACCEPTED_ENTRIES}, {books.BOOKED}, {_COUNTERS}, {_MESSAGES}
{_RESULT}
"""


def settle(
    claim: Claim,
    windows: Sequence[Window],
    *,
    results: Sequence[Entry],
    settled_to: Mapping[int, int] | None = None,
) -> Settled:
    """Books the results of armed windows of one stream; counts attempts, once.

    Valid only with the lease: a batch matches by (id, lease, lo, armed_to), deliveries change
    only while they wait without a result of this try. Cursor, results and retry batches commit
    together. Retries of one window that are due together share a batch; it may span mails that
    were accepted, never one that could come back. A mail of the windows without a result is in
    doubt. A window whose lease was lost changes no work: its answers are recorded as evidence.
    `settled_to`, by batch id, books only the positions before it.
    """
    if not windows:
        return Settled(counts={}, retried=0, lost=[])
    tos = {window.batch.id: window.to for window in windows} | dict(settled_to or {})
    params: dict[str, object] = {
        "stream": books.stream_of(windows),
        "lease": claim.lease,
        "epoch": claim.epoch,
        "grace": ORPHAN_GRACE,
        "ids": sql.Bigints(window.batch.id for window in windows),
        "los": sql.Bigints(window.batch.lo for window in windows),
        "tos": sql.Bigints(window.to for window in windows),
        "moved_tos": sql.Bigints(tos[window.batch.id] for window in windows),
    }
    statement, columns = _statement_for(windows, results, tos)
    [(matched, booked, _)] = sql.rows_after_races(statement, {**params, **columns})
    counting.count_results(booked, doubt_cause="no_answer")
    lost = [window for window in windows if window.batch.id not in set(matched)]
    for window in lost:
        _record_late(window, results, claim.epoch)
    counts = Counter(State(state) for state in booked)
    return Settled(counts=counts, retried=counts.pop(State.WAITING, 0), lost=lost)


def _statement_for(
    windows: Sequence[Window], results: Sequence[Entry], tos: Mapping[int, int]
) -> tuple[LiteralString, dict[str, object]]:
    is_plain = (
        all(window.batch.try_number == 1 for window in windows)
        and all(entry.outcome is AttemptOutcome.ACCEPTED for entry in results)
        and len(results) == sum(tos[window.batch.id] - window.batch.lo for window in windows)
    )
    if not is_plain:
        return _SETTLE, books.entry_columns(results)
    return _SETTLE_ACCEPTED, {
        "positions": sql.Bigints(entry.position for entry in results),
        "message_ids": sql.Texts(entry.message_id for entry in results),
        "durations": sql.Bigints(entry.duration_ms for entry in results),
    }


def _record_late(window: Window, results: Sequence[Entry], epoch: int) -> None:
    batch = window.batch
    answers = [
        Evidence(batch.try_number, entry, "late answer", epoch)
        for entry in results
        if batch.lo <= entry.position < window.to
    ]
    evidence.record(batch.stream_id, answers)
