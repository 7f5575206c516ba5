"""A provider without a network: the address decides, and a journal lists the accepted mails."""

import asyncio
import os
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
    Finding,
    Form,
    InDoubt,
    NotSent,
    Outcome,
    OutgoingMessage,
    ProviderEvent,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from postledger.providers.sandbox import events
from postledger.providers.sandbox.events import Behaviour
from postledger.providers.windows import WindowQueue

type Sink = Callable[[Sequence[OutgoingMessage]], None]


def _ignore(_: Sequence[OutgoingMessage]) -> None:
    """The sink of a sandbox without a journal."""


class FileJournal:
    """Appends `id address` lines; several processes may share the file.

    Mails taken together are one write to a file opened for appending, so lines of two writers do
    not mix.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def __call__(self, taken: Sequence[OutgoingMessage]) -> None:
        lines = [f"{message.id} {_printable(message.recipient)}\n" for message in taken]
        data = "".join(lines).encode()
        while data:
            data = data[os.write(self._file, data) :]

    def close(self) -> None:
        os.close(self._file)


def _printable(address: str) -> str:
    # A line break inside an address would count as a second mail.
    return address if address.isprintable() else ascii(address)


class SandboxSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    journal: Path | None = None  # where one line for each taken mail is appended
    window_size: int = Field(default=50, gt=0)
    slow: float = Field(default=2.0, ge=0)  # seconds before a slow@ is taken
    hang: float = Field(default=5.0, ge=0)  # seconds before a hang@ is given up
    retry_after: float = Field(default=30.0, ge=0)  # seconds a later@ or throttle@ asks for


def build(settings: Mapping[str, object]) -> "Sandbox":
    return Sandbox(SandboxSettings.model_validate(settings))


async def check(_settings: Mapping[str, object], _senders: Sequence[str]) -> Sequence[Finding]:
    """There is no service to log in to."""
    return ()


async def read_records(_settings: Mapping[str, object], _address: str) -> None:
    """Nothing leaves it, so nobody looks anything up."""


def parse_events(headers: Mapping[str, str], body: bytes) -> Sequence[ProviderEvent]:
    return events.parse_events(headers, body)


_UNANSWERED = InDoubt("The sandbox took it and did not answer.")
_LATE = frozenset({Behaviour.SLOW, Behaviour.HANG})


def _outcomes(retry_after: timedelta) -> Mapping[Behaviour, Outcome]:
    return {
        Behaviour.REFUSE: Refused("550 5.1.1", "The sandbox refuses this address."),
        Behaviour.LATER: TryLater("451 4.3.0", "The sandbox asks to try later.", retry_after),
        Behaviour.THROTTLE: Throttled("The sandbox says it is too fast.", retry_after),
        Behaviour.BLOCK: SenderBlocked("535 5.7.8", "The sandbox refuses this sender."),
        Behaviour.BROKEN: TryLater(
            "closed", "The sandbox broke the connection before it took anything."
        ),
        Behaviour.VANISH: _UNANSWERED,
    }


class Sandbox:
    form = Form.MIME

    def __init__(
        self,
        settings: SandboxSettings,
        *,
        sink: Sink | None = None,
        clock: Clock = boottime,
    ) -> None:
        self._settings = settings
        self._sink = sink or _ignore
        self._emit: Callable[[str, str], None] | None = None
        self._file: FileJournal | None = None
        self._clock = clock
        self._outcomes = _outcomes(timedelta(seconds=settings.retry_after))

    @property
    def window_size(self) -> int:
        return self._settings.window_size

    @property
    def call_time(self) -> float:
        return self._settings.slow

    def emit_to(self, sink: Callable[[str, str], None]) -> None:
        self._emit = sink

    async def open(self) -> None:
        if self._settings.journal is not None:
            self._file = self._sink = FileJournal(self._settings.journal)

    async def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file, self._sink = None, _ignore

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
        worker = partial(self._answer_late, late=late, end=end)
        queue = WindowQueue(len(late))
        async with aclosing(windows.run_workers(queue, worker, len(late))) as outcomes:
            async for index, outcome in outcomes:
                yield waiting[index], outcome

    def _answer(
        self, window: Sequence[OutgoingMessage]
    ) -> tuple[list[tuple[int, Outcome]], list[int]]:
        """Answers all that can be answered at once; the bulk path, hence no await and one write."""
        answers: list[tuple[int, Outcome]] = []
        taken: list[OutgoingMessage] = []
        waiting: list[int] = []
        for index, message in enumerate(window):
            behaviour = events.find_behaviour(message.recipient)
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
        self, queue: WindowQueue, *, late: Sequence[OutgoingMessage], end: Deadline
    ) -> None:
        index = queue.take()
        if index is None:
            return
        message = late[index]
        seconds_left = end.seconds_left()
        outcome: Outcome = NotSent("its time ended first")
        is_hanging = events.find_behaviour(message.recipient) is Behaviour.HANG
        if is_hanging and seconds_left > 0:
            self._take([message])
            outcome = _UNANSWERED
        longest = self._settings.hang if is_hanging else self._settings.slow
        wait = min(seconds_left, longest)
        try:
            await asyncio.sleep(wait)
            if not is_hanging and wait < seconds_left and not end.has_passed():
                self._take([message])
                outcome = Accepted(events.message_id(message))
        finally:
            queue.report(index, outcome)

    def _take(self, taken: Sequence[OutgoingMessage]) -> None:
        if not taken:
            return
        self._sink(taken)
        if self._emit is not None:
            # One message for all, as services do that report much: each costs as much as a mail.
            body = events.write_events(taken, at=datetime.now(UTC))
            self._emit(events.message_id(taken[0]), body)
