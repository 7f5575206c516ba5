"""Delivers the messages of one subscription: several at once, again after a failure, in order of
their arrival but without a promise about it, as SNS does.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, assert_never

from postledger.fakes.ses.sns.envelopes import SignedNotice

MAX_WAITING = 20_000  # messages of one subscription, with those that wait for another try


@dataclass(frozen=True, slots=True)
class Delivered:
    status: int  # of HTTP: SNS takes any answer below 500 for a success


@dataclass(frozen=True, slots=True)
class Refused:
    """It is not tried again."""

    why: str


@dataclass(frozen=True, slots=True)
class Broken:
    """It may be tried again."""

    why: str


type Answer = Delivered | Refused | Broken
type Ending = Delivered | Refused


@dataclass(slots=True, eq=False)
class Parcel:
    """A message on its way to one subscription."""

    signed: SignedNotice
    on_end: Callable[[Ending], None]
    failures: int = 0


class Transport(Protocol):
    """How messages reach a subscription."""

    batch_size: int
    connections: int
    max_tries: int | None  # None: until it works
    pause: float  # seconds between two tries

    async def send(self, notices: Sequence[SignedNotice]) -> Sequence[Answer]:
        """One answer for each."""

    def close(self) -> None: ...


@dataclass(slots=True)
class Deliverer:
    transport: Transport
    _waiting: deque[Parcel] = field(default_factory=deque)
    _workers: set[asyncio.Task[None]] = field(default_factory=set)
    _timers: dict[Parcel, asyncio.TimerHandle] = field(default_factory=dict)
    _has_room: asyncio.Event = field(default_factory=asyncio.Event)
    size: int = 0  # of messages that have not ended

    async def put(self, parcel: Parcel) -> None:
        """Returns when there is room for it."""
        while self.size >= MAX_WAITING:
            self._has_room.clear()
            await self._has_room.wait()
        self.size += 1
        self._queue(parcel)

    def end(self, why: str) -> None:
        """Refuses all messages that wait; those under way get their answer."""
        for timer in self._timers.values():
            timer.cancel()
        waiting = [*self._waiting, *self._timers]
        self._waiting.clear()
        self._timers.clear()
        for parcel in waiting:
            self._finish(parcel, Refused(why))

    async def stop(self) -> None:
        """Forgets all messages that wait or are under way."""
        for timer in self._timers.values():
            timer.cancel()
        for worker in list(self._workers):
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self.transport.close()

    def _queue(self, parcel: Parcel) -> None:
        self._timers.pop(parcel, None)
        self._waiting.append(parcel)
        if len(self._workers) < self.transport.connections:
            worker = asyncio.get_running_loop().create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    async def _work(self) -> None:
        """Ends when nothing waits."""
        while self._waiting:
            count = min(self.transport.batch_size, len(self._waiting))
            parcels = [self._waiting.popleft() for _ in range(count)]
            answers = await self.transport.send([parcel.signed for parcel in parcels])
            for parcel, answer in zip(parcels, answers, strict=True):
                self._settle(parcel, answer)

    def _settle(self, parcel: Parcel, answer: Answer) -> None:
        match answer:
            case Delivered() | Refused():
                self._finish(parcel, answer)
            case Broken(why=why):
                parcel.failures += 1
                if parcel.failures == self.transport.max_tries:
                    self._finish(parcel, Refused(f"given up after {parcel.failures} tries: {why}"))
                else:
                    loop = asyncio.get_running_loop()
                    timer = loop.call_later(self.transport.pause, self._queue, parcel)
                    self._timers[parcel] = timer
            case other:
                assert_never(other)

    def _finish(self, parcel: Parcel, ending: Ending) -> None:
        self.size -= 1
        self._has_room.set()
        parcel.on_end(ending)
