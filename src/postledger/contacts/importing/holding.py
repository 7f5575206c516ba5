"""Says which imports somebody works on, by locks that belong to connections.

Whoever dies loses the lock, and the next one that looks goes on after the last chunk that counts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import LiteralString

from postledger.contacts import sql

# Beside those of the ledger, of contacts.locks and of campaigns.
_KIND = 6

# A machine that is lost in silence is noticed by the server within half a minute.
_NOTICE: LiteralString = """
SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4
"""
_TAKE: LiteralString = "SELECT pg_try_advisory_lock(%(kind)s, %(number)s::integer)"
_GIVE: LiteralString = "SELECT pg_advisory_unlock(%(kind)s, %(number)s::integer)"
_TAKE_SHARED: LiteralString = "SELECT pg_try_advisory_lock_shared(%(kind)s, %(number)s::integer)"
_GIVE_SHARED: LiteralString = "SELECT pg_advisory_unlock_shared(%(kind)s, %(number)s::integer)"
_HELD: LiteralString = """
SELECT objid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND classid = %(kind)s AND objsubid = 2 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@contextmanager
def alone(import_id: int) -> Iterator[bool]:
    """Whether nobody else works on it, nor will while this lasts."""
    with _held(import_id, _TAKE, _GIVE) as is_alone:
        yield is_alone


@contextmanager
def seen(import_id: int) -> Iterator[None]:
    """Lets others see that somebody works on it; keeps nobody away who does the same."""
    with _held(import_id, _TAKE_SHARED, _GIVE_SHARED):
        yield


@contextmanager
def _held(import_id: int, take: LiteralString, give: LiteralString) -> Iterator[bool]:
    params = {"kind": _KIND, "number": number(import_id)}
    sql.changed(_NOTICE, {})
    [(is_held,)] = sql.rows(take, params)
    try:
        yield is_held
    finally:
        if is_held:
            sql.rows(give, params)


def all_held() -> frozenset[int]:
    """The imports that somebody works on, by the numbers of their locks."""
    return frozenset(held for (held,) in sql.rows(_HELD, {"kind": _KIND}))


def number(import_id: int) -> int:
    """What an import's lock is known by."""
    return import_id & 2**31 - 1
