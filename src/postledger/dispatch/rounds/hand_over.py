"""Hands armed windows to the provider and settles what came of every mail in them."""

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import aclosing
from datetime import timedelta

from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import Claim, Entry, Window
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch import report, timing
from postledger.dispatch.context import Context
from postledger.dispatch.db_threads import CONNECTION_LOST
from postledger.dispatch.provider_pool import OpenProvider
from postledger.dispatch.rounds import answers, gates, round_input
from postledger.dispatch.rounds.answers import Answer, CallReport
from postledger.dispatch.rounds.compose import Mail
from postledger.dispatch.rounds.in_flight import InFlight, Part
from postledger.dispatch.rounds.round_input import RoundInput
from postledger.lib import crashpoints
from postledger.lib.clock import boottime
from postledger.lib.crashpoints import Point
from postledger.providers.base import Outcome

# Known results wait no longer than this for the rest of their window.
SETTLE_EVERY = 0.2

_CONSENT_UNKNOWN = "The database was lost before the recipient's consent was checked once more."
_ELSEWHERE = "A later copy of this database is sending elsewhere."
_NO_TIME = "The lease leaves no time for a call."
_WITHDRAWN = "The recipient withdrew consent while the mail was being composed."


class HandOver:
    """The armed windows of one claim: nobody else may touch them until they are settled."""

    def __init__(
        self, stream: StreamFacts, context: Context, claim: Claim, opened: OpenProvider
    ) -> None:
        self._stream = stream
        self._context = context
        self._claim = claim
        self._opened = opened
        self._policy = context.options.policies[stream.kind]
        self.is_broken = False  # the provider raised: no further call before a hold has ended

    async def run(
        self,
        windows: ledger.Armed,
        mails: Sequence[Mail],
        read: RoundInput,
        asked_at: float,
    ) -> None:
        try:
            is_witnessed, (has_time, withdrawn) = await asyncio.gather(
                self._context.fence.record(windows.token, self._claim.epoch),
                self._context.db.run(self._last_look, windows, read),
            )
        except BaseException:
            await self.settle_unsent(windows, mails, _CONSENT_UNKNOWN)
            raise
        if not (is_witnessed and has_time):
            await self.settle_unsent(windows, mails, _NO_TIME if is_witnessed else _ELSEWHERE)
            await self._context.db.run(self._context.fence.check)
            return
        going = [mail for mail in mails if mail.position not in withdrawn]
        in_flight = InFlight(windows, (mail.position for mail in going))
        for mail in mails:
            if mail.position in withdrawn:
                in_flight.answer(entries.not_sent(mail.position, detail=_WITHDRAWN))
        deadline = asked_at + timing.time_for_calls(self._opened.lease)
        outcomes: list[Outcome] = []
        call = asyncio.create_task(self._send(going, deadline, in_flight, outcomes))
        try:
            await self._settle_while_sending(call, in_flight, deadline)
        finally:
            if not call.done():
                call.cancel()  # the provider still says of every mail what became of it
                await asyncio.wait({call})
            await self._finish(call, outcomes, in_flight, unanswered=len(going) - len(outcomes))

    async def _finish(
        self,
        call: asyncio.Task[None],
        outcomes: Sequence[Outcome],
        in_flight: InFlight,
        *,
        unanswered: int,
    ) -> None:
        """Holds the sender if it has to be, and then settles: what goes back is not taken again."""
        self._context.bookings.add(booking := object())
        try:
            if not self._context.stop_now.is_set():
                await self._react(call, outcomes, unanswered=max(0, unanswered))
        finally:
            try:
                await self.settle(in_flight.take_rest())
            finally:
                self._context.bookings.discard(booking)

    async def _react(
        self, call: asyncio.Task[None], outcomes: Sequence[Outcome], *, unanswered: int
    ) -> None:
        """Holds the sender where the call shows that the provider is the trouble."""
        error = None if call.cancelled() else call.exception()
        if error is not None:
            self.is_broken = True
            report.provider_raised(self._stream, error)
        name = f"It raised {type(error).__name__}." if error else ""
        await self._context.holds.react(self._stream, CallReport(outcomes, unanswered, name))

    def _last_look(self, windows: Sequence[Window], read: RoundInput) -> tuple[bool, set[int]]:
        """Whether the lease leaves time for a call, and the positions whose recipients withdrew
        consent after the gates had read it.

        Asked once the windows are armed: a withdrawal after this moment comes too late. The lease
        is asked for because a paused machine's own clocks may have stood still.
        """
        needed = timedelta(seconds=self._opened.provider.call_time)
        has_time = queries.has_time(self._claim, windows, needed)
        now = round_input.read_standings(self._stream, read.recipients, list_key=read.list_key)
        return has_time, gates.withdrawn_since(read.recipients, read.standings, now)

    async def settle_unsent(
        self, windows: Sequence[Window], mails: Sequence[Mail], detail: str
    ) -> None:
        unsent = [entries.not_sent(mail.position, detail=detail) for mail in mails]
        await self.settle(Part(list(windows), {}, unsent))

    async def _send(
        self,
        mails: Sequence[Mail],
        deadline: float,
        in_flight: InFlight,
        outcomes: list[Outcome],
    ) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        window = [mail.message for mail in mails]
        async with aclosing(self._opened.provider.send(window, deadline)) as answered:
            async for index, answer in answered:
                mail, outcome = mails[index], answers.cleaned(answer)
                duration = int((loop.time() - began) * 1000)
                in_flight.answer(self._entry(mail, outcome, duration))
                outcomes.append(outcome)

    def _entry(self, mail: Mail, outcome: Outcome, duration_ms: int) -> Entry:
        answer = Answer(mail.position, mail.attempts, outcome, duration_ms)
        entry = answers.entry(answer, policy=self._policy, chance=random.random())  # noqa: S311  jitter, not a secret
        report.answered(self._stream, mail, entry)
        return entry

    async def _settle_while_sending(
        self, call: asyncio.Task[None], in_flight: InFlight, deadline: float
    ) -> None:
        """Settles what is answered until the call is over, or has to be ended."""
        # A provider that keeps no deadline would otherwise keep a slot of this process for ever.
        latest = deadline + timing.margin(self._opened.lease).total_seconds() / 2
        is_overdue = False
        stop = asyncio.create_task(self._context.stop_now.wait())
        try:
            while True:
                await asyncio.wait(
                    {call, stop}, timeout=SETTLE_EVERY, return_when="FIRST_COMPLETED"
                )
                if call.done() or stop.done():
                    return
                if boottime() > latest:
                    # A process that was stopped reads its sockets once more before it gives up.
                    if is_overdue:
                        report.overdue(self._stream)
                        return
                    is_overdue = True
                await self.settle(in_flight.take_answered())
        finally:
            stop.cancel()

    async def settle(self, part: Part) -> None:
        """Books results. None is lost to an error: what fails together is settled by itself, and
        what fails by itself with nothing but its state.
        """
        if not part.windows:
            return
        crashpoints.reached(Point.AFTER_ANSWERS)
        self._context.bookings.add(booking := object())
        try:
            await self._settle_part(part)
        except Exception as error:
            smaller = part.smaller()
            report.settle_failed(self._stream, part, error, is_last=not smaller)
            if not smaller:
                raise
            for one in smaller:
                await self.settle(one)
        finally:
            self._context.bookings.discard(booking)

    async def _settle_part(self, part: Part) -> None:
        settled = await self.persist(
            ledger.settle,
            self._claim,
            part.windows,
            results=part.results,
            settled_to=part.settled_to,
        )
        crashpoints.reached(Point.AFTER_SETTLE)
        report.settled(self._stream, part, settled)

    async def persist[**P, T](self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls a verb however long the database is away: only this process knows what it writes.

        Repeating is safe: a settle that was committed unheard is found done, or is evidence, and
        a lease that was given back is not ours any more.
        """
        pause = 0.1
        while True:
            try:
                return await self._context.db.run(verb, *args, **kwargs)
            except CONNECTION_LOST as error:
                report.repeated(self._stream, error, pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, 5.0)
