"""Adds the counts of this process to the installation's totals in the database, and reads them.

Every web process can show all totals. A killed process loses its last seconds of metrics only.
"""

import atexit
import json
from functools import partial
from threading import Timer

import structlog
from django.db import Error, connection, transaction

from postledger.observability.metrics import PENDING, Series

INTERVAL = 5.0

_log = structlog.get_logger(__name__)

# In one order: concurrent flushes wait for each other and cannot deadlock.
_ADD = """
INSERT INTO observability_metrictotal AS total (name, labels, value)
SELECT name, labels, value
FROM jsonb_to_recordset(%s::jsonb) AS tally (name text, labels text[], value double precision)
ORDER BY name, labels
ON CONFLICT (name, labels) DO UPDATE SET value = total.value + excluded.value
"""

_READ = "SELECT name, labels, value FROM observability_metrictotal"


def flush() -> None:
    """Adds the tally to the totals in one statement; without a database the tally is kept.

    Call it outside a transaction: all processes share the rows.
    """
    taken = PENDING.take()
    if not taken:
        return
    stored = False
    try:
        _add(taken)
        stored = True
    except Error as error:
        _log.warning("metrics wait for the database", error=error)
    finally:
        if not stored:
            PENDING.add(taken.items())


def _add(amounts: dict[Series, float]) -> None:
    rows = [
        {"name": name, "labels": labels, "value": value}
        for (name, labels), value in amounts.items()
    ]
    # A transaction also closes a broken connection, so that the next flush opens another.
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(_ADD, [json.dumps(rows)])


def totals() -> dict[Series, float]:
    """The totals of all processes."""
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        return {(name, tuple(labels)): value for name, labels, value in cursor.fetchall()}


def flush_in_background(*, interval: float = INTERVAL) -> None:
    """Flushes counts some seconds after they are made, and at the end of the process.

    A thread lives only while a count waits: an idle process leaves the database alone.
    """
    PENDING.on_first(partial(_flush_soon, interval))
    atexit.register(flush)


def _flush_soon(interval: float) -> None:
    timer = Timer(interval, _flush_and_leave)
    timer.name = "metrics-flush"
    timer.daemon = True
    timer.start()


def _flush_and_leave() -> None:
    try:
        flush()
    finally:
        connection.close()
