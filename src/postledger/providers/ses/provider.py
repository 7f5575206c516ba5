"""Hands messages to Amazon SES: one SendEmail for each, over kept connections."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from postledger.lib.clock import Clock, Deadline, boottime
from postledger.providers import windows
from postledger.providers.base import (
    Finding,
    Form,
    Outcome,
    OutgoingMessage,
    ProviderEvent,
    QuotaReading,
)
from postledger.providers.http.exchange import Break, Exchange
from postledger.providers.http.messages import Answer
from postledger.providers.http.pool import NoConnectionError, Origin, Pool, Timeouts
from postledger.providers.http.window_sender import WindowSender
from postledger.providers.ses import account_check, events, findings, quota
from postledger.providers.ses.settings import SesSettings
from postledger.providers.windows import WindowQueue

if TYPE_CHECKING:
    from postledger.providers.ses.api import SesApi

CHECK_SECONDS = 20.0  # all questions of a check together; SES lets one a second through
_ASK_SECONDS = 5.0
# SES closes idle connections, too, and a mail that meets such an end is in doubt.
IDLE_SECONDS = 1.0


def build(settings: Mapping[str, object]) -> "Ses":
    return Ses(SesSettings.model_validate(settings))


async def check(settings: Mapping[str, object], senders: Sequence[str]) -> Sequence[Finding]:
    """Asks SES about the account, the identities of its senders and its configuration set."""
    ses = Ses(SesSettings.model_validate(settings))
    results: list[Finding] = []
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await ses.open()
            async for finding in account_check.check_account(ses, ses.settings, senders):
                results.append(finding)  # noqa: PERF401  what came before a timeout is kept
    except TimeoutError:
        results.append(findings.too_slow(CHECK_SECONDS, has_begun=bool(results)))
    except OSError as error:
        results.append(findings.without_credentials(error.strerror or str(error)))
    finally:
        await ses.close()
    endpoint = ses.settings.actual_endpoint
    return [findings.endpoint_here(endpoint.url), *results] if endpoint.is_here else results


def parse_events(headers: Mapping[str, str], body: bytes) -> Sequence[ProviderEvent]:
    return events.parse_events(headers, body)


class Ses:
    """One recipient for each call, and no retries: these are the caller's."""

    form = Form.MIME

    def __init__(self, settings: SesSettings, *, clock: Clock = boottime) -> None:
        self.settings = settings
        self._clock = clock
        self._pool: Pool | None = None
        self._api: SesApi | None = None

    @property
    def window_size(self) -> int:
        return self.settings.connections

    @property
    def call_time(self) -> float:
        return self.settings.timeouts.call

    async def open(self) -> None:
        """Raises OSError if the machine has to have credentials, and has none."""
        endpoint = self.settings.actual_endpoint
        api, context = await asyncio.to_thread(_load, self.settings)
        limits = self.settings.timeouts
        self._pool = Pool(
            Origin(endpoint.host, endpoint.port, context),
            size=self.settings.connections,
            idle_limit=IDLE_SECONDS,
            timeouts=Timeouts(limits.connect, limits.request, limits.call),
            clock=self._clock,
        )
        self._api = api
        await api.load_credentials()

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        api, self._api = self._api, None
        if pool is not None:
            pool.close()
        if api is not None:
            api.close()

    async def send(
        self, window: Sequence[OutgoingMessage], deadline: float
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        if self._pool is None or self._api is None:
            raise RuntimeError("the provider is not open")
        sender = WindowSender(self._api, self._pool, window, deadline, self._clock)
        count = min(len(window), self.settings.connections)
        queue = WindowQueue(len(window))
        async with aclosing(windows.run_workers(queue, sender.run_worker, count)) as reports:
            async for report in reports:
                yield report

    async def read_quota(self) -> QuotaReading:
        return await quota.read_quota(self)

    async def ask(self, path: str) -> Answer | Break:
        """The answer to a request that reads, on a connection of its own."""
        if self._pool is None or self._api is None:
            raise RuntimeError("the provider is not open")
        request = await self._api.write_read_request(path)
        end_by = Deadline(self._clock() + _ASK_SECONDS, self._clock)
        try:
            connection = await self._pool.connect(end_by.loop_time())
        except NoConnectionError as error:
            return error.broken
        until = end_by.loop_time()
        try:
            return await Exchange(connection, request, end_by=end_by, answer_until=until).run()
        finally:
            connection.close()


def _load(settings: SesSettings) -> "tuple[SesApi, ssl.SSLContext | None]":
    """In a thread: botocore and the trusted authorities take long to load."""
    from postledger.providers.ses.api import SesApi

    if not settings.actual_endpoint.is_encrypted:
        return SesApi(settings), None
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return SesApi(settings), context
