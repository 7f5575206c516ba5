"""The events that providers inside this process emit, on their way to the inbox.

Only the sandbox emits some: its events then go the way of every other provider's.
"""

import threading
from collections import defaultdict, deque
from collections.abc import Callable

import structlog

from postledger.dispatch.db_threads import call_on_thread
from postledger.feedback import inbox
from postledger.feedback.inbox import IncomingMessage

_log = structlog.get_logger(__name__)

# Mail is settled within this time as a rule, so its events find it settled.
_STORE_EVERY = 1.0  # seconds
# What is more is forgotten, as a provider may lose events too.
_MOST_WAITING = 200_000
_MOST_AT_ONCE = 5_000

_waiting: deque[tuple[int, IncomingMessage]] = deque(maxlen=_MOST_WAITING)


def offer(account_id: int, message_id: str, body: str) -> None:
    """Takes one report for the inbox of an account; returns at once."""
    _waiting.append((account_id, IncomingMessage(message_id, body, None)))


def store_waiting() -> int:
    """Stores what was offered, and returns how many messages that are."""
    taken = [_waiting.popleft() for _ in range(min(len(_waiting), _MOST_AT_ONCE))]
    by_account: defaultdict[int, list[IncomingMessage]] = defaultdict(list)
    for account_id, message in taken:
        by_account[account_id].append(message)
    try:
        for account_id, messages in by_account.items():
            inbox.store(account_id, messages)
    except Exception:
        _waiting.extendleft(reversed(taken))  # those that were stored are not stored again
        raise
    return len(taken)


class EmittedEvents:
    """A thread that stores what was offered, a moment later and in bulk."""

    def __init__(self, on_stored: Callable[[], None]) -> None:
        self._on_stored = on_stored
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="emitted events", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._stopping.wait(_STORE_EVERY)
            try:
                while len(_waiting) and call_on_thread(store_waiting):
                    self._on_stored()
            except Exception as error:  # noqa: BLE001  the thread's edge: the database may be away
                _log.warning("events not stored, tries again", error=type(error).__name__)
