"""A worker waits until its database answers and has the tables of this version."""

import time
from collections.abc import Callable

import structlog
from django.db import connection

from postledger.lib.database_outage import OUTAGE_ERRORS
from postledger.observability import schema

_log = structlog.get_logger(__name__)

CHECK_EVERY = 1.0  # seconds


def wait_for_tables(beat: Callable[[], None]) -> None:
    """Logs each obstacle once, and beats: a worker that waits does not hang."""
    reported = ""
    while obstacle := _find_obstacle():
        if obstacle != reported:
            _log.warning(f"the worker waits: {obstacle}")
            reported = obstacle
        beat()
        time.sleep(CHECK_EVERY)
    if reported:
        _log.info("the tables are there; the worker starts")


def _find_obstacle() -> str:
    """Why no worker can run on this database, and what to do; empty if one can."""
    try:
        lacks_tables = bool(schema.unapplied())
    except OUTAGE_ERRORS:
        return "the database does not answer; postledger doctor says why"
    finally:
        connection.close()
    return "its database lacks tables of this version; run postledger setup" if lacks_tables else ""
