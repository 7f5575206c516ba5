"""Threads of a worker that read the queues of topics: one for each queue, more while it is full.

Several workers may read one queue: SQS shows a message to one of them at a time.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog
from django.db import connection

from postledger.dispatch.db_threads import call_on_thread
from postledger.feedback import queues, topics
from postledger.feedback.topics import ListenedTopic, QueueKey
from postledger.lib.database_outage import OUTAGE_ERRORS
from postledger.lib.errors import RefusedError

_LOOK_EVERY = 2.0  # seconds, for topics that were registered or removed
_LONG_POLL = 20  # seconds; SQS's longest: an idle queue costs three calls a minute
_READ_TIMEOUT = 30.0
_NOTE_EVERY = 15.0
_SHORTEST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_THREADS_OF_FULL_QUEUE = 8

_log = structlog.get_logger(__name__)


class SqsPoller:
    """Keeps a reader for each queue. Threads may be cut off anywhere: no message is lost by it."""

    def __init__(self, on_stored: Callable[[], None]) -> None:
        self._on_stored = on_stored
        self._stopping = threading.Event()
        self._readers: dict[QueueKey, _QueueReader] = {}

    def start(self) -> None:
        threading.Thread(target=self._watch, name="sqs", daemon=True).start()

    def stop(self) -> None:
        """Starts no further poll; one that waits for messages is not waited for."""
        self._stopping.set()
        for reader in list(self._readers.values()):
            reader.stop()

    def _watch(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow(call_on_thread(topics.list_queues))
            except Exception as error:  # noqa: BLE001  the thread's edge: the database may be away
                _log.warning("queues_not_listed", error=type(error).__name__)
            self._stopping.wait(_LOOK_EVERY)
        connection.close()  # it belongs to this thread, which ends

    def _follow(self, listed: dict[QueueKey, str]) -> None:
        for key in self._readers.keys() - listed.keys():
            self._readers.pop(key).stop()
        for key in listed.keys() - self._readers.keys():
            reader = self._readers[key] = _QueueReader(listed[key], self._on_stored)
            reader.start()


class _QueueReader:
    def __init__(self, arn: str, on_stored: Callable[[], None]) -> None:
        self._arn = arn
        self._on_stored = on_stored
        self._stopping = threading.Event()
        self._noted_at = 0.0

    def start(self) -> None:
        threading.Thread(target=self._run, name="sqs-reader", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    def _run(self) -> None:
        pause = _SHORTEST_PAUSE
        while not self._stopping.is_set():
            started = time.monotonic()
            try:
                self._read()
            except Exception as error:  # noqa: BLE001  the thread's edge: it tries again
                self._report(error)
            # What went well for a while and then failed begins anew.
            lasted = time.monotonic() - started > _LONGEST_PAUSE
            pause = _SHORTEST_PAUSE if lasted else min(2 * pause, _LONGEST_PAUSE)
            self._stopping.wait(pause)
        connection.close()  # it belongs to this thread, which ends

    def _read(self) -> None:
        topic = call_on_thread(topics.find_topic, self._arn)
        if topic is None:
            return
        settings = call_on_thread(topics.read_queue_settings, topic)
        # A worker without a queue does not load all that AWS needs.
        from postledger.providers.ses.aws_client import open_client

        client = open_client(settings, "sqs", read_timeout=_READ_TIMEOUT)
        try:
            while not self._stopping.is_set():
                self._poll(client, topic)
        finally:
            client.close()

    def _poll(self, client: Any, topic: ListenedTopic) -> None:
        connection.close()  # nobody holds one while SQS waits for messages
        count = call_on_thread(queues.poll, client, topic, wait_seconds=_LONG_POLL)
        if count == queues.MOST_AT_ONCE:
            self._drain(client, topic)
        if count:
            self._on_stored()
        if self._stopping.is_set():
            return
        if time.monotonic() - self._noted_at > _NOTE_EVERY:
            call_on_thread(topics.note_poll, topic.id)
            self._noted_at = time.monotonic()

    def _drain(self, client: Any, topic: ListenedTopic) -> None:
        """Reads a full queue in several threads: each call waits for SQS, not for this machine."""

        def take_all() -> None:
            try:
                while not self._stopping.is_set() and _take_some(client, topic):
                    self._on_stored()
            finally:
                connection.close()

        with ThreadPoolExecutor(_THREADS_OF_FULL_QUEUE) as pool:
            drains = [pool.submit(take_all) for _ in range(_THREADS_OF_FULL_QUEUE)]
        for drain in drains:
            drain.result()

    def _report(self, error: Exception) -> None:
        trouble = _describe(error)
        _log.warning("queue_not_read", topic=self._arn, error=trouble)
        self._noted_at = 0.0  # the next poll that succeeds takes the trouble back
        try:
            topic = call_on_thread(topics.find_topic, self._arn)
            if topic is not None and not isinstance(error, OUTAGE_ERRORS):
                call_on_thread(topics.note_poll, topic.id, trouble=trouble)
        except Exception:  # noqa: BLE001  of the database or the account: the log has the trouble
            connection.close()


def _take_some(client: Any, topic: ListenedTopic) -> bool:
    return call_on_thread(queues.poll, client, topic, wait_seconds=0) == queues.MOST_AT_ONCE


def _describe(error: Exception) -> str:
    from botocore.exceptions import ClientError

    match error:
        case ClientError():
            code = error.response.get("Error", {}).get("Code", "no code")
            return f"The queue cannot be read: {code}."
        case RefusedError():
            return str(error)
        case _:
            return f"The queue cannot be read: {type(error).__name__}."
