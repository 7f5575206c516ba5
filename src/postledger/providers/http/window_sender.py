"""Sends one window: several workers take its messages, each as one request at a time."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Protocol

from postledger.lib.clock import Clock, Deadline
from postledger.providers.base import Failure, NotSent, Outcome, OutgoingMessage
from postledger.providers.connection import ConnectionBrokenError
from postledger.providers.http.exchange import Break, Exchange, Stage, StaleError
from postledger.providers.http.messages import Answer, Request
from postledger.providers.http.pool import NoConnectionError, Pool
from postledger.providers.windows import NotHandedOverError, WindowQueue


class Vendor(Protocol):
    """What one service makes of messages and answers."""

    async def write_request(self, message: OutgoingMessage) -> Request | Failure: ...

    def judge_answer(self, answer: Answer, message: OutgoingMessage) -> Outcome: ...

    def judge_break(self, broken: Break) -> Failure: ...


@dataclass(frozen=True, slots=True)
class WindowSender:
    """What the workers of one window share."""

    vendor: Vendor
    pool: Pool
    window: Sequence[OutgoingMessage]
    deadline: float  # of the clock
    clock: Clock

    @property
    def start_by(self) -> Deadline:
        return Deadline(self.deadline - self.pool.timeouts.call, self.clock)

    @property
    def end_by(self) -> Deadline:
        """After it no request is ended: its answer could not be waited for."""
        return Deadline(self.deadline - self.pool.timeouts.answer, self.clock)

    async def run_worker(self, queue: WindowQueue) -> None:
        if not await self.pool.acquire(self.start_by.loop_time()):
            queue.not_sent_reason = "no connection became free in time"
            return
        try:
            await _Worker(self, queue).send_messages()
        finally:
            self.pool.release()


class _Worker:
    def __init__(self, sender: WindowSender, queue: WindowQueue) -> None:
        self._sender = sender
        self._pool = sender.pool
        self._queue = queue
        self._loop = asyncio.get_running_loop()
        self._exchange: Exchange | None = None

    async def send_messages(self) -> None:
        start_by = self._sender.start_by
        while not start_by.has_passed():
            index = self._queue.take()
            if index is None:
                return
            message, began = self._sender.window[index], self._loop.time()
            try:
                outcome = await self._send(message)
            except asyncio.CancelledError:
                self._queue.report(index, self._timed(self._interrupted(message), began))
                raise
            except NoConnectionError as error:
                # It does not pay for one connection too many: where others send, they may take it.
                outcome = self._judge(error.broken, message)
                self._queue.put_back(index, self._timed(outcome, began))
                self._queue.not_sent_reason = "not begun: there was no connection"
                return
            self._queue.report(index, self._timed(outcome, began))
        self._queue.not_sent_reason = "the deadline left no time for it"

    def _timed(self, outcome: Outcome, began: float) -> Outcome:
        return replace(outcome, duration=timedelta(seconds=self._loop.time() - began))

    async def _send(self, message: OutgoingMessage) -> Outcome:
        # Nothing is awaited between an outcome and its report: a cancellation cannot part them.
        self._exchange = None
        timeouts, clock = self._pool.timeouts, self._sender.clock
        last_moment = min(clock() + timeouts.request, self._sender.end_by.moment)
        end_by = Deadline(last_moment, clock)
        answer_until = self._loop.time() + timeouts.call
        request = await self._write_request(message)
        if not isinstance(request, Request):
            return request
        while True:
            connection = self._pool.take_idle() or await self._pool.connect(end_by.loop_time())
            self._exchange = Exchange(connection, request, end_by=end_by, answer_until=answer_until)
            try:
                result = await self._exchange.run()
            except StaleError:
                continue
            self._pool.keep(connection)
            return self._judge(result, message)

    async def _write_request(self, message: OutgoingMessage) -> Request | Failure:
        try:
            return await self._sender.vendor.write_request(message)
        except Exception as error:
            raise NotHandedOverError from error

    def _interrupted(self, message: OutgoingMessage) -> Outcome:
        if self._exchange is None:
            return NotSent("cancelled before it was begun")
        return self._judge(self._exchange.interrupt(), message)

    def _judge(self, result: Answer | Break, message: OutgoingMessage) -> Outcome:
        if isinstance(result, Answer):
            return self._sender.vendor.judge_answer(result, message)
        is_timeout = result.code == ConnectionBrokenError.TIMEOUT
        if is_timeout and result.stage < Stage.ANSWER and self._sender.end_by.has_passed():
            return NotSent(f"the deadline came at {result.stage.name}")
        return self._sender.vendor.judge_break(result)
