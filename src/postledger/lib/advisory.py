"""Locks that mean something to us alone: what their numbers stand for, and who has one.

They belong to a connection: whoever dies loses them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum, unique
from typing import LiteralString

from django.db import connection


@unique
class Lock(IntEnum):
    """What is locked; 1 to 3 are the ledger's, whose functions in the database take them too."""

    CONSENT = 4  # of a workspace: joining and leaving
    PLANNING = 5  # of a run; two planners would do no harm, but one is enough
    IMPORT = 6
    TELLING = 7  # of Notion: together, two would be faster than it allows
    SYNC = 8  # with Supabase: two would ask for the same pages
    FORGETTING = 9  # looking again for the mail of the erased, which reads all lines


_TAKE: LiteralString = "SELECT pg_try_advisory_lock(%s, %s::integer)"
_GIVE: LiteralString = "SELECT pg_advisory_unlock(%s, %s::integer)"
_TAKE_SHARED: LiteralString = "SELECT pg_try_advisory_lock_shared(%s, %s::integer)"
_GIVE_SHARED: LiteralString = "SELECT pg_advisory_unlock_shared(%s, %s::integer)"


def number(id_: int) -> int:
    """What the lock of a thing is known by: as much of its id as has room."""
    return id_ & 2**31 - 1


@contextmanager
def alone(lock: Lock, id_: int = 0) -> Iterator[bool]:
    """Whether nobody else has it, nor will while this lasts; waits for nobody."""
    with _held(lock, id_, _TAKE, _GIVE) as is_held:
        yield is_held


@contextmanager
def shared(lock: Lock, id_: int = 0) -> Iterator[bool]:
    """Whether nobody has it alone, nor will while this lasts; waits for nobody."""
    with _held(lock, id_, _TAKE_SHARED, _GIVE_SHARED) as is_held:
        yield is_held


@contextmanager
def _held(lock: Lock, id_: int, take: LiteralString, give: LiteralString) -> Iterator[bool]:
    is_held = _asked(take, lock, id_)
    try:
        yield is_held
    finally:
        if is_held:
            _asked(give, lock, id_)


def _asked(statement: LiteralString, lock: Lock, id_: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, [lock.value, number(id_)])
        [(answer,)] = cursor.fetchall()
    return bool(answer)
