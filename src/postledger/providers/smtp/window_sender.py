"""Sends one window: several workers take its messages, each over one connection at a time."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from postledger.lib.clock import Deadline
from postledger.providers.base import NotSent, Outcome, OutgoingMessage, Refused
from postledger.providers.smtp import framing
from postledger.providers.smtp.framing import Frame
from postledger.providers.smtp.pool import Pool
from postledger.providers.smtp.session import NoSessionError, Session
from postledger.providers.smtp.settings import SmtpSettings
from postledger.providers.smtp.transaction import StaleError, Transaction
from postledger.providers.windows import WindowQueue


@dataclass(frozen=True, slots=True)
class WindowSender:
    """What the workers of one window share."""

    settings: SmtpSettings
    pool: Pool
    window: Sequence[OutgoingMessage]
    start_by: Deadline
    dot_by: Deadline

    async def run_worker(self, queue: WindowQueue) -> None:
        await _ConnectionWorker(self, queue).run()


class _ConnectionWorker:
    def __init__(self, sender: WindowSender, queue: WindowQueue) -> None:
        self._sender = sender
        self._queue = queue
        self._session: Session | None = None
        self._transaction: Transaction | None = None

    async def run(self) -> None:
        sender = self._sender
        if not await sender.pool.acquire(sender.start_by.loop_time()):
            self._queue.not_sent_reason = "no connection became free in time"
            return
        try:
            await self._send_messages()
        finally:
            sender.pool.release(self._session)

    async def _send_messages(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._sender.start_by.has_passed():
            index = self._queue.take()
            if index is None:
                return
            began = loop.time()
            try:
                outcome = await self._send(self._sender.window[index])
            except asyncio.CancelledError:
                self._queue.report(index, self._interrupted())
                raise
            except NoSessionError as error:
                # It does not pay for one connection too many: where others send, they may take it.
                self._queue.put_back(index, error.outcome)
                self._queue.not_sent_reason = f"not begun: {error.outcome.detail}"
                return
            duration = timedelta(seconds=loop.time() - began)
            self._queue.report(index, replace(outcome, duration=duration))
        self._queue.not_sent_reason = "the deadline left no time for it"

    def _interrupted(self) -> Outcome:
        if self._transaction is None:
            return NotSent("cancelled before it was begun")
        return self._transaction.interrupted()

    async def _send(self, message: OutgoingMessage) -> Outcome:
        frame = framing.frame(message)
        if isinstance(frame, Refused):
            return frame
        try:
            return await self._hand_over(frame, message.id, fresh=False)
        except StaleError:
            return await self._hand_over(frame, message.id, fresh=True)

    async def _hand_over(self, frame: Frame, delivery_id: str, *, fresh: bool) -> Outcome:
        # Nothing is awaited between an outcome and its report: a cancellation cannot part them.
        self._transaction = None
        sender = self._sender
        session = await self._ready_session(fresh=fresh)
        if sender.dot_by.has_passed():
            return NotSent("the deadline came while its connection was made ready")
        self._transaction = Transaction(
            session, frame, delivery_id, timeouts=sender.settings.timeouts, dot_by=sender.dot_by
        )
        return await self._transaction.run()

    async def _ready_session(self, *, fresh: bool) -> Session:
        sender, session = self._sender, self._session
        if session is not None and not session.is_over:
            if not session.connection.is_quiet:
                session.give_up()  # a reply without a command would be taken for the next answer
            elif session.message_count < sender.settings.messages_per_connection:
                return session
            else:
                await session.quit()
        self._session = None
        self._session = await sender.pool.open_session(sender.dot_by.loop_time(), fresh=fresh)
        return self._session
