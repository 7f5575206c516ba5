"""The fence: a ledger that was restored, promoted or copied sends nothing before a person says so.

check_epoch ─▶ fall ─▶ put_in_doubt, stream by stream ─▶ (evidence) ─▶ lift
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString, NamedTuple

from django.db import transaction

from postledger.deliveries.entries import AttemptOutcome, StreamKind
from postledger.deliveries.ledger import books, counting, sql
from postledger.deliveries.ledger.holds.stream_holds import BLOCK_ENDS_AFTER
from postledger.deliveries.states import State
from postledger.lib.errors import ConflictError

# How far numbers advance when the fence falls, so that none is given out twice: more than any
# ledger uses between a backup and its restore.
NUMBER_LEAP = 2**32
STREAM_LEAP = 2**16
POSITION_LEAP = 2**24
BATCHES_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Witness:
    """The highest token seen outside the database, its epoch, and when, by a worker's clock."""

    token: int = 0
    epoch: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Epoch:
    """The current epoch, and whether this database is the one that it names."""

    number: int
    cause: str
    began_at: datetime
    gap_from: datetime | None
    gap_to: datetime | None
    consent_restored_at: datetime | None
    lifted_at: datetime | None
    campaigns_lifted_at: datetime | None
    is_here: bool
    token: int  # the highest that was committed

    @property
    def is_fenced(self) -> bool:
        return self.lifted_at is None or self.campaigns_lifted_at is None


class Identity(NamedTuple):
    """Which database this is."""

    system_identifier: int
    timeline: int
    database_oid: int


def identity() -> Identity:
    [row] = sql.rows("SELECT * FROM deliveries_identity()", {})
    return Identity(*row)


def first_identity() -> Identity:
    """Which database this ledger began in; all its copies say the same."""
    [row] = sql.rows(
        "SELECT system_identifier, timeline, database_oid FROM deliveries_epoch"
        " ORDER BY number LIMIT 1",
        {},
    )
    return Identity(*row)


_CURRENT: LiteralString = """
SELECT e.number, e.cause, e.began_at, e.gap_from, e.gap_to, e.consent_restored_at, e.lifted_at,
       e.campaigns_lifted_at,
       (e.system_identifier, e.timeline, e.database_oid)
           = (here.system_identifier, here.timeline, here.database_oid),
       greatest(e.token, (SELECT max(token) FROM deliveries_tokenmark))
FROM deliveries_epoch e, deliveries_identity() AS here
WHERE e.number = (SELECT max(number) FROM deliveries_epoch)
"""


def current_epoch() -> Epoch:
    [row] = sql.rows(_CURRENT, {})
    return Epoch(*row)


_SEEN: LiteralString = """
UPDATE deliveries_epoch SET seen_at = clock_timestamp() WHERE number = %(number)s
"""


def check_epoch(witness: Witness, *, is_sign_of_life: bool = False) -> Epoch:
    """Fences this database if it is not the one that its epoch names, or if it went back in time:
    its tokens are below the witness. Returns the epoch that is current then.

    An empty witness proves nothing.
    """
    epoch = current_epoch()
    if not epoch.is_here:
        return fall(witness, cause="identity", seen_epoch=epoch.number)
    if epoch.token < witness.token:
        return fall(witness, cause="witness", seen_epoch=epoch.number)
    if is_sign_of_life:
        sql.rows(_SEEN, {"number": epoch.number})
    return epoch


_BEGIN: LiteralString = """
INSERT INTO deliveries_epoch (
    number, system_identifier, timeline, database_oid, cause, gap_from, gap_to, first_batch_id,
    token
)
SELECT %(number)s, here.system_identifier, here.timeline, here.database_oid, %(cause)s, e.seen_at,
       greatest(clock_timestamp(), e.seen_at, %(witnessed_at)s), %(first_batch)s, %(token)s
FROM deliveries_epoch e, deliveries_identity() AS here
WHERE e.number = %(seen_epoch)s AND e.number = (SELECT max(number) FROM deliveries_epoch)
RETURNING number
"""

_LEAP: LiteralString = """
SELECT setval('deliveries_lease_token', %(token)s),
       setval('deliveries_single_position',
              (SELECT last_value FROM deliveries_single_position) + %(leap)s),
       setval('deliveries_note_id', (SELECT last_value FROM deliveries_note_id) + %(leap)s),
       -- These end first; a fence that could not fall would be worse than a number that repeats.
       setval('deliveries_stream_number', least(
              (SELECT last_value FROM deliveries_stream_number) + %(stream_leap)s, 2147483647)),
       setval('deliveries_batch_id_seq',
              (SELECT last_value FROM deliveries_batch_id_seq) + %(leap)s)
"""

_LEAP_POSITIONS: LiteralString = """
UPDATE deliveries_stream SET next_position = next_position + %(leap)s
WHERE cancelled_at IS NULL AND kind <> 'transactional'
"""

