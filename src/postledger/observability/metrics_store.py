"""Adds what this process counted to the totals of the installation, and reads these.

The totals stand in the database, so that every web process can show all of them and nobody has to
ask each worker. Whoever is killed takes its last seconds of metrics along, never mail: what
happened to mail is in the ledger.
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

# Rows in one order, whoever writes: two flushes at once wait for each other and cannot deadlock.
_ADD = """
INSERT INTO observability_metrictotal AS total (name, labels, value)
SELECT name, labels, value
FROM jsonb_to_recordset(%s::jsonb) AS tally (name text, labels text[], value double precision)
ORDER BY name, labels
ON CONFLICT (name, labels) DO UPDATE SET value = total.value + excluded.value
"""

_READ = "SELECT name, labels, value FROM observability_metrictotal"


def flush() -> None:
    """Adds the tally to the totals in one statement; while the database is away it is kept.

    Call it outside a transaction: the rows are shared by every process.
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
    # A transaction also closes a connection that broke, so that the next flush opens another.
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(_ADD, [json.dumps(rows)])


def totals() -> dict[Series, float]:
    """What all processes have flushed so far."""
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        return {(name, tuple(labels)): value for name, labels, value in cursor.fetchall()}


def flush_in_background(*, interval: float = INTERVAL) -> None:
    """From now on, what this process counts is flushed some seconds later, and at its end.

    For processes without a loop of their own to flush in. A thread lives only while something
    waits to be flushed: an idle process leaves the database alone.
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
