"""Delivers messages to one listener: several at once, again after a failure, in order of their
arrival but without a promise about it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, assert_never

MAX_WAITING = 20_000  # messages to one listener, with those that wait for another try


@dataclass(frozen=True, slots=True)
class Delivered:
    status: int  # of HTTP


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
class Parcel[T]:
    """A message on its way to one listener."""

    message: T
    on_end: Callable[[Ending], None]
    failures: int = 0


class Transport[T](Protocol):
    """How messages reach a listener."""

    connections: int
    max_tries: int | None  # None: until it works
    linger: float  # seconds to wait for more messages, if all that wait fit together

    def count_together(self, waiting: Sequence[Parcel[T]]) -> int:
        """How many of the messages that wait go in one call; at least one."""

    def pause_after(self, failures: int) -> float:
        """Seconds between two tries."""

    async def send(self, messages: Sequence[T]) -> Sequence[Answer]:
        """One answer for each."""

    def close(self) -> None: ...


@dataclass(slots=True)
class Deliverer[T]:
    transport: Transport[T]
    _waiting: deque[Parcel[T]] = field(default_factory=deque)
    _workers: set[asyncio.Task[None]] = field(default_factory=set)
    _timers: dict[Parcel[T], asyncio.TimerHandle] = field(default_factory=dict)
    _has_room: asyncio.Event = field(default_factory=asyncio.Event)
    size: int = 0  # of messages that have not ended

    async def put(self, parcel: Parcel[T]) -> None:
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

    def _queue(self, parcel: Parcel[T]) -> None:
        self._timers.pop(parcel, None)
        self._waiting.append(parcel)
        if len(self._workers) < self.transport.connections:
            worker = asyncio.get_running_loop().create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    async def _work(self) -> None:
        """Ends when nothing waits."""
        while self._waiting:
            count = self.transport.count_together(self._waiting)
            if self.transport.linger and count == len(self._waiting):
                await asyncio.sleep(self.transport.linger)
                if not self._waiting:
                    return
                count = self.transport.count_together(self._waiting)
            parcels = [self._waiting.popleft() for _ in range(count)]
            answers = await self.transport.send([parcel.message for parcel in parcels])
            for parcel, answer in zip(parcels, answers, strict=True):
                self._settle(parcel, answer)

    def _settle(self, parcel: Parcel[T], answer: Answer) -> None:
        match answer:
            case Delivered() | Refused():
                self._finish(parcel, answer)
            case Broken(why=why):
                parcel.failures += 1
                if parcel.failures == self.transport.max_tries:
                    self._finish(parcel, Refused(f"given up after {parcel.failures} tries: {why}"))
                else:
                    loop = asyncio.get_running_loop()
                    pause = self.transport.pause_after(parcel.failures)
                    timer = loop.call_later(pause, self._queue, parcel)
                    self._timers[parcel] = timer
            case other:
                assert_never(other)

    def _finish(self, parcel: Parcel[T], ending: Ending) -> None:
        self.size -= 1
        self._has_room.set()
        parcel.on_end(ending)


@dataclass(slots=True)
class Deliverers[T]:
    """Those of all listeners, by the names of these."""

    _by_name: dict[str, Deliverer[T]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many messages have not ended."""
        return sum(deliverer.size for deliverer in self._by_name.values())

    async def put(
        self, name: str, parcel: Parcel[T], open_transport: Callable[[], Transport[T]]
    ) -> None:
        """Returns when there is room for it; the first message opens the transport."""
        deliverer = self._by_name.get(name)
        if deliverer is None:
            deliverer = self._by_name[name] = Deliverer(open_transport())
        await deliverer.put(parcel)

    def end_except(self, is_there: Callable[[str], bool], why: str) -> None:
        """Refuses what waits for listeners that are gone."""
        for name, deliverer in self._by_name.items():
            if not is_there(name):
                deliverer.end(why)

    async def stop(self) -> None:
        """Forgets what waits: it is published again after a start with the same journal."""
        for deliverer in self._by_name.values():
            await deliverer.stop()
        self._by_name.clear()
