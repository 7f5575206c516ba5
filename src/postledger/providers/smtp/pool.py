"""Keeps connections open between messages, and no more of them than the settings allow."""

import asyncio
import ssl

from postledger.providers.smtp.line import LineBrokenError
from postledger.providers.smtp.session import Session
from postledger.providers.smtp.settings import Settings, Tls


class Pool:
    """Whoever enters holds one of the places until leaving; a session may come and go with it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._context = _context(settings)
        self._places = asyncio.Semaphore(settings.connections)
        self._idle: list[Session] = []
        self._reaper: asyncio.TimerHandle | None = None
        self._farewells: set[asyncio.Task[None]] = set()

    async def enter(self, until: float) -> bool:
        if not self._places.locked():
            return await self._places.acquire()
        try:
            async with asyncio.timeout_at(until):
                return await self._places.acquire()
        except TimeoutError:
            return False

    def leave(self, session: Session | None) -> None:
        if session is None or session.is_over:
            self._places.release()
        elif session.message_count >= self._settings.messages_per_connection:
            self._part(session).add_done_callback(lambda _: self._places.release())
        else:
            session.idle_since = self._loop.time()
            self._idle.append(session)
            self._places.release()
            if self._reaper is None:
                self._reaper = self._loop.call_later(self._settings.idle_limit, self._reap)

    async def session(self, until: float, *, fresh: bool = False) -> Session:
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
        while self._idle:
            self._part(self._idle.pop())
        if self._farewells:
            await asyncio.wait(self._farewells)

    async def _is_alive(self, session: Session, until: float) -> bool:
        if not session.line.is_quiet:
            session.give_up()
            return False
        if self._loop.time() - session.idle_since < self._settings.idle_check:
            return True
        try:
            reply = await session.command(b"NOOP", until)
        except LineBrokenError:
            session.give_up()
            return False
        except asyncio.CancelledError:
            session.give_up()
            raise
        if reply.is_refusal:
            session.give_up()
        return not reply.is_refusal

    def _reap(self) -> None:
        """Parts with sessions that were idle too long; the oldest are in front."""
        self._reaper = None
        oldest = self._loop.time() - self._settings.idle_limit
        while self._idle and self._idle[0].idle_since <= oldest:
            self._part(self._idle.pop(0))
        if self._idle:
            at = self._idle[0].idle_since + self._settings.idle_limit
            self._reaper = self._loop.call_at(at, self._reap)

    def _part(self, session: Session) -> asyncio.Task[None]:
        farewell = self._loop.create_task(session.quit())
        self._farewells.add(farewell)
        farewell.add_done_callback(self._farewells.discard)
        return farewell


def _context(settings: Settings) -> ssl.SSLContext:
    if settings.tls is Tls.NONE:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return ssl.create_default_context(cafile=settings.ca_file)
