"""Which provider takes a stream's mail, kept open between rounds."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from pydantic import ValidationError

from postledger.accounts import queries as accounts
from postledger.accounts.queries import Outgoing
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch import timing
from postledger.dispatch.desk import Desk
from postledger.lib.errors import RefusedError
from postledger.providers import registry
from postledger.providers.base import Mailbox, Provider

_log = structlog.get_logger(__name__)

# How long a sender's settings are believed before they are read again.
FRESH = 5.0
# How long a provider may take to say goodbye when the process ends.
FAREWELL = 10.0


@dataclass(frozen=True, slots=True)
class Blocked:
    """There is no provider to open; a person has to do something about the sender."""

    code: str
    detail: str


_GONE = Blocked("sender_gone", "The sender is not there any more.")


@dataclass(slots=True)
class Route:
    """An open provider, and the lease that its calls need."""

    provider: Provider
    lease: timedelta
    revision: datetime | None
    users: int = 0
    is_old: bool = False


@dataclass(slots=True)
class _Known:
    sender: Outgoing | None
    until: float


@dataclass(slots=True)
class Routes:
    desk: Desk
    shortest_lease: timedelta
    _senders: dict[int, _Known] = field(default_factory=dict)
    _open: dict[int | None, Route] = field(default_factory=dict)  # by account; None: the sandbox
    # One for each account: a provider that is slow to open holds up no other.
    _opening: defaultdict[int | None, asyncio.Lock] = field(
        default_factory=lambda: defaultdict(asyncio.Lock)
    )
    _farewells: set[asyncio.Task[None]] = field(default_factory=set)

    async def sender(self, sender_id: int) -> Outgoing | None:
        known = self._senders.get(sender_id)
        if known is None or known.until < time.monotonic():
            found = await self.desk.do(accounts.outgoing, sender_id)
            known = self._senders[sender_id] = _Known(found, time.monotonic() + FRESH)
        return known.sender

    @asynccontextmanager
    async def to(self, stream: StreamFacts) -> AsyncIterator[tuple[Mailbox, Route] | Blocked]:
        """The stream's From and its route, open until left; a replaced one is closed then."""
        try:
            sender = await self.sender(stream.sender_id)
            route = await self._route(sender, is_test=stream.is_test)
        except RefusedError as refused:
            yield Blocked(refused.code, str(refused))
            return
        if sender is None or isinstance(route, Blocked):
            yield (
                route if isinstance(route, Blocked) else Blocked("sender_gone", "It is not there.")
            )
            return
        route.users += 1
        try:
            yield Mailbox(sender.address, sender.name), route
        finally:
            route.users -= 1
            self._close_if_old(route)

    async def close(self) -> None:
        for route in self._open.values():
            self._part(route)
        self._open.clear()
        if self._farewells:
            await asyncio.wait(self._farewells, timeout=FAREWELL)

    async def _route(self, sender: Outgoing | None, *, is_test: bool) -> Route | Blocked:
        if sender is None:
            return _GONE
        if is_test:
            return await self._opened(None, "sandbox", {}, None)
        if sender.account_id is None or sender.kind is None:
            remedy = "Attach a provider account to it: postledger sender attach."
            return Blocked("no_account", f"The sender has no provider account. {remedy}")
        return await self._opened(sender.account_id, sender.kind, sender.settings, sender.revision)

    async def _opened(
        self,
        account_id: int | None,
        kind: str,
        settings: Mapping[str, object],
        revision: datetime | None,
    ) -> Route | Blocked:
        async with self._opening[account_id]:
            route = self._open.get(account_id)
            if route is not None and not _is_newer(revision, route.revision):
                return route
            try:
                provider = registry.build(kind, settings)
            except ValidationError as error:
                wrong = ", ".join(str(item["loc"][0]) for item in error.errors() if item["loc"])
                return Blocked("bad_settings", f"The account's settings are wrong: {wrong}.")
            try:
                await provider.open()
            except OSError as error:
                return Blocked("not_opened", f"The provider cannot be opened: {error.strerror}.")
            lease = timing.lease_time(self.shortest_lease, provider.call_time)
            self._open[account_id] = fresh = Route(provider, lease, revision)
        if route is not None:
            route.is_old = True
            self._close_if_old(route)
        return fresh

    def _close_if_old(self, route: Route) -> None:
        if route.is_old and not route.users:
            self._part(route)

    def _part(self, route: Route) -> None:
        """Closes beside the work: nobody waits for a goodbye, and what it raises harms nobody."""
        farewell = asyncio.create_task(_closed(route.provider))
        self._farewells.add(farewell)
        farewell.add_done_callback(self._farewells.discard)


async def _closed(provider: Provider) -> None:
    try:
        await provider.close()
    except Exception:  # noqa: BLE001  the task's edge: all its mails are settled already
        _log.exception("a provider could not be closed")


def _is_newer(revision: datetime | None, known: datetime | None) -> bool:
    """Of two senders of one account, one may have read its settings before they were changed."""
    return revision is not None and known is not None and revision > known
