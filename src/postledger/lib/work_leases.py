"""Leases of work that one process does at a time.

A lease is a row with an end by the database's clock, not bound to a connection: poolers change it.
The worker renews its lease; after its death the lease expires, and another process takes over. A
process that stood still longer may work beside another. A lease avoids duplicate work. It does not
guarantee that only one process works.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from enum import StrEnum, unique
from typing import Any, LiteralString
from uuid import UUID, uuid4

import structlog
from django.db import Error, connection

DURATION = timedelta(seconds=30)

_log = structlog.get_logger(__name__)


@unique
class Work(StrEnum):
    IMPORT = "import"  # of one file of contacts
    REPORTING = "reporting"  # reporting to Notion: two would exceed its rate limit
    SYNC = "sync"  # with Supabase: two would read the same pages
    ERASING = "erasing"  # erasing mail again, which reads all deliveries
    RECOUNTING = "recounting"  # the books: two would read the same deliveries


_TAKE: LiteralString = """
INSERT INTO lib_worklease AS lease (work, number, holder, until)
VALUES (%(work)s, %(number)s, %(holder)s, clock_timestamp() + %(duration)s)
ON CONFLICT (work, number) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE lease.until <= clock_timestamp()
"""
_RENEW: LiteralString = """
UPDATE lib_worklease SET until = clock_timestamp() + %(duration)s
WHERE work = %(work)s AND number = %(number)s AND holder = %(holder)s
"""
_GIVE_BACK: LiteralString = """
DELETE FROM lib_worklease
WHERE work = %(work)s AND number = %(number)s AND holder = %(holder)s
"""
_HELD: LiteralString = """
SELECT number FROM lib_worklease WHERE work = %(work)s AND until > clock_timestamp()
"""


@contextmanager
def alone(work: Work, number: int = 0, *, duration: timedelta = DURATION) -> Iterator[bool]:
    """Yields whether this process got the lease, without waiting; renews it meanwhile.

    Call it outside a transaction, or others wait for its end.
    """
    lease = _Lease(work, number, duration)
    if not lease.take():
        yield False
        return
    try:
        with lease.renewed():
            yield True
    finally:
        lease.give_back()


def held(work: Work) -> frozenset[int]:
    """The numbers that are leased now."""
    with connection.cursor() as cursor:
        cursor.execute(_HELD, {"work": work.value})
        return frozenset(number for (number,) in cursor.fetchall())


class _Lease:
    def __init__(self, work: Work, number: int, duration: timedelta) -> None:
        self._work = work
        self._number = number
        self._duration = duration
        self._holder: UUID = uuid4()

    def take(self) -> bool:
        return self._write(_TAKE)

    def give_back(self) -> None:
        """Retries once with a new connection; without a database the lease expires by itself."""
        try:
            self._write(_GIVE_BACK)
        except Error:
            connection.close()
            with suppress(Error):
                self._write(_GIVE_BACK)

    @contextmanager
    def renewed(self) -> Iterator[None]:
        """Renews from a thread with its own connection: one statement may take minutes."""
        ended = threading.Event()
        thread = threading.Thread(target=self._renew_until, args=(ended,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _renew_until(self, ended: threading.Event) -> None:
        while not ended.wait(self._duration.total_seconds() / 3):
            try:
                if not self._write(_RENEW):
                    _log.warning("a lease of work was lost", work=self._work, number=self._number)
                    return
            except Error as error:
                _log.warning("a lease of work was not renewed", work=self._work, error=str(error))
            finally:
                connection.close()

    def _write(self, statement: LiteralString) -> bool:
        params: dict[str, Any] = {
            "work": self._work.value,
            "number": self._number,
            "holder": self._holder,
            "duration": self._duration,
        }
        with connection.cursor() as cursor:
            cursor.execute(statement, params)
            return bool(cursor.rowcount)
