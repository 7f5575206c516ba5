"""What all stream workers of one process share."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog

from postledger.deliveries.queries import StreamFacts
from postledger.dispatch.capacity import BodyMemory
from postledger.dispatch.compose_lock import ComposeLock
from postledger.dispatch.db_threads import DbThreads
from postledger.dispatch.fence import Fence
from postledger.dispatch.holds import Holds
from postledger.dispatch.options import Options
from postledger.dispatch.pace.permits import Permits
from postledger.dispatch.provider_pool import ProviderPool
from postledger.lib.database_outage import OUTAGE_ERRORS

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Context:
    """`stop` ends turns after their round; `stop_now` also ends the calls under way."""

    name: str  # of this process, as leases name their holder
    options: Options
    db: DbThreads
    providers: ProviderPool
    holds: Holds
    fence: Fence
    permits: Permits
    request_poll: Callable[[], None] = lambda: None  # a slot is free: another stream may have it
    compose_lock: ComposeLock = field(default_factory=ComposeLock)
    body_memory: BodyMemory = field(default_factory=BodyMemory)
    slow_streams: set[int] = field(default_factory=set)  # their last round was composed slowly
    bookings: set[object] = field(default_factory=set)  # unwritten results only we have
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    stop_now: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def booking(self) -> Iterator[None]:
        """Keeps the process alive while it has results that no other process has."""
        self.bookings.add(booking := object())
        try:
            yield
        finally:
            self.bookings.discard(booking)

    async def persist[**P, T](
        self, stream: StreamFacts, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Calls a verb until the database takes it: only this process has what it writes.

        Repeating is safe: a settle whose commit was not confirmed is already done, or becomes
        evidence, and a lease that was given back is not ours any more.
        """
        pause = 0.1
        while True:
            try:
                return await self.db.run(verb, *args, **kwargs)
            except OUTAGE_ERRORS as error:
                _log.warning(
                    "the database did not take what has to be written; trying again",
                    error=type(error).__name__,
                    pause=pause,
                    stream_id=stream.id,
                    workspace_id=stream.workspace_id,
                )
                await asyncio.sleep(pause)
                pause = min(pause * 2, 5.0)
