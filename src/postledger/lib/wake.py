"""Wakes workers when a stream gets work; code that plans mail does not know how.

A lost wake-up costs time, never mail: workers poll too.
"""

import threading
import time
from collections.abc import Callable

import structlog

from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point

type Notify = Callable[[int], None]

_log = structlog.get_logger(__name__)

# The first wake-up is sent at once; those that follow within this time are sent together.
_PAUSE = 0.02
_PAUSE_AFTER_FAILURE = 1.0


def _ignore(_: int) -> None:
    """Commands, tests and shells plan mail without a broker."""


_notify: Notify = _ignore


def install(notify: Notify) -> None:
    global _notify  # noqa: PLW0603  installed once for each process, at its start
    _notify = notify


def notify(stream_id: int) -> None:
    """Reports that a stream has work now; call it after the commit."""
    _notify(stream_id)


class WakeSender:
    """Publishes wake-ups from a thread of its own, so that no caller waits for the broker.

    A hundred requests a second for one stream become a few messages. Wake-ups that cannot be
    published are dropped: a tick finds the work within a second or two.
    """

    def __init__(self, publish: Notify) -> None:
        self._publish = publish
        self._lock = threading.Condition()
        self._pending: dict[int, None] = {}
        self._thread: threading.Thread | None = None

    def notify(self, stream_id: int) -> None:
        with self._lock:
            self._pending[stream_id] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="wake-ups", daemon=True)
                self._thread.start()
            self._lock.notify()

    def _run(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._pending)
                pending, self._pending = self._pending, {}
            pause = _PAUSE
            try:
                crashpoints.reached(Point.IN_WAKE_UP)
                for stream_id in pending:
                    self._publish(stream_id)
            except Exception as error:  # noqa: BLE001  the thread's edge: a broker may fail in any way
                _log.warning("the broker accepts no wake-ups", error=type(error).__name__)
                pause = _PAUSE_AFTER_FAILURE
            time.sleep(pause)
