"""The SQL that every verb with results shares: results into attempts, counters and batches."""

from collections.abc import Sequence
from typing import LiteralString

from postledger.deliveries.entries import Entry, Window
from postledger.deliveries.ledger import sql

COUNTED: tuple[LiteralString, ...] = (
    "accepted",
    "failed",
    "skipped",
    "suppressed",
    "expired",
    "cancelled",
    "in_doubt",
)
SUMS: LiteralString = ", ".join([f"sum({name}) AS {name}" for name in ("planned", *COUNTED)])

# What providers reported, beside the books: deliveries with at least one such event. The last one
# counts those with any event.
REPORTED: tuple[LiteralString, ...] = (
    "delivered",
    "bounced",
    "soft_bounced",
    "on_suppression_list",
    "complained",
    "dropped",
    "opened",
    "clicked",
    "reported",
)
_FOLDED_NAMES: tuple[LiteralString, ...] = ("planned", *COUNTED, *REPORTED)
# What is counted by slots of time, too.
PACED: tuple[LiteralString, ...] = (*COUNTED, "delivered", "bounced", "complained", "reported")
_NO_RESULT: LiteralString = " AND ".join([f"d.{name} = 0" for name in COUNTED])
_NOTHING: LiteralString = " AND ".join([f"d.{name} = 0" for name in PACED])
# The beginning of the slot that the delta `d` of the stream `s` belongs to.
SLOT: LiteralString = f"""date_bin(
    CASE WHEN s.kind = 'transactional' OR ({_NO_RESULT})
         THEN interval '1 minute' ELSE interval '5 seconds' END,
    d.at, timestamptz '2000-01-01 00:00Z'
)"""

# Moves counters from deltas to their streams' rows, and to the slots in which they came; expects
# `gone`, the deleted deltas.
FOLDED: LiteralString = f"""
total AS (
    SELECT stream_id, {", ".join([f"sum({name}) AS {name}" for name in _FOLDED_NAMES])}
    FROM gone GROUP BY stream_id
), folded AS (
    UPDATE deliveries_stream s
    SET {", ".join([f"{name} = s.{name} + t.{name}" for name in _FOLDED_NAMES])},
        folded_at = statement_timestamp()
    FROM total t WHERE s.id = t.stream_id
), paced AS (
    INSERT INTO deliveries_streampace AS p (stream_id, slot, {", ".join(PACED)})
    SELECT d.stream_id, {SLOT}, {", ".join([f"sum(d.{name})" for name in PACED])}
    FROM gone d JOIN deliveries_stream s ON s.id = d.stream_id
    WHERE NOT ({_NOTHING})
    GROUP BY 1, 2
    ON CONFLICT (stream_id, slot) DO UPDATE
    SET {", ".join([f"{name} = p.{name} + excluded.{name}" for name in PACED])}
)
"""

# What only a provider's answer has, for the `booked` of a verb without one.
NO_ANSWER: LiteralString = """
    NULL AS message_id, NULL::integer AS duration_ms, NULL AS original_code, NULL::interval AS delay
"""

# Expects `booked` (stream_id, position, try_number, state, outcome, code, detail, category, and the
# columns of NO_ANSWER). A first attempt that was accepted lives on the delivery alone; without an
# outcome there was no attempt.
_DELAY_MS: LiteralString = (
    f"(extract(epoch FROM {sql.retry_delay('try_number', 'delay')}) * 1000)::bigint"
)
ATTEMPTS: LiteralString = f"""
attempt AS (
    INSERT INTO deliveries_attempt (
        stream_id, position, try_number, at, outcome, state, code, detail, message_id, duration_ms,
        category, original_code, delay_ms
    )
    SELECT stream_id, position, try_number, statement_timestamp(), outcome, state, code, detail,
           message_id, duration_ms, category, original_code,
           CASE state WHEN 'waiting' THEN {_DELAY_MS} END
    FROM booked WHERE outcome IS NOT NULL AND NOT (state = 'accepted' AND try_number = 1)
)
"""


def counters(*, moved: LiteralString) -> LiteralString:
    """Moves batches on, or ends them; all counters come from what the update returned.

    Expects `win` (id, stream_id, hi, moved_to) and `booked` (stream_id, state); `moved` is what
    else changes on a batch that lives on. Results are counted at once, and what a batch has planned
    when it ends.
    """
    results = ", ".join([f"coalesce(t.{name}, 0)" for name in COUNTED])
    tallies = [f"count(*) FILTER (WHERE state = '{name}') AS {name}" for name in COUNTED]
    return f"""
ended AS (
    DELETE FROM deliveries_batch b
    USING win WHERE b.id = win.id AND win.moved_to >= win.hi
    RETURNING b.id, b.stream_id, b.planned
), moved AS (
    UPDATE deliveries_batch b SET lo = win.moved_to, {moved}
    FROM win WHERE b.id = win.id AND win.moved_to < win.hi
    RETURNING b.id
), delta AS (
    INSERT INTO deliveries_streamdelta (stream_id, planned, {", ".join(COUNTED)})
    SELECT stream_id, coalesce(p.planned, 0), {results}
    FROM (SELECT stream_id, sum(planned) AS planned FROM ended GROUP BY stream_id) AS p
    FULL JOIN (
        SELECT stream_id, {", ".join(tallies)} FROM booked
        WHERE state <> 'waiting' GROUP BY stream_id
    ) AS t USING (stream_id)
)
"""


