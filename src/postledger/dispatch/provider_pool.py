"""The open providers, one for each account, kept between rounds."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import structlog
from pydantic import ValidationError

from postledger.accounts import queries as accounts
from postledger.accounts.queries import Outgoing
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch import options
from postledger.dispatch.db_threads import DbThreads
from postledger.lib.errors import RefusedError
from postledger.providers import registry
from postledger.providers.base import EmitsEvents, Provider

_log = structlog.get_logger(__name__)

# How long a sender's settings are used before they are read again.
FRESH_SECONDS = 5.0
# How long a provider may take to close its connections when the process ends.
CLOSE_WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class Blocked:
    """No provider can be opened; a person has to change the sender or its account."""

    detail: str


_NO_SENDER = Blocked("The sender does not exist any more.")
_NO_ACCOUNT = Blocked(
    "The sender has no provider account. Attach one to it: postledger sender attach."
)


@dataclass(slots=True)
class OpenProvider:
    """An open provider, and the lease that its calls need."""

    provider: Provider
    lease: timedelta
    revision: datetime | None
    users: int = 0
    is_replaced: bool = False


# Takes an event of a provider inside this process: its account, an id and the body.
type TakeEvent = Callable[[int, str, str], None]


@dataclass(slots=True)
class ProviderPool:
    db: DbThreads
    shortest_lease: timedelta
    take_event: TakeEvent | None = None
    # With the moment after which they are read again.
    _senders: dict[int, tuple[Outgoing | None, float]] = field(default_factory=dict)
    _open: dict[int | None, OpenProvider] = field(default_factory=dict)  # None: the sandbox
    # One for each account: a provider that is slow to open holds up no other.
    _opening: defaultdict[int | None, asyncio.Lock] = field(
        default_factory=lambda: defaultdict(asyncio.Lock)
    )
    _closing: set[asyncio.Task[None]] = field(default_factory=set)

    @asynccontextmanager
    async def use(
        self, stream: StreamFacts
    ) -> AsyncIterator[tuple[Outgoing, OpenProvider] | Blocked]:
        """The stream's sender and its provider, open at least until the block ends."""
        try:
            sender = await self.find_sender(stream.sender_id)
            opened = await self._provider(sender, is_test=stream.is_test)
        except RefusedError as refused:
            yield Blocked(str(refused))
            return
        if sender is None or isinstance(opened, Blocked):
            yield opened if isinstance(opened, Blocked) else _NO_SENDER
            return
        opened.users += 1
        try:
            yield sender, opened
        finally:
            opened.users -= 1
            self._close_if_replaced(opened)

    async def close(self) -> None:
        for opened in self._open.values():
            self._close(opened)
        self._open.clear()
        if self._closing:
            await asyncio.wait(self._closing, timeout=CLOSE_WITHIN)

    async def find_sender(self, sender_id: int) -> Outgoing | None:
        """A sender with its settings and limits, as they were some seconds ago at most."""
        sender, until = self._senders.get(sender_id, (None, 0.0))
        if until < time.monotonic():
            sender = await self.db.run(accounts.outgoing, sender_id)
            self._senders[sender_id] = sender, time.monotonic() + FRESH_SECONDS
        return sender

    async def _provider(self, sender: Outgoing | None, *, is_test: bool) -> OpenProvider | Blocked:
        if sender is None:
            return _NO_SENDER
        if is_test:
            return await self._open_once(None, "sandbox", {}, None)
        if sender.account_id is None or sender.kind is None:
            return _NO_ACCOUNT
        return await self._open_once(
            sender.account_id, sender.kind, sender.settings, sender.revision
        )

    async def _open_once(
        self,
        account_id: int | None,
        kind: str,
        settings: Mapping[str, object],
        revision: datetime | None,
    ) -> OpenProvider | Blocked:
        async with self._opening[account_id]:
            opened = self._open.get(account_id)
            if opened is not None and not _is_newer(revision, opened.revision):
                return opened
            try:
                provider = registry.build(kind, settings)
            except ValidationError as error:
                wrong = ", ".join(str(item["loc"][0]) for item in error.errors() if item["loc"])
                return Blocked(f"The account's settings are wrong: {wrong}.")
            try:
                await provider.open()
            except OSError as error:
                return Blocked(f"The provider cannot be opened: {error.strerror}.")
            if account_id is not None and self.take_event and isinstance(provider, EmitsEvents):
                provider.emit_to(partial(self.take_event, account_id))
            lease = options.lease_time(self.shortest_lease, provider.call_time)
            self._open[account_id] = fresh = OpenProvider(provider, lease, revision)
        if opened is not None:
            opened.is_replaced = True
            self._close_if_replaced(opened)
        return fresh

    def _close_if_replaced(self, opened: OpenProvider) -> None:
        if opened.is_replaced and not opened.users:
            self._close(opened)

    def _close(self, opened: OpenProvider) -> None:
        """Closes in a task of its own, which nobody waits for; an error is logged."""
        closing = asyncio.create_task(_close_quietly(opened.provider))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)


async def _close_quietly(provider: Provider) -> None:
    try:
        await provider.close()
    except Exception:  # noqa: BLE001  the task's edge: all its mails are settled already
        _log.exception("a provider could not be closed")


def _is_newer(revision: datetime | None, opened: datetime | None) -> bool:
    """Of two senders of one account, one may have read its settings before they were changed."""
    return revision is not None and opened is not None and revision > opened
