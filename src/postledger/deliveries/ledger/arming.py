"""Declares windows as being with the provider, and books the verdicts of the gates."""

from collections.abc import Sequence
from datetime import timedelta
from typing import LiteralString

from postledger.deliveries import states
from postledger.deliveries.entries import Claim, Entry, Window
from postledger.deliveries.ledger import books, counting, sql
from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point

# How long after a lease's end its bytes may still leave the kernel: until then nobody may send
# a doubtful mail again.
ORPHAN_GRACE = timedelta(minutes=15)

MOST_POSITIONS = 1_000

# The gate is asked first and once; the batch's own conditions are checked on the locked row.
_WINDOWS: LiteralString = """
WITH gate AS MATERIALIZED (
    SELECT deliveries_gate(%(stream)s, %(epoch)s, %(lease)s) AS is_open
), want AS (
    SELECT * FROM unnest(
        %(ids)s::bigint[], %(versions)s::integer[], %(los)s::bigint[], %(tos)s::bigint[]
    ) AS w (id, version, lo, armed_to)
), taken AS MATERIALIZED (
    SELECT b.id, b.stream_id, b.lo, b.hi, b.try_number, b.lease_until, w.armed_to AS span_to
    FROM want w JOIN deliveries_batch b ON b.id = w.id
    WHERE (SELECT is_open FROM gate)
      AND b.stream_id = %(stream)s
      AND b.lease = %(lease)s
      AND b.lease_until > clock_timestamp()
      AND b.version = w.version
      AND b.lo = w.lo
      AND b.armed_to IS NULL
      AND b.due_at <= clock_timestamp()
      AND w.armed_to <= b.hi
    ORDER BY b.id
    FOR NO KEY UPDATE OF b
)
"""

# How far the ledger has come, for the witness outside to be compared with.
_MARK: LiteralString = """
mark AS (
    INSERT INTO deliveries_tokenmark (backend, token)
    SELECT pg_backend_pid(), nextval('deliveries_lease_token')
    ON CONFLICT (backend) DO UPDATE SET token = excluded.token
    RETURNING token
)
"""

_ARM: LiteralString = f"""{_WINDOWS}, armed AS (
    UPDATE deliveries_batch b
    SET armed_to = taken.span_to, lease_until = clock_timestamp() + %(lease_time)s
    FROM taken WHERE b.id = taken.id
    RETURNING b.id
), {_MARK}
SELECT (SELECT coalesce(array_agg(id), '{{}}') FROM armed), (SELECT token FROM mark),
       '{{}}'::text[]
"""

# A window in which every waiting mail got a verdict has nothing to send: it is passed over.
_NOTHING_LEFT: LiteralString = """
win AS MATERIALIZED (
    SELECT taken.*, sends, CASE WHEN sends THEN taken.lo ELSE taken.span_to END AS moved_to
    FROM taken CROSS JOIN LATERAL (
        SELECT EXISTS (
            SELECT FROM span
            WHERE span.batch_id = taken.id
              AND NOT EXISTS (SELECT FROM entry WHERE entry.position = span.position)
        ) AS sends
    ) AS left_over
)
"""

_COUNTERS: LiteralString = books.counters(
    moved="armed_to = CASE WHEN win.sends THEN win.span_to END,"
    " lease_until = clock_timestamp() + %(lease_time)s, losses = 0, lone_losses = 0"
)
_ARM_WITH_VERDICTS: LiteralString = f"""
{_WINDOWS}, entry AS MATERIALIZED ({books.GIVEN_ENTRIES}), {books.SPAN}, {_NOTHING_LEFT},
{books.BOOKED}, {books.ATTEMPTS}, {_COUNTERS}, {_MARK}
SELECT (SELECT coalesce(array_agg(id), '{{}}') FROM win WHERE sends), (SELECT token FROM mark),
       {counting.RESULTS}
WHERE (SELECT {books.FOUND_ALL})
"""


class Armed(list[Window]):
    """The windows that may be sent, and a token that no earlier claim or arm was given."""

    token: int = 0


def arm(
    claim: Claim,
    windows: Sequence[Window],
    *,
    lease_time: timedelta,
    verdicts: Sequence[Entry] | None = None,
) -> Armed:
    """Declares windows of one stream as being with the provider; returns those that may be sent.

    A window is armed only if the lease is mine and still runs, nothing changed since it was
    composed (version, lo), nothing is armed in its batch, neither stream nor sender is held, and
    the epoch is that of the claim; arming renews the lease. After a provider did not answer, only
    the claim that tries it arms, and one mail. The gates' verdicts commit with it or not at all.
    Where verdicts are given, even none, a window with nothing left to send is passed
    over and not returned.
    Never call this inside a longer transaction: the commit is what allows the sending.
    """
    if not windows:
        return Armed()
    if any(window.to - window.batch.lo > MOST_POSITIONS for window in windows):
        msg = f"a window has at most {MOST_POSITIONS} positions"
        raise ValueError(msg)
    if claim.is_probe and sum(window.to - window.batch.lo for window in windows) > 1:
        raise ValueError("a provider that did not answer gets one mail at first")
    for entry in verdicts or ():
        if not states.is_verdict(entry.state):
            raise ValueError(f"{entry.state} is not a verdict the gates can give")
    params: dict[str, object] = {
        "stream": books.stream_of(windows),
        "lease": claim.lease,
        "epoch": claim.epoch,
        "lease_time": lease_time,
        "ids": sql.Bigints(window.batch.id for window in windows),
        "versions": sql.Bigints(window.batch.version for window in windows),
        "los": sql.Bigints(window.batch.lo for window in windows),
        "tos": sql.Bigints(window.to for window in windows),
    }
    statement = _ARM
    if verdicts is not None:
        statement = _ARM_WITH_VERDICTS
        params |= {**books.entry_columns(verdicts), "grace": ORPHAN_GRACE}
    crashpoints.reached(Point.BEFORE_ARM)
    [(ids, token, verdicts_stored)] = sql.rows_after_races(statement, params)
    counting.count_results(verdicts_stored)
    armed = Armed(window for window in windows if window.batch.id in set(ids))
    if armed:
        armed.token = token
    return armed
