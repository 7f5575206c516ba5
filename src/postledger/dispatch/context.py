"""What all stream workers of one process share."""

import asyncio
from dataclasses import dataclass, field

from postledger.dispatch.body_memory import BodyMemory
from postledger.dispatch.compose_lock import ComposeLock
from postledger.dispatch.db_threads import DbThreads
from postledger.dispatch.fence import Fence
from postledger.dispatch.holds import Holds
from postledger.dispatch.options import Options
from postledger.dispatch.provider_pool import ProviderPool


@dataclass(frozen=True, slots=True)
class Context:
    """`stop` ends turns after their round; `stop_now` also ends the calls under way."""

    name: str  # of this process, as leases name their holder
    options: Options
    db: DbThreads
    providers: ProviderPool
    holds: Holds
    fence: Fence
    compose_lock: ComposeLock = field(default_factory=ComposeLock)
    body_memory: BodyMemory = field(default_factory=BodyMemory)
    bookings: set[object] = field(default_factory=set)  # what only this process knows and writes
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    stop_now: asyncio.Event = field(default_factory=asyncio.Event)
