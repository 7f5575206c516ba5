"""A provider without a network: the address decides, and what is taken is journalled."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from postledger.lib.clock import Clock, Deadline, boottime
from postledger.providers import windows
from postledger.providers.base import (
    Accepted,
    InDoubt,
    NotSent,
    Outcome,
    OutgoingMessage,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from postledger.providers.events import ProviderEvent
from postledger.providers.sandbox import addresses, events, journal
from postledger.providers.sandbox.addresses import Behaviour
from postledger.providers.windows import Turns

type Emit = Callable[[Sequence[ProviderEvent]], None]


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    journal: Path | None = None  # where one line for each taken mail is appended
    window_size: int = Field(default=50, gt=0)
    slow: float = Field(default=2.0, ge=0)  # seconds before a slow@ is taken
    retry_after: float = Field(default=30.0, ge=0)  # seconds a later@ or throttle@ asks for
    event_delay: float = Field(default=1.0, ge=0)  # seconds until events are emitted


def build(settings: Mapping[str, object]) -> "Sandbox":
    return Sandbox(Settings.model_validate(settings))


_UNANSWERED = InDoubt("The sandbox took it and did not answer.")
_LATE = frozenset({Behaviour.SLOW, Behaviour.HANG})


def _outcomes(retry_after: timedelta) -> Mapping[Behaviour, Outcome]:
    return {
        Behaviour.REFUSE: Refused("550 5.1.1", "The sandbox refuses this address."),
        Behaviour.LATER: TryLater("451 4.3.0", "The sandbox asks to try later.", retry_after),
        Behaviour.THROTTLE: Throttled("The sandbox says it is too fast.", retry_after),
        Behaviour.BLOCK: SenderBlocked("535 5.7.8", "The sandbox refuses this sender."),
        Behaviour.BROKEN: TryLater("closed", "The sandbox broke the line before it took anything."),
        Behaviour.VANISH: _UNANSWERED,
    }


class Sandbox:
    def __init__(
        self,
        settings: Settings,
        *,
        sink: journal.Sink | None = None,
        emit: Emit | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Clock = boottime,
    ) -> None:
        self._settings = settings
        self._sink = sink or journal.nowhere
        self._file: journal.FileJournal | None = None
        self._emit = emit
        self._now = now
        self._clock = clock
        self._unsaid: list[OutgoingMessage] = []
        self._outcomes = _outcomes(timedelta(seconds=settings.retry_after))

    @property
    def window_size(self) -> int:
        return self._settings.window_size

    @property
    def call_time(self) -> float:
        return self._settings.slow

    async def open(self) -> None:
        if self._settings.journal is not None:
            self._file = self._sink = journal.FileJournal(self._settings.journal)

    async def close(self) -> None:
        """Emits what is still unsaid: an event that is late is better than one that is lost."""
        self._emit_all()
        if self._file is not None:
            self._file.close()
            self._file, self._sink = None, journal.nowhere

    async def send(
        self, window: Sequence[OutgoingMessage], deadline: float
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        end = Deadline(deadline, self._clock)
        if end.has_passed():
            for index in range(len(window)):
                yield index, NotSent("the deadline had passed")
            return
        answers, waiting = self._answer(window)
        for answer in answers:
            yield answer
        if not waiting:
            return

        late = [window[index] for index in waiting]
        lane = partial(self._answer_late, late=late, end=end)
        async with aclosing(windows.carry(Turns(len(late)), lane, len(late))) as outcomes:
            async for turn, outcome in outcomes:
                yield waiting[turn], outcome

    def _answer(
        self, window: Sequence[OutgoingMessage]
    ) -> tuple[list[tuple[int, Outcome]], list[int]]:
        """Answers all that can be answered at once; the bulk path, hence no await and one write."""
        answers: list[tuple[int, Outcome]] = []
        taken: list[OutgoingMessage] = []
        waiting: list[int] = []
        for index, message in enumerate(window):
            behaviour = addresses.behaviour(message.recipient)
            if behaviour is None:
                taken.append(message)
                answers.append((index, Accepted(events.message_id(message))))
            elif behaviour in _LATE:
                waiting.append(index)
            else:
                if behaviour is Behaviour.VANISH:
                    taken.append(message)
                answers.append((index, self._outcomes[behaviour]))
        self._take(taken)
        return answers, waiting

    async def _answer_late(
        self, turns: Turns, *, late: Sequence[OutgoingMessage], end: Deadline
    ) -> None:
        index = turns.take()
        if index is None:
            return
        message = late[index]
        rest = end.seconds_left()
        outcome: Outcome = NotSent("its time ended first")
        is_hanging = addresses.behaviour(message.recipient) is Behaviour.HANG
        if is_hanging and rest > 0:
            self._take([message])
            outcome = _UNANSWERED
        wait = rest if is_hanging else min(rest, self._settings.slow)
        try:
            await asyncio.sleep(wait)
            if wait < rest and not end.has_passed():
                self._take([message])
                outcome = Accepted(events.message_id(message))
        finally:
            turns.report(index, outcome)

    def _take(self, taken: Sequence[OutgoingMessage]) -> None:
        if not taken:
            return
        self._sink(taken)
        if self._emit is not None:
            self._unsaid.extend(taken)
            asyncio.get_running_loop().call_later(self._settings.event_delay, self._emit_all)

    def _emit_all(self) -> None:
        unsaid, self._unsaid = self._unsaid, []
        if unsaid and self._emit is not None:
            payloads = events.reports(unsaid, at=self._now())
            self._emit([events.parse(payload) for payload in payloads])