# A person may have released the sender in the lost time.
_RESTART_BLOCKS: LiteralString = """
UPDATE deliveries_senderhold SET fails_at = statement_timestamp() + %(after)s
WHERE fails_at IS NOT NULL
"""


def fall(witness: Witness, *, cause: str, seen_epoch: int) -> Epoch:
    """Begins a new epoch, in which nothing is sent; done once, even if several processes notice.

    Sequences and positions advance far enough that no number of the lost time comes again. One
    backup may be restored several times: the witness knows the epochs that began meanwhile, and
    everything advances by as much again for each of them. The mail of blocked senders gets its
    time anew.
    """
    number = max(seen_epoch, witness.epoch) + 1
    leap_count = number - seen_epoch
    with transaction.atomic():
        sql.rows("SELECT pg_advisory_xact_lock(%(lock)s)", {"lock": sql.FALL_LOCK})
        [(batch_id, token)] = sql.rows(
            "SELECT b.last_value, t.last_value"
            " FROM deliveries_batch_id_seq AS b, deliveries_lease_token AS t",
            {},
        )
        token = max(token, witness.token) + leap_count * NUMBER_LEAP
        params = {
            "token": token,
            "number": number,
            "seen_epoch": seen_epoch,
            "cause": cause,
            "witnessed_at": witness.at,
            "first_batch": batch_id + leap_count * NUMBER_LEAP,
        }
        if sql.rows(_BEGIN, params):
            leaps = {
                "leap": leap_count * NUMBER_LEAP,
                "stream_leap": leap_count * STREAM_LEAP,
                "token": token,
            }
            sql.rows(_LEAP, leaps)
            sql.rows(_LEAP_POSITIONS, {"leap": leap_count * POSITION_LEAP})
            sql.rows(_RESTART_BLOCKS, {"after": BLOCK_ENDS_AFTER})
        return current_epoch()


# What the lost time may have sent: batches of before the fall that were due by its end, and those
# that a provider had throttled or that wait for their recipients, which a release or a recipient
# would have brought forward. Leases do not count: their holders belong to an earlier epoch.
_LOST: LiteralString = f"""
lost AS MATERIALIZED (
    SELECT b.id, b.stream_id, b.lo, b.hi, b.try_number, b.hi AS moved_to, e.began_at,
           e.number - (
               SELECT max(number) FROM deliveries_epoch WHERE first_batch_id <= b.id
           ) AS epochs
    FROM deliveries_epoch e
    JOIN deliveries_stream s ON s.id = %(stream)s AND s.epoch < e.number
    JOIN deliveries_batch b ON b.stream_id = s.id
    WHERE e.number = (SELECT max(number) FROM deliveries_epoch)
      AND s.lifted_epoch IS DISTINCT FROM e.number
      AND b.id < e.first_batch_id
      AND (b.due_at < e.gap_to OR b.reason IN {sql.BROUGHT_FORWARD}
           OR s.kind = 'topic' AND b.reason IN {sql.NAMED_BY_RECIPIENTS})
    ORDER BY b.id
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF b
)
"""

_PLANNED_AGAIN: LiteralString = """
lost AS MATERIALIZED (
    SELECT b.id, b.stream_id, b.lo, b.hi, b.try_number, b.hi AS moved_to, e.began_at,
           1 AS epochs
    FROM deliveries_epoch e
    JOIN deliveries_stream s
      ON s.id = %(stream)s AND (s.epoch < e.number OR %(is_interrupted)s)
    JOIN deliveries_batch b ON b.stream_id = s.id AND b.lo >= %(lo)s
    WHERE e.number = (SELECT max(number) FROM deliveries_epoch) AND e.cause <> 'setup'
      AND coalesce(%(due_at)s::timestamptz, '-infinity') < e.gap_to
    ORDER BY b.id
    FOR NO KEY UPDATE OF b
)
"""


def _doubt_statement(lost: LiteralString) -> LiteralString:
    return f"""
WITH {lost}, win AS (
    SELECT * FROM lost
), booked AS (
    UPDATE deliveries_delivery d SET
        state = 'in_doubt', code = %(outcome)s, attempts = d.attempts + 1,
        -- Later tries of the lost time had numbers too, and so had those of every epoch since the
        -- batch was made, whether this database remembers it or not.
        last_try = win.try_number + %(leap)s * win.epochs, doubts = d.doubts || win.try_number,
        settled_at = clock_timestamp(), resend_after = win.began_at + {sql.LOST_TIME_GRACE}
    FROM win
    WHERE d.stream_id = %(stream)s AND d.position >= win.lo AND d.position < win.hi
      AND d.state = 'waiting'
    RETURNING win.id AS batch_id, d.stream_id, d.position, win.try_number, d.state,
        %(outcome)s::text AS outcome, d.code,
        'It was due in a time that a restore has lost.' AS detail,
        NULL AS category, {books.NO_ANSWER}
), {books.ATTEMPTS}, {books.counters(moved="armed_to = NULL")}
SELECT (SELECT count(*) FROM win), (SELECT count(*) FROM booked)
"""


