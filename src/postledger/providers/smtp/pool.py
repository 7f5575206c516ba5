"""Keeps connections open between messages, and no more of them than the settings allow."""

import asyncio
import ssl
from contextlib import suppress

from postledger.providers.connection import ConnectionBrokenError
from postledger.providers.smtp.session import Session
from postledger.providers.smtp.settings import SmtpSettings, Tls


class Pool:
    """Each `acquire` takes one of the permits to use a connection, until its `release`."""

    def __init__(self, settings: SmtpSettings) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._context = _tls_context(settings)
        self._permits = asyncio.Semaphore(settings.connections)
        self._idle: list[Session] = []
        self._reaper: asyncio.TimerHandle | None = None
        self._quitting: set[asyncio.Task[None]] = set()

    async def acquire(self, until: float) -> bool:
        """Takes a permit; False if none became free in time. It opens no connection."""
        if not self._permits.locked():
            return await self._permits.acquire()
        try:
            async with asyncio.timeout_at(until):
                return await self._permits.acquire()
        except TimeoutError:
            return False

    def release(self, session: Session | None) -> None:
        """Gives the permit back, and keeps the session for later if it can still be used."""
        if session is None or session.is_over:
            self._permits.release()
        elif session.message_count >= self._settings.messages_per_connection:
            self._quit(session).add_done_callback(lambda _: self._permits.release())
        else:
            session.idle_since = self._loop.time()
            self._idle.append(session)
            self._permits.release()
            if self._reaper is None:
                self._reaper = self._loop.call_later(self._settings.idle_limit, self._reap)

    async def open_session(self, until: float, *, fresh: bool = False) -> Session:
        """An idle session that still answers, or a new one; raises NoSessionError."""
        while self._idle and not fresh:
            session = self._idle.pop()
            if await self._is_alive(session, until):
                return session
        session = Session(self._settings, self._context)
        await session.open(until)
        return session

    async def close(self) -> None:
        if self._reaper is not None:
            self._reaper.cancel()
            self._reaper = None
        while self._idle:
            self._quit(self._idle.pop())
        if self._quitting:
            await asyncio.wait(self._quitting)

    async def _is_alive(self, session: Session, until: float) -> bool:
        if not session.connection.is_quiet:
            session.give_up()
            return False
        if self._loop.time() - session.idle_since < self._settings.idle_check:
            return True
        is_alive = False
        try:
            with suppress(ConnectionBrokenError):
                is_alive = not (await session.command(b"NOOP", until)).is_refusal
        finally:
            if not is_alive:
                session.give_up()
        return is_alive

    def _reap(self) -> None:
        """Quits sessions that were idle too long; the oldest are in front."""
        self._reaper = None
        oldest = self._loop.time() - self._settings.idle_limit
        while self._idle and self._idle[0].idle_since <= oldest:
            self._quit(self._idle.pop(0))
        if self._idle:
            at = self._idle[0].idle_since + self._settings.idle_limit
            self._reaper = self._loop.call_at(at, self._reap)

    def _quit(self, session: Session) -> asyncio.Task[None]:
        task = self._loop.create_task(session.quit())
        self._quitting.add(task)
        task.add_done_callback(self._quitting.discard)
        return task


def _tls_context(settings: SmtpSettings) -> ssl.SSLContext | None:
    if settings.tls is Tls.NONE:
        return None
    return ssl.create_default_context(cafile=settings.ca_file)
