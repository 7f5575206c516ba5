"""Calls the provider for the mails of one round, each at its moment."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from postledger.dispatch.pace.moments import LATEST, group_moments
from postledger.dispatch.pace.permits import Permit
from postledger.dispatch.rounds.compose import ComposedMail

# Hands some mails over; returns when each has its answer, also after it was cancelled.
type Send = Callable[[Sequence[ComposedMail]], Awaitable[None]]


class PacedCall:
    """The calls of one round. Without moments there is one call for all mails."""

    def __init__(self, mails: Sequence[ComposedMail], permit: Permit, send: Send) -> None:
        self.not_begun: Sequence[ComposedMail] = mails
        self._permit = permit
        self._send = send

    async def run(self) -> None:
        """Returns when all calls are over. What is too late for its moment is not begun.

        Cancelling it, or an error of one call, ends the other calls.
        """
        if not self._permit.moments:
            mails, self.not_begun = self.not_begun, ()
            await self._send(mails)
            return
        calls: list[asyncio.Task[None]] = []
        try:
            await self._begin_calls(calls)
            await _finish(calls)
        finally:
            for call in calls:
                call.cancel()
            if calls:
                await asyncio.wait(calls)

    async def _begin_calls(self, calls: list[asyncio.Task[None]]) -> None:
        loop, line = asyncio.get_running_loop(), self._permit.line
        for moment, count in group_moments(self._permit.moments):
            # Asked again after each sleep: another round may have left meanwhile.
            now = loop.time()
            while (start := line.find_start(moment)) > now:
                await asyncio.sleep(start - now)
                now = loop.time()
            if now - moment > LATEST or any(call.done() and call.exception() for call in calls):
                return
            due, self.not_begun = self.not_begun[:count], self.not_begun[count:]
            line.leave(count, now)
            calls.append(asyncio.ensure_future(self._send(due)))


async def _finish(calls: Sequence[asyncio.Task[None]]) -> None:
    """Waits for all; raises the first error, at once."""
    if calls:
        done, _ = await asyncio.wait(calls, return_when="FIRST_EXCEPTION")
        for call in done:
            call.result()