_DOUBT_LOST: LiteralString = _doubt_statement(_LOST)
_DOUBT_PLANNED: LiteralString = _doubt_statement(_PLANNED_AGAIN)
_DOUBT_PARAMS = {"outcome": AttemptOutcome.LOST_TIME.value, "leap": sql.TRY_LEAP}


def put_in_doubt(stream_id: int) -> int:
    """Puts mail in doubt that the lost time of a fenced stream may have sent, some batches at once.

    Returns how many batches it did: 0 when all are done, or when the fence was lifted for the
    stream.
    """
    params = {**_DOUBT_PARAMS, "stream": stream_id, "limit": BATCHES_AT_ONCE}
    return _run_doubt(_DOUBT_LOST, params)


def put_all_in_doubt(stream_id: int) -> None:
    """As `put_in_doubt`, until all is done."""
    while put_in_doubt(stream_id):
        pass


def doubt_planned_again(
    stream_id: int, *, lo: int, due_at: datetime | None, is_interrupted: bool
) -> None:
    """Puts deliveries in doubt that a run plans from `lo` on, if it was being planned where the
    restored state ends, or takes up one that was: the lost time may have planned and sent them.
    Call it in the planning transaction.
    """
    params = {
        **_DOUBT_PARAMS,
        "stream": stream_id,
        "lo": lo,
        "due_at": due_at,
        "is_interrupted": is_interrupted,
    }
    _run_doubt(_DOUBT_PLANNED, params)


def _run_doubt(statement: LiteralString, params: Mapping[str, object]) -> int:
    """Returns the number of batches."""
    [(batches, in_doubt)] = sql.rows(statement, params)
    counting.count_results([State.IN_DOUBT.value] * in_doubt, doubt_cause="lost_time")
    return int(batches)


_FENCED: LiteralString = """
SELECT s.id, s.kind
FROM deliveries_epoch e, deliveries_stream s JOIN deliveries_lane l ON l.stream_id = s.id
WHERE e.number = (SELECT max(number) FROM deliveries_epoch)
  AND s.lifted_epoch IS DISTINCT FROM e.number
  AND CASE s.kind WHEN 'campaign' THEN e.campaigns_lifted_at ELSE e.lifted_at END IS NULL
ORDER BY s.id
"""


def fenced_streams() -> list[int]:
    """The streams that may have work and for which the fence was not lifted."""
    return [id_ for id_, _ in sql.rows(_FENCED, {})]


_LIFT_STREAM: LiteralString = """
UPDATE deliveries_stream s SET lifted_epoch = e.number
FROM deliveries_epoch e
WHERE s.id = %(stream)s AND e.number = %(epoch)s
  AND e.number = (SELECT max(number) FROM deliveries_epoch)
RETURNING s.id
"""


class FellAgainError(ConflictError):
    code = "fence_fell_again"

    def __init__(self) -> None:
        super().__init__(
            "This database was fenced again meanwhile. Run postledger fence show once more."
        )


def lift_stream(stream_id: int, *, epoch: int) -> None:
    """Lets one stream send again; mail that the lost time may have sent becomes in doubt first.

    `epoch` is the one that the person saw: a later one is not lifted with it.
    """
    put_all_in_doubt(stream_id)
    if not sql.rows(_LIFT_STREAM, {"stream": stream_id, "epoch": epoch}):
        raise FellAgainError


_LIFT: LiteralString = """
UPDATE deliveries_epoch SET
    lifted_at = coalesce(lifted_at, clock_timestamp()),
    campaigns_lifted_at = CASE
        WHEN %(campaigns)s THEN coalesce(campaigns_lifted_at, clock_timestamp())
        ELSE campaigns_lifted_at
    END
WHERE number = %(epoch)s AND number = (SELECT max(number) FROM deliveries_epoch)
RETURNING number
"""


def lift_all(*, campaigns: bool, epoch: int) -> None:
    """Lifts the fence for all mail but campaigns, and with `campaigns` for these too."""
    for stream_id, kind in sql.rows(_FENCED, {}):
        if campaigns or kind != StreamKind.CAMPAIGN:
            lift_stream(stream_id, epoch=epoch)
    if not sql.rows(_LIFT, {"campaigns": campaigns, "epoch": epoch}):
        raise FellAgainError


_CONSENT: LiteralString = """
UPDATE deliveries_epoch SET consent_restored_at = clock_timestamp()
WHERE number = (SELECT max(number) FROM deliveries_epoch)
"""


def note_consent_restored() -> None:
    """Notes that the unsubscribes of the lost time were imported again."""
    sql.rows(_CONSENT, {})


_RETIRE_MARKS: LiteralString = """
DELETE FROM deliveries_tokenmark
WHERE token < (SELECT max(token) FROM deliveries_tokenmark)
  AND backend NOT IN (SELECT pid FROM pg_stat_activity)
"""


def retire_marks() -> None:
    """Forgets the marks of connections that have ended; the highest of all stays."""
    sql.rows(_RETIRE_MARKS, {})
