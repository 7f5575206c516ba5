"""A kind of provider that plays a script: what a test registers, every account of it does."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import cast

from postledger.providers import registry
from postledger.providers.base import Accepted, Form, Outcome, OutgoingMessage

KIND = "scripted"

type Answers = AsyncGenerator[tuple[int, Outcome]]
type Script = Callable[[Sequence[OutgoingMessage], float], Answers]


def answering(answer: Callable[[OutgoingMessage], Outcome]) -> Script:
    """Says at once of every mail what `answer` says of it."""

    async def script(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        for index, message in enumerate(window):
            yield index, answer(message)

    return script


def always(outcome: Outcome) -> Script:
    return answering(lambda _: outcome)


accepting = answering(lambda message: Accepted(message.id))


def slowly(handed: list[str]) -> Script:
    """Takes one mail after the other, and notes their ids."""

    async def script(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        for index, message in enumerate(window):
            await asyncio.sleep(0.02)
            handed.append(message.id)
            yield index, Accepted(message.id)

    return script


@dataclass
class Stage:
    """What is played, and what happened."""

    script: Script = accepting
    call_time: float = 1.0
    window_size: int = 50
    form: Form = Form.MIME
    opened: list[object] = field(default_factory=list)  # the settings, one for each opening
    closed: list[object] = field(default_factory=list)
    windows: list[list[str]] = field(default_factory=list)  # the recipients of each call
    opening: dict[object, asyncio.Event] = field(default_factory=dict)  # what is waited for
    knocked: asyncio.Event = field(default_factory=asyncio.Event)  # somebody waits for it
    farewell: asyncio.Event | None = None  # the same, before a provider is closed


_stages: list[Stage] = []


class Scripted:
    def __init__(self, stage: Stage, name: object) -> None:
        self._stage = stage
        self._name = name
        self._is_open = False

    @property
    def form(self) -> Form:
        return self._stage.form

    @property
    def window_size(self) -> int:
        return self._stage.window_size

    @property
    def call_time(self) -> float:
        return self._stage.call_time

    async def open(self) -> None:
        if self._name in self._stage.opening:
            self._stage.knocked.set()
            await self._stage.opening[self._name].wait()
        self._is_open = True
        self._stage.opened.append(self._name)

    async def close(self) -> None:
        self._is_open = False
        if self._stage.farewell is not None:
            await self._stage.farewell.wait()
        self._stage.closed.append(self._name)

    async def send(self, window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        assert self._is_open
        self._stage.windows.append([message.recipient for message in window])
        async with aclosing(self._stage.script(window, deadline)) as answers:
            async for answer in answers:
                yield answer


def build(settings: Mapping[str, object]) -> Scripted:
    return Scripted(_stages[-1], settings.get("name"))


@contextmanager
def registered(
    script: Script = accepting,
    *,
    call_time: float = 1.0,
    window_size: int = 50,
    form: Form = Form.MIME,
) -> Iterator[Stage]:
    """The kind exists while the block runs, and plays the script."""
    kinds = cast("dict[str, str]", registry.KINDS)
    stage = Stage(script, call_time, window_size, form)
    _stages.append(stage)
    kinds[KIND] = __name__
    try:
        yield stage
    finally:
        del kinds[KIND]
        _stages.pop()
