"""The provider of any service that takes one mail with one HTTP request."""

import asyncio
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol

from postledger.lib.clock import Clock, Deadline, boottime
from postledger.providers import windows
from postledger.providers.base import Outcome, OutgoingMessage
from postledger.providers.http.exchange import Break, Exchange
from postledger.providers.http.messages import Answer, Request
from postledger.providers.http.pool import NoConnectionError, Origin, Pool, trust_authorities
from postledger.providers.http.settings import HttpSettings
from postledger.providers.http.window_sender import Vendor, WindowSender
from postledger.providers.windows import WindowQueue

_ASK_SECONDS = 5.0
# Services close idle connections, too, and a mail that meets such an end is in doubt.
IDLE_SECONDS = 1.0


class Api(Vendor, Protocol):
    """What one service makes of messages, questions and answers."""

    async def write_read_request(self, path: str) -> Request:
        """A request that reads; the path is percent-encoded."""
        ...


class HttpProvider[Settings: HttpSettings, ServiceApi: Api](ABC):
    """One recipient for each call, and no retries: these are the caller's."""

    def __init__(self, settings: Settings, *, clock: Clock = boottime) -> None:
        self.settings = settings
        self._clock = clock
        self._pool: Pool | None = None
        self._api: ServiceApi | None = None

    @property
    def window_size(self) -> int:
        return self.settings.connections

    @property
    def call_time(self) -> float:
        return self.settings.timeouts.call

    @abstractmethod
    def _load_api(self) -> ServiceApi:
        """Called in a thread: it may have to import much."""
        ...

    async def open(self) -> None:
        endpoint = self.settings.actual_endpoint
        self._api, context = await asyncio.to_thread(self._load)
        self._pool = Pool(
            Origin(endpoint.host, endpoint.port, context),
            size=self.settings.connections,
            idle_limit=IDLE_SECONDS,
            timeouts=self.settings.timeouts,
            clock=self._clock,
        )

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        self._api = None
        if pool is not None:
            pool.close()

    async def send(
        self, window: Sequence[OutgoingMessage], deadline: float
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        api, pool = self._opened()
        sender = WindowSender(api, pool, window, deadline, self._clock)
        count = min(len(window), self.settings.connections)
        queue = WindowQueue(len(window))
        async with aclosing(windows.run_workers(queue, sender.run_worker, count)) as reports:
            async for report in reports:
                yield report

    async def ask(self, path: str) -> Answer | Break:
        """The answer to a request that reads."""
        api, _ = self._opened()
        return await self._exchange(await api.write_read_request(path))

    async def _exchange(self, request: Request) -> Answer | Break:
        """The answer to a request that hands over no mail, on a connection of its own."""
        _, pool = self._opened()
        end_by = Deadline(self._clock() + _ASK_SECONDS, self._clock)
        try:
            connection = await pool.connect(end_by.loop_time())
        except NoConnectionError as error:
            return error.broken
        until = end_by.loop_time()
        try:
            return await Exchange(connection, request, end_by=end_by, answer_until=until).run()
        finally:
            connection.close()

    def _opened(self) -> tuple[ServiceApi, Pool]:
        if self._pool is None or self._api is None:
            raise RuntimeError("the provider is not open")
        return self._api, self._pool

    def _load(self) -> tuple[ServiceApi, ssl.SSLContext | None]:
        context = trust_authorities() if self.settings.actual_endpoint.is_encrypted else None
        return self._load_api(), context
