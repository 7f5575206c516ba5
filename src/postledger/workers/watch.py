"""Ends a worker that does not work although there is work: its supervisor starts a better one."""

import os
import threading
import time

import structlog
from django.db import Error, connection

from postledger.deliveries import backlog
from postledger.dispatch.loop import Dispatcher

_log = structlog.get_logger(__name__)

EVERY = 10.0
# The loop comes round every few seconds; a minute without means that it hangs.
MOST_SILENCE = 60.0
# Work that anyone could take, a worker with nothing in its hands, and nothing taken for so long.
MOST_IDLENESS = 120.0


def start(dispatcher: Dispatcher) -> None:
    threading.Thread(target=_watch, args=(dispatcher,), name="watch", daemon=True).start()


def verdict(*, silence: float, idleness: float, oldest_due: float, is_carrying: bool) -> str | None:
    """Why the worker should end, by what passed in seconds; None when all is well.

    Who carries mail works, however long the provider takes: to end it would make doubt of
    everything under way.
    """
    if silence > MOST_SILENCE:
        return "its loop hangs"
    if not is_carrying and oldest_due > MOST_IDLENESS and idleness > MOST_IDLENESS:
        return "work is due and it takes none"
    return None


def _watch(dispatcher: Dispatcher) -> None:
    worked_at = time.monotonic()
    while True:
        time.sleep(EVERY)
        oldest_due = _oldest_due()
        if oldest_due is None:
            # Nobody can work without the database; when it is back, so is the work's first chance.
            worked_at = time.monotonic()
        reason = verdict(
            silence=time.monotonic() - dispatcher.passed_at,
            idleness=time.monotonic() - max(worked_at, dispatcher.worked_at),
            oldest_due=oldest_due or 0.0,
            is_carrying=dispatcher.is_carrying,
        )
        if reason is not None:
            _log.critical("the worker ends for its supervisor to restart it", reason=reason)
            os._exit(1)


def _oldest_due() -> float | None:
    """None when the database does not say."""
    try:
        return backlog.due_oldest_seconds() or 0.0
    except Error:
        return None
    finally:
        connection.close()
