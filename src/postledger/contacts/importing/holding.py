"""Says which imports somebody works on, by locks that belong to connections.

Whoever dies loses the lock, and the next one that looks goes on after the last chunk that counts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import LiteralString

from postledger.contacts import sql
from postledger.lib import advisory
from postledger.lib.advisory import Lock

# A machine that is lost in silence is noticed by the server within half a minute.
_NOTICE: LiteralString = """
SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4
"""
_HELD: LiteralString = """
SELECT objid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND classid = %(lock)s AND objsubid = 2 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@contextmanager
def alone(import_id: int) -> Iterator[bool]:
    """Whether nobody else works on it, nor will while this lasts."""
    sql.changed(_NOTICE, {})
    with advisory.alone(Lock.IMPORT, import_id) as is_alone:
        yield is_alone


@contextmanager
def seen(import_id: int) -> Iterator[None]:
    """Lets others see that somebody works on it; keeps nobody away who does the same."""
    sql.changed(_NOTICE, {})
    with advisory.shared(Lock.IMPORT, import_id):
        yield


def all_held() -> frozenset[int]:
    """The imports that somebody works on, by the numbers of their locks."""
    return frozenset(held for (held,) in sql.rows(_HELD, {"lock": Lock.IMPORT.value}))
