"""The main loop of a worker process: decides which streams are served next."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import structlog

from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Body, StreamKind
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch import heartbeat, limit_review
from postledger.dispatch.capacity import Capacity, Slot
from postledger.dispatch.context import Context
from postledger.dispatch.db_threads import DbThreads
from postledger.dispatch.fence import Fence
from postledger.dispatch.holds import Holds
from postledger.dispatch.options import Options
from postledger.dispatch.pace.permits import Permits
from postledger.dispatch.provider_pool import ProviderPool, TakeEvent
from postledger.dispatch.stream_worker import StreamWorker
from postledger.dispatch.witness import TokenWitness
from postledger.lib.database_outage import OUTAGE_ERRORS
from postledger.observability import metrics_store
from postledger.pacing.limiter import Limiter

_log = structlog.get_logger(__name__)

DB_THREADS = 3
# Without a wake-up or a tick the dispatcher polls: a dead broker costs time, no mail.
POLL_EVERY = 5.0
HEARTBEAT_EVERY = 5.0
# A rate may be raised while a stream rests for the next moment of a slow one.
LONGEST_REST = 5.0
# Time for the answers of ended calls to be booked, however short `stop_within` was.
SETTLE_WITHIN = 15.0


class Dispatcher:
    """Runs stream workers, as many as there are slots, fairly between workspaces and streams.

    All of its methods but `run` may be called from other threads.
    """

    def __init__(self, name: str, options: Options, take_event: TakeEvent | None = None) -> None:
        self.name = name
        self._take_event = take_event
        self.claimed_at: datetime | None = None
        self.ticked_at: datetime | None = None
        self._options = options
        self._loop: asyncio.AbstractEventLoop | None = None
        self._workers: dict[asyncio.Task[None], StreamWorker] = {}
        self._woken: dict[int, None] = {}  # an ordered set of stream ids
        self._resting: set[int] = set()  # streams whose next moment is to come
        self._must_poll = True
        self._polled_at = 0.0
        self._woken_up = asyncio.Event()
        self._woken_up.set()  # the first tick polls at once
        self._stop_requested = False
        self._streams = _StreamCache()
        self._started_at = datetime.now(UTC)

    @property
    def is_busy(self) -> bool:
        return bool(self._workers)

    def wake(self, stream_id: int) -> None:
        """Announces work of a stream."""
        self._call(self._wake, stream_id)

    def tick(self) -> None:
        """Announces that beat is alive and that work of some stream may have come due."""
        self.ticked_at = datetime.now(UTC)
        self.poll()

    def poll(self) -> None:
        """Announces that some stream may have work."""
        self._call(self._request_poll)

    def stop(self) -> None:
        """Finishes the rounds under way, gives other work back, and ends `run`."""
        self._stop_requested = True
        self._call(self._woken_up.set)

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        options = self._options
        fence = Fence(
            TokenWitness(redis_url=options.redis_url, folder=options.state_folder, name=self.name)
        )
        db = DbThreads(DB_THREADS)
        providers = ProviderPool(db, options.shortest_lease, self._take_event)
        limiter = Limiter(options.redis_url, options.horizon) if options.redis_url else None
        permits = Permits(db, limiter, options.reserve, options.horizon)
        context = Context(
            self.name, options, db, providers, Holds(db), fence, permits, self._request_poll
        )
        over = asyncio.Event()
        beating = asyncio.create_task(self._write_heartbeats(context, over))
        reviewing = asyncio.create_task(self._review_limits(context, over))
        try:
            while not self._stop_requested:
                await self._tick(context)
            await self._finish_workers(context)
        finally:
            over.set()
            await beating  # not cancelled: a heartbeat under way would outlive its removal
            await reviewing
            await providers.close()
            if limiter is not None:
                await limiter.close()
            with suppress(*OUTAGE_ERRORS):
                await db.run(metrics_store.flush)
                await db.run(heartbeat.remove, self.name)
            await asyncio.to_thread(db.close)
            fence.close()

    # Wake-ups ----------------------------------------------------------------------------------

    def _call[*Args](self, call: Callable[[*Args], None], *args: *Args) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended: nobody works here any more
                self._loop.call_soon_threadsafe(call, *args)

    def _wake(self, stream_id: int) -> None:
        self._woken[stream_id] = None
        self._woken_up.set()

    def _request_poll(self) -> None:
        self._must_poll = True
        self._woken_up.set()

    # Which stream next -------------------------------------------------------------------------

    async def _tick(self, context: Context) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_EVERY):
                await self._woken_up.wait()
        self._woken_up.clear()
        if not self._options.is_sending:
            return
        try:
            await self._serve_woken(context)
            if self._must_poll or time.monotonic() - self._polled_at >= POLL_EVERY:
                await self._serve_next(context)
        except Exception:  # noqa: BLE001  the loop's edge: it goes on after any error
            _log.exception("looking for work failed; trying again in a second")
            await asyncio.sleep(1)
            self._request_poll()

    async def _serve_woken(self, context: Context) -> None:
        for stream_id in list(self._woken):
            stream = await self._streams.facts(context.db, stream_id)
            if stream is None or stream_id in self._resting:  # then a timer wakes it
                self._woken.pop(stream_id, None)
            elif not self._is_being_claimed(stream_id) and self._capacity().admits(_slot(stream)):
                self._woken.pop(stream_id, None)
                self._start(stream, context)

    def _is_being_claimed(self, stream_id: int) -> bool:
        """Whether a claim is under way: it may have read before the new work was there, so the
        wake-up is served after it.
        """
        return any(
            worker.is_claiming and worker.stream.id == stream_id
            for worker in self._workers.values()
        )

    async def _serve_next(self, context: Context) -> None:
        self._must_poll = False
        for kind in (StreamKind.TRANSACTIONAL, StreamKind.TOPIC, StreamKind.CAMPAIGN):
            for stream_id in await self._next_streams(context.db, kind):
                stream = await self._streams.facts(context.db, stream_id)
                # Checked again for each: one workspace may have got several slots at once.
                if stream is not None and self._capacity().admits(_slot(stream)):
                    self._start(stream, context)
        self._polled_at = time.monotonic()

    async def _next_streams(self, db: DbThreads, kind: StreamKind) -> list[int]:
        slots = self._capacity()
        free = slots.free(kind)
        if not free:
            return []
        return await db.run(
            ledger.next_streams,
            limit=free,
            kinds=[kind],
            but_streams=[*slots.full_streams(), *self._resting],
            but_workspaces=slots.full_workspaces(),
            but_tests_of=slots.full_of_tests(),
        )

    def _capacity(self) -> Capacity:
        taken = (
            replace(_slot(worker.stream), is_pacing=worker.is_pacing)
            for worker in self._workers.values()
        )
        return Capacity(taken, self._options.limits)

    # Stream workers ----------------------------------------------------------------------------

    def _start(self, stream: StreamFacts, context: Context) -> None:
        worker = StreamWorker(stream, context, self._streams.bodies(stream.id), self._on_claim)
        task = asyncio.create_task(worker.run())
        self._workers[task] = worker
        task.add_done_callback(self._on_end)

    def _on_claim(self) -> None:
        if self._woken:
            self._woken_up.set()

    def _on_end(self, task: asyncio.Task[None]) -> None:
        worker = self._workers.pop(task)
        if task.cancelled():  # the event loop itself ends
            return
        if task.exception() is not None:
            _log.error(
                "serving a stream failed",
                exc_info=task.exception(),
                stream_id=worker.stream.id,
                workspace_id=worker.stream.workspace_id,
            )
        elif worker.has_worked:
            self.claimed_at = datetime.now(UTC)
            self._streams.keep_bodies(worker.stream.id, worker.shared_bodies)
            # Where there was work there may be more, here or in a stream that got no slot.
            self._must_poll = True
        if worker.pause is not None:
            self._rest(worker.stream.id, worker.pause.length.total_seconds())
        if self._must_poll or self._woken:
            self._woken_up.set()

    def _rest(self, stream_id: int, seconds: float) -> None:
        """Leaves a stream alone until its next moment: asking before would be in vain."""
        self._resting.add(stream_id)
        asyncio.get_running_loop().call_later(min(seconds, LONGEST_REST), self._end_rest, stream_id)

    def _end_rest(self, stream_id: int) -> None:
        self._resting.discard(stream_id)
        self._wake(stream_id)

    # Stopping and the heartbeat ----------------------------------------------------------------

    async def _finish_workers(self, context: Context) -> None:
        """Lets the calls under way finish; those that take too long are ended."""
        context.stop.set()
        await self._wait_for_workers(self._options.stop_within.total_seconds())
        if self._workers:
            _log.warning("time is up; calls under way are ended", streams=len(self._workers))
            context.stop_now.set()
            await self._wait_for_workers(SETTLE_WITHIN)
        # Answers that the database does not take are known here alone, however long it is away.
        while self._workers and context.bookings:
            await self._wait_for_workers(1.0)

    async def _wait_for_workers(self, seconds: float) -> None:
        if self._workers:
            await asyncio.wait(self._workers, timeout=seconds)

    async def _write_heartbeats(self, context: Context, over: asyncio.Event) -> None:
        db = context.db
        while not over.is_set():
            try:
                await db.run(context.fence.check, is_sign_of_life=True)
                await db.run(
                    heartbeat.write,
                    self.name,
                    started_at=self._started_at,
                    busy_streams=len(self._workers),
                    claimed_at=self.claimed_at,
                    ticked_at=self.ticked_at,
                )
                await db.run(metrics_store.flush)
            except Exception:  # noqa: BLE001  the loop's edge: a missing heartbeat ends nobody
                _log.exception("could not write the heartbeat")
            await _wait(over, HEARTBEAT_EVERY)

    async def _review_limits(self, context: Context, over: asyncio.Event) -> None:
        while not await _wait(over, self._options.review_every.total_seconds()):
            try:
                await limit_review.review_held(context)
            except Exception:  # noqa: BLE001  the loop's edge: it goes on after any error
                _log.exception("could not look at the limits of held streams")


async def _wait(event: asyncio.Event, seconds: float) -> bool:
    """Whether the event comes within so many seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


class _StreamCache:
    """Facts and shared bodies of streams; they do not change, and their number is bounded."""

    MOST_FACTS = 1000
    MOST_BODIES = 50  # of streams; each may have megabytes of attachments

    def __init__(self) -> None:
        self._facts: dict[int, StreamFacts] = {}
        self._bodies: dict[int, Mapping[int, Body]] = {}

    async def facts(self, db: DbThreads, stream_id: int) -> StreamFacts | None:
        stream = self._facts.get(stream_id)
        if stream is None:
            stream = await db.run(queries.find_stream, stream_id)
            if stream is not None:
                if len(self._facts) >= self.MOST_FACTS:
                    self._facts.clear()
                    self._bodies.clear()
                self._facts[stream_id] = stream
        return stream

    def bodies(self, stream_id: int) -> Mapping[int, Body]:
        return self._bodies.get(stream_id, {})

    def keep_bodies(self, stream_id: int, bodies: Mapping[int, Body]) -> None:
        if bodies:
            if len(self._bodies) >= self.MOST_BODIES:
                self._bodies.clear()
            self._bodies[stream_id] = bodies


def _slot(stream: StreamFacts) -> Slot:
    return Slot(stream.id, stream.workspace_id, stream.kind, stream.is_test)
