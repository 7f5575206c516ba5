"""Opens a connection and brings it to the point where messages can be handed over."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point
from postledger.lib.sentences import say
from postledger.providers import public_addresses
from postledger.providers.base import Failure, NotSent, SenderBlocked, TryLater
from postledger.providers.connection import (
    ConnectionBrokenError,
    explain_os_error,
    timeout_at,
)
from postledger.providers.public_addresses import ForbiddenAddressError
from postledger.providers.smtp import connection, outcomes
from postledger.providers.smtp.connection import Connection
from postledger.providers.smtp.outcomes import Stage
from postledger.providers.smtp.replies import Features, Reply
from postledger.providers.smtp.settings import SmtpSettings, Tls

NO_STARTTLS = "tls_missing"
_CONTINUE = 3
HOST_INSIDE = "host_inside"


class NoSessionError(Exception):
    """No session could be opened; `outcome` is that of the message it was for, and `reason` says
    why to a person who tests the connection; `error` kept it from connecting.
    """

    def __init__(self, outcome: Failure, reason: str = "", *, error: OSError | None = None) -> None:
        super().__init__(outcome)
        if isinstance(outcome, TryLater):
            outcome = replace(outcome, is_outage=True)
        self.outcome = outcome
        self.reason = reason or outcome.detail
        self.error = error


class Session:
    """A connection that is greeted, encrypted and authenticated as the settings ask."""

    def __init__(self, settings: SmtpSettings, context: ssl.SSLContext | None) -> None:
        self.loop = asyncio.get_running_loop()
        self.connection = Connection(self.loop)
        self.features = Features()
        self.stage = Stage.CONNECT
        self.message_count = 0
        self.is_dirty = False  # a transaction was begun and not ended: RSET comes first
        self.is_over = False  # nothing more may be sent on this connection
        self.idle_since = 0.0
        self._settings = settings
        self._context = context

    async def open(self, until: float) -> None:
        try:
            async with timeout_at(min(until, self.limit(self._settings.timeouts.connect))):
                await self._connect()
            await self._greet(until)
            if self._settings.username:
                await self._authenticate(until)
        except ConnectionBrokenError as error:
            raise self._failed(error.code, error.detail, until) from None
        except ssl.SSLCertVerificationError as error:
            reason = say("the certificate is not trusted: %(reason)s", reason=error.verify_message)
            self._block("tls_certificate", reason)
        except TimeoutError:
            code, detail = ConnectionBrokenError.TIMEOUT, say("no answer in time")
            raise self._failed(code, detail, until) from None
        except OSError as error:
            code = "tls" if isinstance(error, ssl.SSLError) else "connect"
            raise self._failed(code, explain_os_error(error), until, error) from None
        except asyncio.CancelledError:
            self.give_up()
            raise

    def _failed(
        self, code: str, detail: str, until: float, error: OSError | None = None
    ) -> NoSessionError:
        self.give_up()
        if code == ConnectionBrokenError.TIMEOUT and self.loop.time() >= until:
            return NoSessionError(NotSent(f"the deadline came at {self.stage.name}"))
        outcome = outcomes.broken(self.stage, code, detail)
        return NoSessionError(outcome, self._describe(detail), error=error)

    def _describe(self, detail: str) -> str:
        if self.stage is Stage.CONNECT:
            return detail
        return say("%(stage)s: %(detail)s", stage=self.stage.name, detail=detail)

    def limit(self, seconds: float) -> float:
        return self.loop.time() + seconds

    async def command(self, command: bytes, until: float) -> Reply:
        self.connection.write(command + b"\r\n")
        return await self.reply(until)

    async def reply(self, until: float) -> Reply:
        return await self.connection.reply(min(until, self.limit(self._settings.timeouts.command)))

    def give_up(self) -> None:
        self.is_over = True
        self.connection.abort()

    async def quit(self) -> None:
        """Ends the session; all its messages have their outcomes already."""
        self.is_over = True
        try:
            await self.command(b"QUIT", self.limit(self._settings.timeouts.quit))
        except ConnectionBrokenError:
            self.connection.abort()
        else:
            self.connection.close()

    async def _connect(self) -> None:
        crashpoints.reached(Point.BEFORE_CONNECT)
        await self._connect_to_one(await self._find_hosts())
        self.connection.limit_unacknowledged(self._settings.timeouts.answer)
        self.connection.measure_buffer()
        if self._settings.tls is Tls.IMPLICIT:
            await self._encrypt()
        crashpoints.reached(Point.AFTER_CONNECT)

    async def _find_hosts(self) -> Sequence[str]:
        """What to connect to: the host, or the addresses of it that were looked at."""
        host, port = self._settings.host, self._settings.actual_port
        if not self._settings.public_only:
            return [host]
        try:
            return await public_addresses.find_public_addresses(host, port)
        except ForbiddenAddressError:
            self._block(
                HOST_INSIDE,
                say(
                    "the server is inside a network or on this machine, where only the operator of"
                    " the installation sends mail"
                ),
            )

    async def _connect_to_one(self, hosts: Sequence[str]) -> None:
        """The first that takes a connection; the error of the last if none does."""
        port = self._settings.actual_port
        for host in hosts:
            try:
                await self.loop.create_connection(lambda: self.connection, host, port)
            except OSError:
                if host == hosts[-1]:
                    raise
            else:
                return

    async def _greet(self, until: float) -> None:
        self.stage = Stage.GREETING
        self._need(await self.reply(until))
        await self._ehlo(until)
        if self._settings.tls is Tls.STARTTLS:
            await self._start_tls(until)
            await self._ehlo(until)

    async def _ehlo(self, until: float) -> None:
        self.stage = Stage.EHLO
        reply = await self.command(f"EHLO {self._settings.ehlo_name}".encode(), until)
        self._need(reply)
        self.features = Features.read_from(reply)

    async def _start_tls(self, until: float) -> None:
        self.stage = Stage.STARTTLS
        if not self.features.starttls:
            self._block(NO_STARTTLS, say("the server does not offer STARTTLS"))
        self._need(await self.command(b"STARTTLS", until))
        if not self.connection.is_quiet:
            # Sent in the clear, it would be read as if it had come encrypted.
            reason = say("the server sent data between its consent and TLS")
            self._block("tls_injection", reason)
        async with timeout_at(min(until, self.limit(self._settings.timeouts.connect))):
            await self._encrypt()

    async def _encrypt(self) -> None:
        if self._context is None:
            raise RuntimeError("the settings ask for no TLS")
        await self.connection.encrypt(self._context, self._settings.host)

    async def _authenticate(self, until: float) -> None:
        self.stage = Stage.AUTH
        username = self._settings.username.encode()
        password = self._settings.password.get_secret_value().encode()
        if "PLAIN" in self.features.mechanisms:
            token = b64encode(b"\0" + username + b"\0" + password)
            self._need(await self.command(b"AUTH PLAIN " + token, until))
        elif "LOGIN" in self.features.mechanisms:
            self._need(await self.command(b"AUTH LOGIN", until), _CONTINUE)
            self._need(await self.command(b64encode(username), until), _CONTINUE)
            self._need(await self.command(b64encode(password), until))
        else:
            self._block("auth_missing", say("the server offers neither PLAIN nor LOGIN"))

    def _need(self, reply: Reply, first_digit: int = 2) -> None:
        if reply.is_refusal:
            self.give_up()
            raise NoSessionError(outcomes.refusal(self.stage, reply))
        connection.expect(reply, first_digit)

    def _block(self, code: str, detail: str) -> NoReturn:
        self.give_up()
        blocked = SenderBlocked(code, f"{self.stage.name}: {detail}", is_account=True)
        raise NoSessionError(blocked, self._describe(detail))
