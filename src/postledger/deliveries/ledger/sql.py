"""Runs the ledger's statements on Django's connection, prepared on the server and in binary."""

import re
from collections.abc import Mapping
from functools import cache
from struct import pack
from typing import Any, LiteralString, override
from weakref import WeakSet

import psycopg
from django.db import OperationalError, connection
from psycopg.adapt import Buffer, Dumper
from psycopg.errors import SerializationFailure
from psycopg.pq import Format
from psycopg.sql import Composed

type Row = tuple[Any, ...]
type Statement = LiteralString | Composed

# Advisory locks, by purpose; deliveries_gate() takes the first two, shared.
GATE_OF_STREAM = 1
GATE_OF_SENDER = 2
LANE = 3

_PARAMETER = re.compile(r"%\((\w+)\)s")


class Bigints(list[int | None]):
    """A bigint[] parameter."""


class Texts(list[str | None]):
    """A text[] parameter."""


class _BigintsDumper(Dumper):
    """Packs all numbers at once: psycopg's own arrays cost as much as the rest of a call."""

    format = Format.BINARY
    oid = 1016

    @override
    def dump(self, obj: Bigints) -> Buffer:
        if None in obj:
            parts = [_NULL if n is None else pack("!iq", 8, n) for n in obj]
            return _array(20, len(obj), b"".join(parts), has_null=True)
        interleaved = [8] * (2 * len(obj))
        interleaved[1::2] = obj  # type: ignore[assignment]
        return _array(20, len(obj), pack("!" + "iq" * len(obj), *interleaved), has_null=False)


class _TextsDumper(Dumper):
    format = Format.BINARY
    oid = 1009

    @override
    def dump(self, obj: Texts) -> Buffer:
        parts: list[bytes] = []
        for text in obj:
            if text is None:
                parts.append(_NULL)
            else:
                encoded = text.encode()
                parts += (pack("!i", len(encoded)), encoded)
        return _array(25, len(obj), b"".join(parts), has_null=None in obj)


_NULL = pack("!i", -1)


def _array(element: int, length: int, data: bytes, *, has_null: bool) -> bytes:
    """PostgreSQL's binary array: dimensions, has-null flag, element type, length, lower bound."""
    if not length:
        return pack("!iiI", 0, 0, element)
    return pack("!iiIii", 1, has_null, element, length, 1) + data


def rows(statement: Statement, params: Mapping[str, object]) -> list[Row]:
    """Executes one statement and returns its rows.

    Django's own cursors interpolate on the client, which rules out binary arrays and prepared
    plans; both were measured to matter here, and so was parsing a long statement's parameters
    at every call.
    """
    query, names = _numbered(statement if isinstance(statement, str) else statement.as_string())
    with connection.wrap_database_errors, psycopg.RawCursor(_connection()) as cursor:
        cursor.execute(query, [params[name] for name in names], prepare=True, binary=True)
        # Asked of libpq: the cursor would describe every column first.
        has_rows = cursor.pgresult is not None and cursor.pgresult.nfields > 0
        return cursor.fetchall() if has_rows else []


def repeated(statement: Statement, params: Mapping[str, object]) -> list[Row]:
    """Executes a statement that may lose a race, again until it wins; it must be on its own."""
    while True:
        try:
            return rows(statement, params)
        except OperationalError as error:
            lost = isinstance(error.__cause__, SerializationFailure)
            if not lost or connection.in_atomic_block:
                raise


_taught: WeakSet[psycopg.Connection] = WeakSet()


def _connection() -> psycopg.Connection:
    connection.ensure_connection()
    raw: psycopg.Connection = connection.connection
    if raw not in _taught:
        raw.adapters.register_dumper(Bigints, _BigintsDumper)
        raw.adapters.register_dumper(Texts, _TextsDumper)
        _taught.add(raw)
    return raw


def one(statement: Statement, params: Mapping[str, object]) -> Row | None:
    found = rows(statement, params)
    return found[0] if found else None


@cache
def _numbered(statement: str) -> tuple[bytes, tuple[str, ...]]:
    """The statement with PostgreSQL's own $1, $2 … for %(name)s, and the names in that order."""
    names = tuple(dict.fromkeys(_PARAMETER.findall(statement)))
    numbers = {name: f"${number}" for number, name in enumerate(names, start=1)}
    return _PARAMETER.sub(lambda found: numbers[found[1]], statement).encode(), names


def covered(position: LiteralString) -> LiteralString:
    """Whether a live batch of the stream covers the position: the nearest start decides."""
    return (
        "EXISTS (SELECT FROM (SELECT hi FROM deliveries_batch"
        " WHERE stream_id = %(stream)s AND lo <= "
        + position
        + " ORDER BY lo DESC LIMIT 1) AS nearest WHERE nearest.hi > "
        + position
        + ")"
    )


def due_after(try_number: LiteralString, delay: LiteralString) -> LiteralString:
    """When the batch that follows a try is due: after its delay.

    After a million tries that is an hour at the least. An id has room for 16,777,216 tries, so no
    mail ever runs out of numbers, and none fails for how often it was tried.
    """
    return (
        "statement_timestamp() + greatest("
        + delay
        + ", CASE WHEN "
        + try_number
        + " >= 1000000 THEN interval '1 hour' END)"
    )


# Whether a stream `s` may be sent in the current epoch. One row at most: nothing is sent where the
# database is not the one that its epoch names.
EPOCH: LiteralString = """
epoch AS MATERIALIZED (
    SELECT e.number, e.lifted_at IS NOT NULL AS is_lifted,
           e.campaigns_lifted_at IS NOT NULL AS is_lifted_for_campaigns
    FROM deliveries_epoch e, deliveries_identity() AS here
    WHERE e.number = (SELECT max(number) FROM deliveries_epoch)
      AND e.system_identifier = here.system_identifier
      AND e.timeline = here.timeline
      AND e.database_oid = here.database_oid
)
"""
IS_UNFENCED: LiteralString = """
EXISTS (
    SELECT FROM epoch WHERE s.lifted_epoch = epoch.number
    OR CASE s.kind WHEN 'campaign' THEN is_lifted_for_campaigns ELSE is_lifted END
)
"""


# Tries of a time that a restore has lost had numbers too: of a line that was settled before, none
# of them comes again, and nothing is sent while their bytes may still leave. A restored ledger
# tells neither apart from a line that the lost time left alone.
TRY_LEAP = 2**16
LOST_TIME_GRACE: LiteralString = (
    "interval '30 minutes'"  # the longest lease, and the orphans' grace
)


def next_try(last_try: LiteralString, settled_at: LiteralString) -> LiteralString:
    """The number of a line's next try, given when it was settled: one leap for each epoch since.

    By their numbers: a second restore forgets the rows of epochs that gave out tries too.
    """
    return (
        last_try
        + " + 1 + 65536 * (SELECT max(number) - coalesce(max(number) FILTER (WHERE began_at <= "
        + settled_at
        + "), 1) FROM deliveries_epoch)"
    )


BYTES_OF_LOST_TIME: LiteralString = (
    "EXISTS (SELECT FROM deliveries_epoch WHERE cause <> 'setup' AND began_at > locked.settled_at"
    " AND began_at + " + LOST_TIME_GRACE + " > clock_timestamp())"
)
