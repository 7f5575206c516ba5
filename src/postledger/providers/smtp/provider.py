"""Hands messages to an SMTP server over pooled connections."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from postledger.lib.check_results import Level
from postledger.lib.clock import Clock, Deadline, boottime
from postledger.lib.sentences import say
from postledger.providers import windows
from postledger.providers.base import (
    Failure,
    Finding,
    Form,
    NotSent,
    Outcome,
    OutgoingMessage,
    ProviderEvent,
    SenderBlocked,
)
from postledger.providers.dns.records import SenderRecords
from postledger.providers.smtp import dns_records
from postledger.providers.smtp.outcomes import Stage
from postledger.providers.smtp.pool import Pool
from postledger.providers.smtp.session import HOST_INSIDE, NO_STARTTLS, NoSessionError
from postledger.providers.smtp.settings import SmtpSettings
from postledger.providers.smtp.window_sender import WindowSender
from postledger.providers.windows import WindowQueue

CHECK_SECONDS = 5.0
_SERVER: tuple[str, ...] = ("host", "port", "tls")
_OTHER_ENCRYPTION = say("Choose another encryption.")
_WHY_SILENT = say(
    "Check the name of the server, the port and the encryption. If they are right, ask whoever runs"
    " the server or the firewall before it."
)


def build(settings: Mapping[str, object]) -> "Smtp":
    return Smtp(SmtpSettings.model_validate(settings))


async def check(settings: Mapping[str, object], _senders: Sequence[str]) -> Sequence[Finding]:
    """Logs in, ends the session and sends nothing."""
    pool = Pool(SmtpSettings.model_validate(settings))
    try:
        session = await pool.open_session(asyncio.get_running_loop().time() + CHECK_SECONDS)
    except NoSessionError as error:
        return (_explain_host(error) or _explain(error.outcome, error.reason),)
    await session.quit()
    return ()


async def read_records(settings: Mapping[str, object], address: str) -> SenderRecords:
    """Asks nobody: servers of SMTP do not say them."""
    return dns_records.list_records(SmtpSettings.model_validate(settings), address)


def _explain_host(error: NoSessionError) -> Finding | None:
    """What nothing but another host would mend."""
    outcome, cause = error.outcome, error.error
    if isinstance(cause, socket.gaierror) and cause.errno != socket.EAI_AGAIN:
        message = say("No server has this name.")
        return Finding("name", Level.PROBLEM, message, say("Check the spelling."), ("host",))
    if isinstance(outcome, SenderBlocked) and outcome.code == HOST_INSIDE:
        message = say("It cannot be used: %(reason)s.", reason=error.reason)
        return Finding("inside", Level.PROBLEM, message, settings=("host",))
    return None


def _explain(outcome: Failure, reason: str) -> Finding:
    if isinstance(outcome, SenderBlocked) and outcome.code == NO_STARTTLS:
        message = say("This server offers no STARTTLS.")
        return Finding("encryption", Level.PROBLEM, message, _OTHER_ENCRYPTION, ("tls",))
    wrong = _SERVER
    wrong_secrets: tuple[str, ...] = ()
    if isinstance(outcome, NotSent):
        message = say(
            "The server gave no answer within %(seconds)s seconds.", seconds=f"{CHECK_SECONDS:.0f}"
        )
        return Finding("answer", Level.PROBLEM, message, _WHY_SILENT, wrong)
    if isinstance(outcome, SenderBlocked) and outcome.detail.startswith(Stage.AUTH.name):
        wrong, wrong_secrets = ("username",), ("password",)
    return Finding(
        "login",
        Level.PROBLEM,
        say("It cannot be used: %(reason)s.", reason=reason),
        say("If what was entered is right, mend the cause at the provider."),
        wrong,
        wrong_secrets,
    )


def parse_events(_headers: Mapping[str, str], _body: bytes) -> Sequence[ProviderEvent]:
    """SMTP servers have no webhooks."""
    return ()


class Smtp:
    """One recipient for each transaction, and no retries: these are the caller's."""

    form = Form.MIME

    def __init__(self, settings: SmtpSettings, *, clock: Clock = boottime) -> None:
        self._settings = settings
        self._clock = clock
        self._pool: Pool | None = None

    @property
    def window_size(self) -> int:
        return self._settings.connections

    @property
    def call_time(self) -> float:
        """The wait after the dot, and a minute at most to get there."""
        timeouts = self._settings.timeouts
        return timeouts.answer + 2 * timeouts.command

    async def open(self) -> None:
        self._pool = Pool(self._settings)

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def send(
        self, window: Sequence[OutgoingMessage], deadline: float
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        if self._pool is None:
            raise RuntimeError("the provider is not open")
        sender = WindowSender(
            self._settings,
            self._pool,
            window,
            start_by=Deadline(deadline - self.call_time, self._clock),
            dot_by=Deadline(deadline - self._settings.timeouts.answer, self._clock),
        )
        count = min(len(window), self._settings.connections)
        queue = WindowQueue(len(window))
        async with aclosing(windows.run_workers(queue, sender.run_worker, count)) as outcomes:
            async for report in outcomes:
                yield report
