"""Publishes the events of accepted mail in the background, and keeps account of each.

Sends come first: while many mails come in, few events are published between them.
"""

import asyncio
import contextlib
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from heapq import heappop, heappush
from typing import Any, assert_never

from tools.fakes.events.delivery import Delivered, Ending, Refused
from tools.fakes.events.disturbances import Disturbances, Fate
from tools.fakes.events.reports import PendingEvent, Report, ReportedMail
from tools.fakes.events.shares import Shares

MAX_WAITING = 300_000  # events; more are lost, and the journal says so
_GROUP = 8
_TASKS = 2  # one prepares events while those of another are signed
_REPETITION_SECONDS = 0.3
_WINDOW = 0.1
_MANY = 500  # mails in a second
_PAUSE = 0.02  # before each group of events, while so many come in

type Note = Callable[[Mapping[str, object]], None]


@dataclass(slots=True)
class SendRate:
    """Whether many mails come in, by the count of the last tenth of a second."""

    began: float = 0.0
    count: int = 0
    was_high: bool = False

    def add(self, now: float) -> None:
        if now - self.began >= _WINDOW:
            self.was_high = now - self.began < 2 * _WINDOW and self.count >= _MANY * _WINDOW
            self.began, self.count = now, 0
        self.count += 1

    def is_high(self, now: float) -> bool:
        return self.was_high and now - self.began < 2 * _WINDOW


class Publisher[M: ReportedMail[Any], R: Report](ABC):
    """All its methods belong to the event loop of the fake."""

    def __init__(self, note: Note, shares: Shares) -> None:
        self.disturbances = Disturbances()
        self.shares = shares
        self.counts: Counter[str] = Counter()  # of what became of events
        self._note = note
        self._due: list[tuple[float, int, PendingEvent[M, R]]] = []
        self._number = 0
        self._rate = SendRate()
        self._in_hand = 0
        self._is_due = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @abstractmethod
    def has_listener(self, name: str) -> bool:
        """Whether a listener of before a restart is still there."""

    @abstractmethod
    def count_under_way(self) -> int:
        """How many messages to listeners have not ended."""

    @abstractmethod
    async def publish(self, events: Sequence[PendingEvent[M, R]]) -> None:
        """Gives events whose time has come to who listens."""

    @abstractmethod
    async def stop_delivery(self) -> None: ...

    @property
    def waiting(self) -> int:
        """How many events and messages have not ended."""
        return len(self._due) + self._in_hand + self.count_under_way()

    def take(self, mail: M) -> None:
        """Schedules the events of a mail that was just accepted."""
        self._rate.add(time.monotonic())
        for report in mail.list_reports():
            self._number += 1
            wait = self.disturbances.draw_wait(self._number) + report.delay.total_seconds()
            self._schedule(PendingEvent(mail, report, self._number), wait)

    def take_up(self, mail: M, report: R, only: frozenset[str] | None) -> None:
        """Schedules an event that was not finished before a restart."""
        self._number += 1
        event = PendingEvent(mail, report, self._number, only)
        gone = [name for name in only or () if not self.has_listener(name)]
        for name in gone:
            self.record(event, "failed", listener=name, why="the listener has ended")
        if only is None or len(gone) < len(only):
            self._schedule(event, 0.0)

    def disturb(self, disturbances: Disturbances) -> None:
        """Counts for the events to come; a pause also holds those that wait."""
        self.disturbances = disturbances
        self._is_due.set()

    def start(self) -> None:
        if not self._tasks:
            loop = asyncio.get_running_loop()
            self._tasks = [loop.create_task(self._run()) for _ in range(_TASKS)]

    async def stop(self) -> None:
        """Leaves events that wait for a start with the same journal."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks = []
        await self.stop_delivery()

    def draw_fate(self, event: PendingEvent[M, R]) -> Fate:
        """What becomes of an event; a loss is recorded, and a repetition scheduled."""
        is_drawn = event.only is None and not event.is_repetition
        fate = self.disturbances.draw_fate(event.number) if is_drawn else Fate.ONCE
        if fate is Fate.LOST:
            self.record(event, "lost", why="on purpose")
        elif fate is Fate.REPEATED_ANEW:
            self._schedule(replace(event, is_repetition=True), _REPETITION_SECONDS)
        return fate

    def end(self, event: PendingEvent[M, R], listener: str, ending: Ending, **more: object) -> None:
        match ending:
            case Delivered(status=status):
                # A vendor may be content with other statuses; who counts events is not.
                state = "delivered" if status < 300 else "declined"
                self.record(event, state, listener=listener, status=status, **more)
            case Refused(why=why):
                self.record(event, "failed", listener=listener, why=why, **more)
            case other:
                assert_never(other)

    def record(self, event: PendingEvent[M, R], state: str, **more: object) -> None:
        self.counts[state] += 1
        name, about = event.report.key
        self._note(
            {
                "event": name,
                "about": about,
                "mail": event.mail.message_id,
                "state": state,
                "time": datetime.now(UTC).isoformat(),
                **more,
            }
        )

    def _schedule(self, event: PendingEvent[M, R], wait: float) -> None:
        if len(self._due) >= MAX_WAITING:
            self.record(event, "lost", why="too many events wait")
            return
        self._number += event.is_repetition
        heappush(self._due, (time.monotonic() + wait, self._number, event))
        self._is_due.set()

    async def _run(self) -> None:
        while True:
            if self._rate.is_high(time.monotonic()):
                await asyncio.sleep(_PAUSE)
            events = await self._next_group()
            self._in_hand += len(events)
            try:
                await self.publish(events)
            finally:
                self._in_hand -= len(events)

    async def _next_group(self) -> list[PendingEvent[M, R]]:
        """Some events whose time has come."""
        while True:
            seconds = None
            if self._due and not self.disturbances.is_paused:
                seconds = self._due[0][0] - time.monotonic()
                if seconds <= 0:
                    return self._pop_due()
            self._is_due.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._is_due.wait()

    def _pop_due(self) -> list[PendingEvent[M, R]]:
        events: list[PendingEvent[M, R]] = []
        now = time.monotonic()
        while len(events) < _GROUP and self._due and self._due[0][0] <= now:
            events.append(heappop(self._due)[2])
        return events
