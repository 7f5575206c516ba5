"""Takes armed windows to the provider, and books what came of every mail in them."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing

from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Claim, Entry, Window
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch import answers, gates, page, report, timing
from postledger.dispatch.answers import Told
from postledger.dispatch.compose import Mail
from postledger.dispatch.crew import Crew
from postledger.dispatch.desk import LOST
from postledger.dispatch.page import Page
from postledger.dispatch.routes import Route
from postledger.dispatch.sending import Part, Sending
from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point
from postledger.providers.base import Outcome

# Known results wait no longer than this for the rest of their window.
SETTLE_EVERY = 0.2

_UNASKED = "Whether the recipient still wants it could not be asked."
_TURNED = "The recipient's wishes changed while the mail was being made."


class HandOver:
    """What one claim has armed, on its way: nobody else may touch it until it is settled."""

    def __init__(self, stream: StreamFacts, crew: Crew, claim: Claim, route: Route) -> None:
        self._stream = stream
        self._crew = crew
        self._claim = claim
        self._route = route
        self._policy = crew.rules.policies[stream.kind]

    async def send(
        self, windows: Sequence[Window], mails: Sequence[Mail], read: Page, started: float
    ) -> None:
        try:
            turned = await self._turned(read)
        except BaseException:
            await self.settle_unsent(windows, mails, _UNASKED)
            raise
        going = [mail for mail in mails if mail.position not in turned]
        sending = Sending(windows, (mail.position for mail in going))
        for mail in mails:
            if mail.position in turned:
                sending.answer(entries.not_sent(mail.position, detail=_TURNED))
        elapsed = boottime() - started
        deadline = asyncio.get_running_loop().time() + timing.time_left(self._route.lease, elapsed)
        call = asyncio.create_task(self._collect(going, deadline, sending))
        try:
            await self._follow(call, sending, deadline)
        finally:
            if not call.done():
                call.cancel()  # it still says of every mail what became of it
                await asyncio.wait({call})
            await self.settle(sending.rest())
        if not call.cancelled():
            call.result()

    async def _turned(self, read: Page) -> set[int]:
        """Who left after the gates had read their consent; the gates will say so when they return.

        It is asked when the windows are armed: whoever leaves from here on does so too late.
        """
        now = await self._crew.desk.do(
            page.standings, self._stream, read.recipients, list_key=read.list_key
        )
        return gates.turned(read.recipients, read.standings, now)

    async def settle_unsent(
        self, windows: Sequence[Window], mails: Sequence[Mail], detail: str
    ) -> None:
        unsent = [entries.not_sent(mail.position, detail=detail) for mail in mails]
        await self.settle(Part(list(windows), {}, unsent))

    async def _follow(self, call: asyncio.Task[None], sending: Sending, deadline: float) -> None:
        """Settles what is answered until the call is over, or has to be ended."""
        loop = asyncio.get_running_loop()
        # A provider that keeps no deadline would otherwise keep a place of this process for ever.
        latest = deadline + timing.margin(self._route.lease).total_seconds() / 2
        stop = asyncio.create_task(self._crew.stop_now.wait())
        try:
            while True:
                await asyncio.wait(
                    {call, stop}, timeout=SETTLE_EVERY, return_when="FIRST_COMPLETED"
                )
                if call.done() or stop.done():
                    return
                if loop.time() > latest:
                    report.overdue(self._stream)
                    return
                await self.settle(sending.answered())
        finally:
            stop.cancel()

    async def _collect(self, mails: Sequence[Mail], deadline: float, sending: Sending) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        outcomes: list[Outcome] = []
        window = [mail.message for mail in mails]
        async with aclosing(self._route.provider.send(window, deadline)) as told:
            async for index, outcome in told:
                mail = mails[index]
                duration = int((loop.time() - began) * 1000)
                sending.answer(self._weighed(mail, outcome, duration))
                outcomes.append(outcome)
        await self._crew.holds.heed(self._stream, outcomes)

    def _weighed(self, mail: Mail, outcome: Outcome, duration_ms: int) -> Entry:
        told = Told(mail.position, mail.attempts, outcome, duration_ms)
        entry = answers.entry(told, policy=self._policy, chance=random.random())  # noqa: S311  jitter, not a secret
        report.answered(self._stream, mail, entry)
        return entry

    async def settle(self, part: Part) -> None:
        if part.windows:
            crashpoints.reached(Point.AFTER_ANSWERS)
            settled = await self.persistently(
                ledger.settle,
                self._claim,
                part.windows,
                results=part.results,
                settled_to=part.settled_to,
            )
            crashpoints.reached(Point.AFTER_SETTLE)
            report.settled(self._stream, part, settled)

    async def persistently[**P, T](
        self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Calls a verb however long the database is away: what it writes is known here alone.

        Repeating is safe: a settle that was committed unheard is found done, or is evidence, and
        a lease that was given back is not ours any more.
        """
        pause = 0.1
        while True:
            try:
                return await self._crew.desk.do(verb, *args, **kwargs)
            except LOST as error:
                report.repeated(self._stream, error, pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, 5.0)


def boottime() -> float:
    """A clock that no one sets and that runs on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
