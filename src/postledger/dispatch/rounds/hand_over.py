"""Hands armed windows to the provider and settles the result of every mail in them."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from postledger.accounts.queries import Outgoing
from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import Claim, Entry, Window
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch import answers, options, retry
from postledger.dispatch.answers import Answer, CallReport
from postledger.dispatch.context import Context
from postledger.dispatch.mail_sender import ReliableMailSender, SendResult
from postledger.dispatch.pace.permits import Permit
from postledger.dispatch.provider_pool import OpenProvider
from postledger.dispatch.rounds import report, round_input
from postledger.dispatch.rounds.armed_round import ArmedRound
from postledger.dispatch.rounds.compose import ComposedMail
from postledger.dispatch.rounds.in_flight import InFlight, SettleRequest
from postledger.dispatch.rounds.paced_call import PacedCall
from postledger.dispatch.rounds.round_input import RoundInput
from postledger.lib import crashpoints
from postledger.lib.clock import boottime
from postledger.lib.crashpoints import Point
from postledger.mailing import gates
from postledger.providers.base import Outcome

# Known results wait no longer than this for the others of their window.
SETTLE_EVERY = 0.2

_CONSENT_UNKNOWN = "The database was lost before the recipient's consent was checked once more."
_ELSEWHERE = "A later copy of this database is sending elsewhere."
_LATE = "The worker was too slow for the moment that its rate allowed."
_NO_TIME = "The lease leaves no time for a call."
_WITHDRAWN = "The recipient withdrew consent while the mail was being composed."
_TERMS_CHANGED = "Whether or when its recipient is told changed while the mail was being composed."


@dataclass(slots=True)
class HandOver:
    """The armed windows of one claim: nobody else may touch them until they are settled."""

    stream: StreamFacts
    context: Context
    claim: Claim
    opened: OpenProvider
    sender: Outgoing
    is_broken: bool = False  # the provider raised: no further call before a hold has ended
    is_pacing: bool = False  # its mails wait for their moments

    async def run(self, armed: ArmedRound, read: RoundInput, permit: Permit) -> None:
        windows, mails, requested_at = armed.windows, armed.mails, armed.requested_at
        try:
            is_witnessed, (has_time, withdrawn) = await asyncio.gather(
                self.context.fence.record(windows.token, self.claim.epoch),
                self.context.db.run(self._check_lease_and_consent, windows, read),
            )
        except BaseException:
            await self.settle_unsent(windows, mails, _CONSENT_UNKNOWN, requested_at)
            raise
        is_late = permit.is_over(asyncio.get_running_loop().time())
        if is_late or not (is_witnessed and has_time):
            detail = _ELSEWHERE if not is_witnessed else _LATE if has_time else _NO_TIME
            await self.settle_unsent(windows, mails, detail, requested_at)
            await self.context.permits.give_back(permit, permit.count)
            await self.context.db.run(self.context.fence.check)
            return
        going = [mail for mail in mails if mail.position not in withdrawn]
        in_flight = InFlight(windows, (mail.position for mail in going))
        for mail in mails:
            if mail.position in withdrawn:
                detail = withdrawn[mail.position]
                in_flight.answer(self._book_unsent(mail, detail, requested_at))
        permit = await self.context.permits.trim(permit, len(going))
        await self._send_and_settle(going, permit, in_flight, requested_at)

    async def _send_and_settle(
        self,
        mails: Sequence[ComposedMail],
        permit: Permit,
        in_flight: InFlight,
        requested_at: float,
    ) -> None:
        deadline = requested_at + options.time_for_calls(self.opened.lease)
        outcomes: list[Outcome] = []
        send = partial(self._send, deadline=deadline, in_flight=in_flight, outcomes=outcomes)
        paced = PacedCall(mails, permit, send)
        began = asyncio.get_running_loop().time()
        call = asyncio.create_task(paced.run())
        if permit.moments:
            self.is_pacing = True
            self.context.request_poll()
        try:
            await self._settle_while_sending(call, in_flight, deadline)
        finally:
            self.is_pacing = False
            if not call.done():
                call.cancel()  # the provider still yields an outcome for every mail
                await asyncio.wait({call})
            for mail in paced.not_begun:
                in_flight.answer(self._book_unsent(mail, _LATE, requested_at))
            unanswered = len(mails) - len(paced.not_begun) - len(outcomes)
            await self._finish(call, outcomes, in_flight, unanswered=unanswered, began=began)
            await self.context.permits.give_back(permit, len(paced.not_begun))

    async def _finish(
        self,
        call: asyncio.Task[None],
        outcomes: Sequence[Outcome],
        in_flight: InFlight,
        *,
        unanswered: int,
        began: float,
    ) -> None:
        """Holds the sender if necessary, and only then settles: a mail to retry is held by then."""
        with self.context.booking():
            try:
                if not self.context.stop_now.is_set():
                    unanswered = max(0, unanswered)
                    await self._react(call, outcomes, unanswered=unanswered, began=began)
            finally:
                await self.settle(in_flight.take_all())

    async def _react(
        self,
        call: asyncio.Task[None],
        outcomes: Sequence[Outcome],
        *,
        unanswered: int,
        began: float,
    ) -> None:
        """Holds the sender where the call shows that the provider is the trouble."""
        error = None if call.cancelled() else call.exception()
        if error is not None:
            self.is_broken = True
            report.provider_error(self.stream, error)
        name = f"It raised {type(error).__name__}." if error else ""
        call_report = CallReport(outcomes, unanswered, name, is_probe=self.claim.is_probe)
        is_tuned = False
        if not self.stream.is_test:
            is_tuned = await self.context.permits.learn(self.sender, call_report, began)
        await self.context.holds.react(self.stream, call_report, is_tuned=is_tuned)

    def _check_lease_and_consent(
        self, windows: Sequence[Window], read: RoundInput
    ) -> tuple[bool, dict[int, str]]:
        """Whether the lease leaves time for a call, and why some positions may not go any more:
        their recipients withdrew consent after the gates had read it, or their terms changed.

        Such a mail waits again at once, and the next round finds its verdict or its moment. Read
        once the windows are armed: a change after this moment comes too late. The lease is read
        because the clocks of a paused machine may have stood still.
        """
        needed = timedelta(seconds=self.opened.provider.call_time)
        has_time = queries.has_time(self.claim, windows, needed)
        now = round_input.read_standings(self.stream, read.recipients, list_key=read.list_key)
        withdrawn = gates.withdrawn_since(read.recipients, read.standings, now)
        terms = round_input.read_terms(self.stream, read.recipients, leave_out_clear=True)
        changed = (position for position, its in terms.items() if not its.may_go)
        return has_time, dict.fromkeys(changed, _TERMS_CHANGED) | dict.fromkeys(
            withdrawn, _WITHDRAWN
        )

    async def settle_unsent(
        self,
        windows: Sequence[Window],
        mails: Sequence[ComposedMail],
        detail: str,
        requested_at: float,
    ) -> None:
        unsent = [self._book_unsent(mail, detail, requested_at) for mail in mails]
        await self.settle(SettleRequest(list(windows), {}, unsent))

    def _book_unsent(self, mail: ComposedMail, detail: str, requested_at: float) -> Entry:
        """The entry of a mail that no provider was called for."""
        duration_ms = int((boottime() - requested_at) * 1000)
        entry = replace(entries.not_sent(mail.position, detail=detail), duration_ms=duration_ms)
        report.not_handed_over(self.stream, mail, entry)
        return entry

    async def _send(
        self,
        mails: Sequence[ComposedMail],
        deadline: float,
        in_flight: InFlight,
        outcomes: list[Outcome],
    ) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        window = [mail.message for mail in mails]
        judge = partial(self.context.holds.judge, self.stream)
        sender = ReliableMailSender(self.opened.provider, judge)
        async with aclosing(sender.send(window, deadline)) as results:
            async for index, result in results:
                own = result.outcome.duration  # of the provider's own call, where it measures that
                seconds = own.total_seconds() if own else loop.time() - began
                in_flight.answer(self._book(mails[index], result, int(seconds * 1000)))
                outcomes.append(result.outcome)
        if sender.error is not None:
            raise sender.error

    def _book(self, mail: ComposedMail, result: SendResult, duration_ms: int) -> Entry:
        uncounted = mail.try_number - 1 - mail.attempts
        answer = Answer(mail.position, mail.attempts, result.outcome, duration_ms, uncounted)
        policy = retry.adapt(self.context.options.policies[self.stream.kind], mail.policy)
        entry = answers.book_answer(answer, policy=policy, chance=random.random())  # noqa: S311  jitter, not a secret
        report.answer(self.stream, mail, entry)
        return entry

    async def _settle_while_sending(
        self, call: asyncio.Task[None], in_flight: InFlight, deadline: float
    ) -> None:
        """Settles answers until the call is over, or has to be ended."""
        # A provider that keeps no deadline would otherwise keep a slot of this process for ever.
        latest = deadline + options.margin(self.opened.lease).total_seconds() / 2
        is_overdue = False
        stop = asyncio.create_task(self.context.stop_now.wait())
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
                        report.overdue_call(self.stream)
                        return
                    is_overdue = True
                await self.settle(in_flight.take_answered())
        finally:
            stop.cancel()

    async def settle(self, request: SettleRequest) -> None:
        """Books results. None is lost to an error: a request that fails is split, down to one mail
        with nothing but its state.
        """
        if not request.windows:
            return
        crashpoints.reached(Point.AFTER_ANSWERS)
        with self.context.booking():
            try:
                await self._note_dead_addresses(request.results)
                settled = await self.context.persist(
                    self.stream,
                    ledger.settle,
                    self.claim,
                    request.windows,
                    results=request.results,
                    settled_to=request.settled_to,
                )
                crashpoints.reached(Point.AFTER_SETTLE)
                report.settled(self.stream, request, settled)
            except Exception as error:
                smaller = request.split()
                report.settle_error(self.stream, request, error, is_last=not smaller)
                if not smaller:
                    raise
                for part in smaller:
                    await self.settle(part)

    async def _note_dead_addresses(self, results: Sequence[Entry]) -> None:
        """Before the results: a refusal that is booked has been noted, also if this process dies.

        What is noted follows for the contacts a moment later, without delaying this stream.
        """
        dead = [entry for entry in results if entry.bounce_code]
        if dead and not (self.stream.is_test or self.stream.is_trial):
            await self.context.persist(
                self.stream, ledger.note_dead_addresses, self.stream.id, dead
            )
