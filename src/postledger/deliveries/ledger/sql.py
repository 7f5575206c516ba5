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


# Whether work of a stream may be claimed: nothing wide holds it.
STREAM_IS_OPEN: LiteralString = """
EXISTS (
    SELECT FROM deliveries_stream s
    WHERE s.id = %(stream)s
      AND s.cancelled_at IS NULL
      AND (s.held_reason IS NULL OR s.held_until <= clock_timestamp())
      AND NOT EXISTS (
        SELECT FROM deliveries_senderhold h
        WHERE h.sender_id = s.sender_id AND (h.until IS NULL OR h.until > clock_timestamp())
      )
)"""
