"""Rings for streams that got work, through the broker, without making anybody wait for it."""

import threading
import time

import structlog
from celery import current_app

from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point
from postledger.workers import queues

_log = structlog.get_logger(__name__)

# The first ring goes at once; those that follow within this time go together.
_PAUSE = 0.02
# After a failure, so long no bell is rung: the broker is away, and looking finds the work.
_REST = 1.0


class Bell:
    """Collects the streams that ring and publishes each once, from a thread of its own.

    A hundred requests a second for one stream are a few messages. What cannot be published is
    forgotten: a tick finds the work within a second or two.
    """

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._rung: dict[int, None] = {}
        self._thread: threading.Thread | None = None

    def ring(self, stream_id: int) -> None:
        with self._lock:
            self._rung[stream_id] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._publish, name="bell", daemon=True)
                self._thread.start()
            self._lock.notify()

    def _publish(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._rung)
                rung, self._rung = self._rung, {}
            pause = _PAUSE
            try:
                crashpoints.reached(Point.IN_BELL)
                for stream_id in rung:
                    current_app.send_task(
                        "postledger.bell",
                        args=[stream_id],
                        expires=queues.BELL_LIFE.total_seconds(),
                        retry=False,
                    )
            except Exception as error:  # noqa: BLE001  the thread's edge: a broker may fail in any way
                _log.warning("the broker takes no bells", error=type(error).__name__)
                pause = _REST
            time.sleep(pause)
