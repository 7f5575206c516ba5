"""Decides who is carried next: the heart of a worker process."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime

import structlog

from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Body, Kind
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch import heartbeat, liveness, room
from postledger.dispatch.carrier import Carrier
from postledger.dispatch.crew import Crew
from postledger.dispatch.desk import LOST, Desk
from postledger.dispatch.holds import Holds
from postledger.dispatch.room import Post, Room
from postledger.dispatch.routes import Routes
from postledger.dispatch.rules import Rules
from postledger.observability import metrics_store

_log = structlog.get_logger(__name__)

DESK_THREADS = 3
# Without a bell or a tick the loop looks for work by itself: a dead broker costs time, no mail.
LOOK_EVERY = 5.0
SIGN_OF_LIFE_EVERY = 5.0
# Beat ticks every second; after so many without, the loop sees to lost leases itself.
MOST_SILENCE = 15.0
# What is known of a stream does not change; the number remembered is bounded, and that of
# contents more so: each may have megabytes of attachments.
MOST_STREAMS_KNOWN = 1000
MOST_BODIES_KNOWN = 50
# For what is known of ended calls to be booked, however short the grace was.
SETTLE_WITHIN = 15.0


class Dispatcher:
    """Runs carriers, as many as there is room for, fairly between workspaces and streams.

    All of its methods but `run` may be called from other threads.
    """

    def __init__(self, name: str, rules: Rules) -> None:
        self.name = name
        self.passed_at = time.monotonic()  # when the loop last came round
        self.worked_at = time.monotonic()  # when a carrier last had work
        self.claimed_at: datetime | None = None
        self.ticked_at: datetime | None = None
        self._rules = rules
        self._loop: asyncio.AbstractEventLoop | None = None
        self._carriers: dict[asyncio.Task[None], Carrier] = {}
        self._rung: dict[int, None] = {}  # an ordered set
        self._looks = True
        self._looked_at = 0.0
        self._heard_at = time.monotonic()  # when somebody last ticked
        self._news = asyncio.Event()
        self._news.set()  # the first pass looks at once
        self._stop_requested = False
        self._streams: dict[int, StreamFacts] = {}
        self._shared: dict[int, Mapping[int, Body]] = {}
        self._started_at = datetime.now(UTC)

    @property
    def is_carrying(self) -> bool:
        return bool(self._carriers)

    def ring(self, stream_id: int) -> None:
        """A stream has work."""
        self._call(self._ring, stream_id)

    def tick(self) -> None:
        """Beat is there, and some stream may have work that came due."""
        self._heard_at, self.ticked_at = time.monotonic(), datetime.now(UTC)
        self.look()

    def look(self) -> None:
        """Some stream may have work."""
        self._call(self._look)

    def stop(self) -> None:
        """Finishes the rounds under way, hands the rest back, and ends `run`."""
        self._stop_requested = True
        self._call(self._news.set)

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        desk = Desk(DESK_THREADS)
        routes = Routes(desk, self._rules.shortest_lease)
        crew = Crew(self.name, self._rules, desk, routes, Holds(desk))
        over = asyncio.Event()
        life = asyncio.create_task(self._live(desk, over))
        try:
            while not self._stop_requested:
                await self._pass(crew)
            await self._wind_up(crew)
        finally:
            over.set()
            await life  # not cancelled: a sign under way would be written after it was taken back
            await routes.close()
            with suppress(*LOST):  # a database that is away
                await desk.do(metrics_store.flush)
                await desk.do(heartbeat.gone, self.name)
            desk.close()

    # Inside the loop ---------------------------------------------------------------------------

    def _call[*Args](self, what: Callable[[*Args], None], *args: *Args) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended: nobody works here any more
                self._loop.call_soon_threadsafe(what, *args)

    def _ring(self, stream_id: int) -> None:
        self._rung[stream_id] = None
        self._news.set()

    def _look(self) -> None:
        self._looks = True
        self._news.set()

    async def _pass(self, crew: Crew) -> None:
        self.passed_at = time.monotonic()
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_EVERY):
                await self._news.wait()
        self._news.clear()
        try:
            await self._sweep_unasked(crew.desk)
            await self._answer_bells(crew)
            if self._looks or time.monotonic() - self._looked_at >= LOOK_EVERY:
                await self._give_turns(crew)
        except Exception:  # noqa: BLE001  the loop's edge: whatever happens, it goes on
            _log.exception("looking for work failed; going on in a second")
            await asyncio.sleep(1)
            self._look()

    async def _sweep_unasked(self, desk: Desk) -> None:
        """Takes lost leases away by itself where no beat asks for it: doubts must show up."""
        if time.monotonic() - self._heard_at > MOST_SILENCE:
            self._heard_at = time.monotonic()
            # Of many workers each hears a tick now and then only.
            if await desk.do(liveness.hearing_beat().exists):
                return
            _log.warning("no tick was heard; sweeping unasked. Does a worker run with --beat?")
            await desk.do(ledger.sweep)
            self._looks = True

    async def _answer_bells(self, crew: Crew) -> None:
        for stream_id in list(self._rung):
            stream = await self._stream(crew.desk, stream_id)
            if stream is None:
                self._rung.pop(stream_id, None)
            elif not self._is_being_claimed(stream_id) and self._room().admits(_post(stream)):
                self._rung.pop(stream_id, None)
                self._start(stream, crew)

    def _is_being_claimed(self, stream_id: int) -> bool:
        """Whether a claim is under way: it may have looked before the bell's work was there, so
        the bell is answered after it.
        """
        return any(
            carrier.is_claiming and carrier.stream.id == stream_id
            for carrier in self._carriers.values()
        )

    async def _give_turns(self, crew: Crew) -> None:
        self._looks, self._looked_at = False, time.monotonic()
        for kinds in (room.URGENT, room.BULK):
            places = self._room()
            for stream_id in await self._turns(crew.desk, places, kinds):
                stream = await self._stream(crew.desk, stream_id)
                # Asked again for each: one workspace may have had several turns at once.
                if stream is not None and self._room().admits(_post(stream)):
                    self._start(stream, crew)

    async def _turns(self, desk: Desk, places: Room, kinds: Collection[Kind]) -> list[int]:
        free = places.free(kinds)
        if not free:
            return []
        return await desk.do(
            ledger.turns,
            limit=free,
            kinds=kinds,
            but_streams=places.full_streams(),
            but_workspaces=places.full_workspaces(),
        )

    def _room(self) -> Room:
        taken = (_post(carrier.stream) for carrier in self._carriers.values())
        return Room(taken, self._rules.limits)

    async def _stream(self, desk: Desk, stream_id: int) -> StreamFacts | None:
        stream = self._streams.get(stream_id)
        if stream is None:
            stream = await desk.do(queries.stream, stream_id)
            if stream is not None:
                if len(self._streams) >= MOST_STREAMS_KNOWN:
                    self._streams.clear()
                    self._shared.clear()
                self._streams[stream_id] = stream
        return stream

    def _start(self, stream: StreamFacts, crew: Crew) -> None:
        carrier = Carrier(stream, crew, self._shared.get(stream.id, {}), self._claimed)
        task = asyncio.create_task(carrier.run())
        self._carriers[task] = carrier
        task.add_done_callback(self._ended)

    def _claimed(self) -> None:
        if self._rung:
            self._news.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        carrier = self._carriers.pop(task)
        if task.cancelled():  # the loop itself ends
            return
        if task.exception() is not None:
            _log.error(
                "a carrier failed",
                exc_info=task.exception(),
                stream_id=carrier.stream.id,
                workspace_id=carrier.stream.workspace_id,
            )
        elif carrier.has_worked:
            self.worked_at, self.claimed_at = time.monotonic(), datetime.now(UTC)
            if carrier.shared:
                if len(self._shared) >= MOST_BODIES_KNOWN:
                    self._shared.clear()
                self._shared[carrier.stream.id] = carrier.shared
            # Where there was work there may be more, here or in a stream that had no room.
            self._looks = True
        if self._looks or self._rung:
            self._news.set()

    async def _wind_up(self, crew: Crew) -> None:
        """Lets the calls under way finish; those that outlast the grace are ended."""
        crew.stop.set()
        await self._wait_for_carriers(self._rules.grace.total_seconds())
        if self._carriers:
            _log.warning(
                "the grace is over; calls under way are ended", carriers=len(self._carriers)
            )
            crew.stop_now.set()
            await self._wait_for_carriers(SETTLE_WITHIN)

    async def _wait_for_carriers(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self._carriers and (left := end - time.monotonic()) > 0:
            self.passed_at = time.monotonic()  # whoever waits here does not hang
            await asyncio.wait(self._carriers, timeout=min(left, 1.0))

    async def _live(self, desk: Desk, over: asyncio.Event) -> None:
        while not over.is_set():
            try:
                await desk.do(
                    heartbeat.sign,
                    self.name,
                    started_at=self._started_at,
                    carrying=len(self._carriers),
                    claimed_at=self.claimed_at,
                    ticked_at=self.ticked_at,
                )
                await desk.do(metrics_store.flush)
            except Exception:  # noqa: BLE001  the loop's edge: no sign of life is no reason to die
                _log.exception("could not write a sign of life")
            with suppress(TimeoutError):
                async with asyncio.timeout(SIGN_OF_LIFE_EVERY):
                    await over.wait()


def _post(stream: StreamFacts) -> Post:
    return Post(stream.id, stream.workspace_id, stream.kind)
