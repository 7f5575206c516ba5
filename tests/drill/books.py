"""The drill's own look at the ledger, which goes on when the database was away for a while."""

import time
from collections.abc import Callable

from django.db import InterfaceError, OperationalError, connection
from psycopg import sql as pg

from postledger.deliveries import ledger
from postledger.workers.drill import evidence

PATIENCE = 30.0

_PEOPLE = pg.SQL(
    "SELECT 'r' || n || '@drill.example' AS address, 'r' || n AS dedupe_key,"
    " NULL::bigint AS contact_id, NULL::text AS variables, 0 AS letter, NULL::text AS kept_back"
    " FROM generate_series(%(first)s::int, %(last)s::int) AS n (n)"
)


def persistently[T](call: Callable[[], T]) -> T:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except (OperationalError, InterfaceError):
            connection.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def armed_by(pid: int) -> int:
    return persistently(lambda: evidence.armed_by(pid))


def plan(stream_id: int, first: int, count: int) -> None:
    """Adds lines to a campaign; a chunk that is repeated after a crash adds nothing."""
    numbers = {"first": first, "last": first + count - 1}
    persistently(lambda: ledger.plan(stream_id, source=_PEOPLE, params=numbers))
