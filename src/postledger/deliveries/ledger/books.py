"""The SQL that every verb with results shares: lines into attempts, counters and batches."""

from typing import LiteralString

COUNTED: tuple[LiteralString, ...] = (
    "accepted",
    "failed",
    "skipped",
    "suppressed",
    "expired",
    "cancelled",
    "in_doubt",
)
COLUMNS: LiteralString = ", ".join(COUNTED)

_TALLIES: LiteralString = ", ".join(
    ["count(*) FILTER (WHERE state = '" + name + "')::int AS " + name for name in COUNTED]
)
_ADDED: LiteralString = ", ".join(
    [name + " = b." + name + " + coalesce(t." + name + ", 0)" for name in COUNTED]
)
_TOTALS: LiteralString = ", ".join(
    ["b." + name + " + coalesce(t." + name + ", 0) AS " + name for name in COUNTED]
)
_SUMS: LiteralString = ", ".join(["sum(" + name + ")" for name in COUNTED])

# Expects `win` (id, stream_id, hi, moved_to) and `line` (batch_id, stream_id, position,
# try_number, attempts, state, outcome, code, detail, message_id, duration_ms); {moved} is what
# else changes on a batch that lives on. All counters come from what the update returned.
# A first attempt that was accepted lives on the delivery alone, and so does a cancelled one:
# there was no attempt.
_BOOK: LiteralString = """
attempt AS (
    INSERT INTO deliveries_attempt (
        stream_id, position, try_number, at, outcome, state, code, detail, message_id, duration_ms
    )
    SELECT stream_id, position, try_number, statement_timestamp(), outcome, state, code, detail,
           message_id, duration_ms
    FROM line WHERE state <> 'cancelled' AND NOT (state = 'accepted' AND try_number = 1)
), tally AS MATERIALIZED (
    SELECT batch_id, {tallies} FROM line GROUP BY batch_id
), ended AS (
    DELETE FROM deliveries_batch b
    USING win LEFT JOIN tally t ON t.batch_id = win.id
    WHERE b.id = win.id AND win.moved_to >= win.hi
    RETURNING b.id, b.stream_id, b.planned, {totals}
), moved AS (
    UPDATE deliveries_batch b SET lo = win.moved_to, {added}, {moved}
    FROM win LEFT JOIN tally t ON t.batch_id = win.id
    WHERE b.id = win.id AND win.moved_to < win.hi
    RETURNING b.id
), delta AS (
    INSERT INTO deliveries_streamdelta (stream_id, planned, {columns})
    SELECT stream_id, sum(planned), {sums} FROM ended GROUP BY stream_id
)
"""


def book(*, moved: LiteralString) -> LiteralString:
    return (
        _BOOK.replace("{tallies}", _TALLIES)
        .replace("{totals}", _TOTALS)
        .replace("{added}", _ADDED)
        .replace("{columns}", COLUMNS)
        .replace("{sums}", _SUMS)
        .replace("{moved}", moved)
    )


# Expects `entry` and `win` (id, lo, line_to, try_number, lease_until). A delivery changes only
# while it waits and has no result of this try or a later one. Doubt is sticky: what would close
# a delivery whose earlier try is unresolved puts it back in doubt.
LINE_FROM_ENTRIES: LiteralString = """
line AS (
    UPDATE deliveries_delivery d SET
        state = CASE
            WHEN d.doubts IS NOT NULL AND e.state NOT IN ('accepted', 'waiting') THEN 'in_doubt'
            ELSE e.state
        END,
        last_try = win.try_number,
        attempts = d.attempts + e.counts::int,
        code = e.code,
        message_id = coalesce(e.message_id, d.message_id),
        duration_ms = e.duration_ms,
        settled_at = CASE WHEN e.state <> 'waiting' THEN clock_timestamp() END,
        doubts = CASE e.state
            WHEN 'in_doubt' THEN d.doubts || win.try_number
            WHEN 'accepted' THEN NULL
            ELSE d.doubts
        END,
        resend_after = CASE e.state
            WHEN 'in_doubt' THEN win.lease_until + %(grace)s
            WHEN 'accepted' THEN NULL
            ELSE d.resend_after
        END
    FROM entry e JOIN win ON win.id = e.batch_id
    WHERE d.stream_id = %(stream)s
      AND d.position = e.position
      AND e.position >= win.lo AND e.position < win.line_to
      AND d.state = 'waiting'
      AND d.last_try < win.try_number
    RETURNING win.id AS batch_id, d.stream_id, d.position, win.try_number, d.attempts, d.state,
        e.outcome, e.code, e.detail, e.message_id, e.duration_ms, e.delay, e.reason
)
"""

ENTRIES: LiteralString = """
entry AS MATERIALIZED (
    SELECT * FROM unnest(
        %(batch_ids)b::bigint[], %(positions)b::bigint[], %(outcomes)b::text[],
        %(states)b::text[], %(counts)b::boolean[], %(codes)b::text[], %(details)b::text[],
        %(message_ids)b::text[], %(durations)b::integer[], %(delays)b::interval[],
        %(reasons)b::text[]
    ) AS e (
        batch_id, position, outcome, state, counts, code, detail, message_id, duration_ms, delay,
        reason
    )
)
"""
