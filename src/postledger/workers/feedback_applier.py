"""A thread of a worker that applies what providers reported: to mails, contacts and runs."""

import threading
import time

import structlog
from django.db import connection

from postledger.dispatch.db_threads import call_on_thread
from postledger.feedback import application, dead_addresses, run_stops

_log = structlog.get_logger(__name__)

_LOOK_EVERY = 1.0  # seconds; other processes store messages too
_JUDGE_EVERY = 10.0  # a process may have died between applying and judging


class FeedbackApplier:
    """Applies soon after `has_news` is set, and at least every second what others have stored.

    The thread may be cut off anywhere: each step is one transaction.
    """

    def __init__(self, has_news: threading.Event) -> None:
        self._has_news = has_news
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feedback", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._has_news.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        judge_at = 0.0
        while not self._stopping.is_set():
            self._has_news.wait(_LOOK_EVERY)
            self._has_news.clear()
            try:
                while not self._stopping.is_set() and call_on_thread(apply_some):
                    pass
                if time.monotonic() >= judge_at:
                    call_on_thread(run_stops.stop_bad_runs)
                    judge_at = time.monotonic() + _JUDGE_EVERY
            except Exception as error:  # noqa: BLE001  the thread's edge: the database may be away
                _log.warning("feedback not applied, tries again", error=type(error).__name__)
                self._stopping.wait(_LOOK_EVERY)
        connection.close()  # it belongs to this thread, which ends


def apply_some() -> bool:
    """Whether there may be more to apply."""
    applied = application.apply_waiting()
    if applied.stream_ids:
        run_stops.stop_bad_runs()
    refusal_count = dead_addresses.apply_refusals()
    return bool(applied.message_count or refusal_count)