# Expects `entry` and `taken` (id, lo, span_to, try_number, lease_until). A delivery changes only
# while it waits and has no result of this try or a later one. One index range per window and then
# the rows by their physical address: one descent per mail was most of a settle. A window has at
# most 1,000 positions; the limit tells the planner so.
SPAN: LiteralString = """
span AS MATERIALIZED (
    SELECT taken.id AS batch_id, taken.try_number, taken.lease_until, d.tid, d.position
    FROM taken CROSS JOIN LATERAL (
        SELECT ctid AS tid, position FROM deliveries_delivery
        WHERE stream_id = %(stream)s AND position >= taken.lo AND position < taken.span_to
          AND state = 'waiting' AND last_try < taken.try_number
        ORDER BY position
        LIMIT 1000
    ) AS d
)
"""

# Doubt is sticky: what would close a delivery whose earlier try is unresolved puts it back in
# doubt. The statement must end with FOUND_ALL: a row that somebody else changes while it is
# waited for is left out by PostgreSQL, and then the statement fails and is repeated.
BOOKED: LiteralString = """
booked AS (
    UPDATE deliveries_delivery d SET
        state = CASE
            WHEN d.doubts IS NOT NULL AND e.state NOT IN ('accepted', 'waiting') THEN 'in_doubt'
            ELSE e.state
        END,
        last_try = span.try_number,
        attempts = d.attempts + e.counts::int,
        code = e.code,
        message_id = coalesce(e.message_id, d.message_id),
        duration_ms = e.duration_ms,
        settled_at = CASE WHEN e.state <> 'waiting' THEN clock_timestamp() END,
        doubts = CASE e.state
            WHEN 'in_doubt' THEN d.doubts || span.try_number
            WHEN 'accepted' THEN NULL
            ELSE d.doubts
        END,
        resend_after = CASE e.state
            WHEN 'in_doubt' THEN span.lease_until + %(grace)s
            WHEN 'accepted' THEN NULL
            ELSE d.resend_after
        END
    FROM span JOIN entry e ON e.position = span.position
    WHERE d.ctid = span.tid
      AND d.stream_id = %(stream)s
      AND d.state = 'waiting'
      AND d.last_try < span.try_number
    RETURNING span.batch_id, d.stream_id, d.position, span.try_number, d.state,
        e.outcome, e.code, e.detail, e.message_id, e.duration_ms, e.delay, e.reason,
        e.category, e.original_code
)
"""

FOUND_ALL: LiteralString = """
deliveries_found_all(
    (SELECT count(*) FROM span JOIN entry ON entry.position = span.position),
    (SELECT count(*) FROM booked)
)
"""

GIVEN_ENTRIES: LiteralString = """
    SELECT * FROM unnest(
        %(positions)s::bigint[], %(outcomes)s::text[], %(states)s::text[],
        %(counts)s::boolean[], %(codes)s::text[], %(details)s::text[],
        %(message_ids)s::text[], %(durations)s::integer[], %(delays)s::interval[],
        %(reasons)s::text[], %(categories)s::text[], %(original_codes)s::text[]
    ) AS e (
        position, outcome, state, counts, code, detail, message_id, duration_ms, delay, reason,
        category, original_code
    )
"""


def stream_of(windows: Sequence[Window]) -> int:
    """The one stream of the windows: deliveries are looked up in it alone."""
    stream_ids = {window.batch.stream_id for window in windows}
    if len(stream_ids) != 1:
        msg = f"windows of one stream at a time, not of {len(stream_ids)}"
        raise ValueError(msg)
    return stream_ids.pop()


def entry_columns(entries: Sequence[Entry]) -> dict[str, object]:
    """The parameters of GIVEN_ENTRIES."""
    return {
        "positions": sql.Bigints(entry.position for entry in entries),
        "outcomes": sql.Texts(entry.outcome.value for entry in entries),
        "states": sql.Texts(entry.state.value for entry in entries),
        "counts": [entry.counts for entry in entries],
        "codes": sql.Texts(entry.code for entry in entries),
        "details": sql.Texts(entry.detail for entry in entries),
        "message_ids": sql.Texts(entry.message_id for entry in entries),
        "durations": sql.Bigints(entry.duration_ms for entry in entries),
        "delays": [entry.delay for entry in entries],
        "reasons": sql.Texts(entry.reason and entry.reason.value for entry in entries),
        "categories": sql.Texts(entry.category and entry.category.value for entry in entries),
        "original_codes": sql.Texts(entry.original_code for entry in entries),
    }
