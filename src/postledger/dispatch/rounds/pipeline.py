"""One round of a claim, step by step: read → permit → compose → arm → hand over → settle."""

import asyncio
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import assert_never

from postledger.accounts import sealing
from postledger.accounts.queries import Outgoing
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Batch, Body, Claim, Entry, StreamKind, Window
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.reasons import Reason
from postledger.dispatch.context import Context
from postledger.dispatch.pace.permits import Deferred, Pause, Permit
from postledger.dispatch.provider_pool import Blocked, OpenProvider
from postledger.dispatch.rounds import (
    armed_round,
    local_hours,
    lone_waits,
    moved_contacts,
    report,
    round_input,
)
from postledger.dispatch.rounds.armed_round import ArmedRound
from postledger.dispatch.rounds.compose import BrokenContentError, ComposedRound, Composer
from postledger.dispatch.rounds.hand_over import HandOver
from postledger.dispatch.rounds.local_hours import DeliveryWindow
from postledger.dispatch.rounds.round_input import RoundInput
from postledger.lib import crashpoints, references
from postledger.lib.clock import boottime
from postledger.lib.crashpoints import Point
from postledger.lib.database_outage import OUTAGE_ERRORS
from postledger.providers.base import Mailbox

_NO_UNSUBSCRIBE_PAGE = Blocked(
    "Recipients may unsubscribe from its mail, and there is no page for it. Set"
    " UNSUBSCRIBE_SECRET, and the page with postledger workspace footer; then postledger sender"
    " release.",
)
_ERROR_WAIT = timedelta(seconds=30)
_MEMORY_WAIT = timedelta(seconds=1)
_LIMIT_WAIT = timedelta(seconds=1)
_LONGEST_ON_LOOP = 0.05  # seconds of composing; a round of usual mails takes some milliseconds
_NOT_ARMED = "The database was lost while the window was being armed."


class Pipeline:
    """Takes windows of one claim from the database to the provider and back."""

    def __init__(  # noqa: PLR0913, PLR0917  what one claim is worked on with
        self,
        stream: StreamFacts,
        context: Context,
        claim: Claim,
        sender: Outgoing,
        opened: OpenProvider,
        shared_bodies: Mapping[int, Body],
    ) -> None:
        self.shared_bodies = shared_bodies
        self.is_blocked = False  # no further round makes sense in this turn
        self.pause: Pause | None = None  # no further round gets a moment before it is over
        self._stream = stream
        self._context = context
        self._claim = claim
        self._sender = sender
        self._lease_time = opened.lease
        key, *_ = sealing.reference_keys()
        sign = partial(references.write, epoch=claim.epoch, key=key)
        mailbox = Mailbox(sender.address, sender.name)
        self._composer = Composer(stream, mailbox, datetime.now(UTC), sign, opened.provider.form)
        self._hand_over = HandOver(stream, context, claim, opened, sender)
        largest = 1 if claim.is_probe else context.options.largest_window
        self._window_size = min(opened.provider.window_size, largest)

    @property
    def is_pacing(self) -> bool:
        """Whether its mails wait for their moments, and it does nothing else."""
        return self._hand_over.is_pacing

    async def run_round(
        self, batches: Sequence[Batch], composing: AbstractAsyncContextManager[object]
    ) -> Sequence[Batch]:
        """Takes one window of each batch through all steps; returns the remaining batches.

        `composing` is entered until the windows are armed.
        """
        # No more single mails are armed than the provider takes at once: the others would be in
        # doubt if the process died.
        most = self._window_size if self._stream.kind is StreamKind.TRANSACTIONAL else len(batches)
        sizes = [batch.body_size for batch in batches[:most]]
        count, taken = self._context.body_memory.take(sizes)
        if not count:
            await self._wait(batches, Reason.NO_MEMORY, _MEMORY_WAIT)
            return ()
        try:
            return [*await self._run_steps(batches[:count], composing), *batches[count:]]
        finally:
            self._context.body_memory.give_back(taken)

    async def _run_steps(
        self, batches: Sequence[Batch], composing: AbstractAsyncContextManager[object]
    ) -> Sequence[Batch]:
        windows = [Window(b, min(b.lo + self._window_size, b.hi)) for b in batches]
        began = boottime()
        async with composing:
            read = await self._read(windows)
            windows, read = await self._keep_local_hours(windows, read)
            windows, read = await self._set_waiting_apart(windows, read)
            batches = [window.batch for window in windows]
            permit = await self._permit(read) if windows else None
            if permit is None:
                return batches
            windows, later = round_input.cut_windows(windows, read.recipients, permit.count)
            read = round_input.keep_recipients(read, windows)
            armed = await self._compose_and_arm(windows, read, permit, began)
            if armed is None:
                return batches
        with self._context.compose_lock.in_flight():
            return [*await self._send(armed, read, permit), *later]

    async def _compose_and_arm(
        self, windows: Sequence[Window], read: RoundInput, permit: Permit, began: float
    ) -> ArmedRound | None:
        """None, with the permit given back, if nothing can be armed."""
        armed = None
        try:
            composed = await self._compose(windows, read, began)
            if composed is not None and not permit.is_over(asyncio.get_running_loop().time()):
                armed = await self._arm(windows, composed)
            return armed
        finally:
            if armed is None:
                await self._context.permits.give_back(permit, permit.count)

    async def _send(self, armed: ArmedRound, read: RoundInput, permit: Permit) -> Sequence[Batch]:
        try:
            return await self._sort_out_refused(armed, read)
        finally:
            # Armed windows are sent even after an error above: nobody else may touch them.
            if armed.windows:
                crashpoints.reached(Point.AFTER_ARM)
                await self._hand_over.run(armed, read, permit)
                self.is_blocked |= self._hand_over.is_broken or self._claim.is_probe
            else:
                await self._context.permits.give_back(permit, permit.count)

    async def give_back(self, batches: Sequence[Batch]) -> None:
        """Gives up the lease of batches that were not armed, once the database is back."""
        if batches:
            reason = self.pause.reason if self.pause else Reason.READY
            reason = Reason.HANDED_BACK if self._context.stop.is_set() else reason
            crashpoints.reached(Point.BEFORE_GIVE_BACK)
            await self._wait(batches, reason)

    async def give_back_suspects(self, batches: Sequence[Batch]) -> None:
        """Gives back batches after an unforeseen error, to be tried alone after a while."""
        await self._wait(batches, Reason.WORK_FAILED, _ERROR_WAIT, is_suspect=True)

    async def _wait(
        self,
        batches: Sequence[Batch],
        reason: Reason,
        delay: timedelta | None = None,
        *,
        is_suspect: bool = False,
    ) -> None:
        await self._context.persist(
            self._stream,
            ledger.wait,
            self._claim,
            batches,
            reason=reason,
            delay=delay,
            is_suspect=is_suspect,
        )

    # The steps ---------------------------------------------------------------------------------

    async def _read(self, windows: Sequence[Window]) -> RoundInput:
        read_round = partial(round_input.read, self._stream, windows, self.shared_bodies)
        read = await self._context.db.run(read_round)
        moved = moved_contacts.find_moved(self._stream, read)
        if moved:
            await self._context.db.run(moved_contacts.follow, self._stream, self._claim, moved)
            read = await self._context.db.run(read_round)
        crashpoints.reached(Point.AFTER_READ)
        self.shared_bodies = {at: body for at, body in read.bodies.items() if at < 0}
        return read

    async def _keep_local_hours(
        self, windows: list[Window], read: RoundInput
    ) -> tuple[list[Window], RoundInput]:
        """What may go by the local day of its recipients; other batches wait for their opening."""
        if self._stream.delivery_window is None:
            return windows, read
        now = datetime.now(UTC)
        delivery = DeliveryWindow(self._stream.delivery_window, self._sender.limits.zone)
        windows, later = local_hours.sort_windows(windows, read, delivery, now)
        for opens_at, batches in later.items():
            await self._wait(batches, Reason.OUTSIDE_HOURS, opens_at - now)
        return windows, round_input.keep_recipients(read, windows)

    async def _set_waiting_apart(
        self, windows: list[Window], read: RoundInput
    ) -> tuple[list[Window], RoundInput]:
        """What may go by the terms of its recipients. A batch in which somebody waits goes back in
        pieces: who waits does so alone, and the others are claimed again at once.
        """
        windows, cut = lone_waits.sort_windows(windows, read)
        for batch, pieces in cut:
            await self._context.persist(self._stream, ledger.wait_apart, self._claim, batch, pieces)
        if not cut:
            return windows, read
        await self._context.persist(self._stream, lone_waits.bring_forward, self._stream, read)
        return windows, round_input.keep_recipients(read, windows)

    async def _permit(self, read: RoundInput) -> Permit | None:
        """How many mails of this round may go, and when; None if the round ends here."""
        if read.unsubscribe is not None and not read.unsubscribe.is_complete:
            await self._context.holds.hold_blocked(self._stream.sender_id, _NO_UNSUBSCRIBE_PAGE)
            self.is_blocked = True
            return None
        if not read.recipients:
            return Permit(0)
        answer = await self._context.permits.ask(self._stream, self._sender, len(read.recipients))
        match answer:
            case Permit():
                return answer
            case Pause():
                self.pause = answer
                return None
            case Deferred(causes=causes):
                await self._context.holds.hold_for_limits(self._stream, causes)
                # Their ends may have passed by the database's clock: it is not asked at once again.
                self.pause = Pause(causes[0].reason, _LIMIT_WAIT)
                return None
            case _:
                assert_never(answer)

    async def _compose(
        self, windows: Sequence[Window], read: RoundInput, began: float
    ) -> ComposedRound | None:
        """The mails and verdicts; None, with the stream held, when no mail of it can be made."""
        composed = ComposedRound()
        slow_streams = self._context.slow_streams
        is_slow = self._stream.id in slow_streams or self._composer.has_untried_tags(read)
        steps = self._composer.compose_each(windows, read, composed)
        try:
            if await _take_steps(steps, is_slow=is_slow):
                slow_streams.add(self._stream.id)
            else:
                slow_streams.discard(self._stream.id)
        except BrokenContentError as broken:
            report.broken_content(self._stream, broken)
            await self._context.holds.hold_broken_content(self._stream, str(broken))
            self.is_blocked = True
            return None
        composed.date_verdicts(boottime() - began)
        for entry, error in composed.list_errors():
            report.compose_error(self._stream, read, entry, error)
        crashpoints.reached(Point.AFTER_COMPOSE)
        return composed

    async def _arm(self, windows: Sequence[Window], composed: ComposedRound) -> ArmedRound:
        requested_at = boottime()
        with self._context.booking():
            try:
                armed = await self._context.db.run(
                    ledger.arm,
                    self._claim,
                    windows,
                    lease_time=self._lease_time,
                    verdicts=_verdicts(composed, windows),
                )
            except OUTAGE_ERRORS:
                # Perhaps it was committed, or still will be unless the lease is given back first.
                # Nothing was sent, and only this process knows that.
                await self.give_back([window.batch for window in windows])
                await self._hand_over.settle_unsent(
                    windows, composed.mails, _NOT_ARMED, requested_at
                )
                raise
            if self._claim.is_alone and armed:
                await self._context.persist(self._stream, ledger.end_alone, self._claim)
        return ArmedRound(armed, windows, composed, requested_at)

    async def _sort_out_refused(self, armed: ArmedRound, read: RoundInput) -> Sequence[Batch]:
        """Gives back the batches whose arm was refused; returns those with positions left."""
        remaining = [
            replace(window.batch, lo=window.to)
            for window in armed.windows
            if window.to < window.batch.hi
        ]
        refused: Sequence[Batch] = ()
        if len(armed.windows) < len(armed.requested):
            refused, passed_over = await self._find_not_armed(armed)
            await self.give_back(refused)
            remaining += passed_over
        report.composed_round(self._stream, read, _booked(armed, refused))
        return remaining

    async def _find_not_armed(self, armed: ArmedRound) -> tuple[list[Batch], list[Batch]]:
        """The batches that were refused, and those passed over with nothing to send."""
        starts = {window.batch.id: window.batch.lo for window in armed.requested}
        sent = {window.batch.id for window in armed.windows}
        leased = await self._context.db.run(queries.read_leased, self._claim)
        refused = [b for b in leased if b.lo == starts.get(b.id) and b.id not in sent]
        return refused, [b for b in leased if b.lo > starts.get(b.id, b.lo)]


async def _take_steps(steps: Iterator[None], *, is_slow: bool) -> bool:
    """Composes on the event loop, or beside it what may be slow; returns whether it was.

    One mail of a costly letter is bounded, and would still hold up every other stream.
    """
    if not is_slow and _finish(steps, within=_LONGEST_ON_LOOP):
        return False
    began = time.monotonic()
    await asyncio.to_thread(_finish, steps)
    return time.monotonic() - began > _LONGEST_ON_LOOP


def _finish(steps: Iterator[None], within: float = math.inf) -> bool:
    """Takes all steps, or those that fit into so many seconds; False if some may be left."""
    ends_at = time.monotonic() + within
    return all(time.monotonic() <= ends_at for _ in steps)


def _verdicts(composed: ComposedRound, windows: Sequence[Window]) -> Sequence[Entry] | None:
    """None, which is cheaper, when every window has a mail to send and no mail has a verdict."""
    if composed.verdicts:
        return composed.verdicts
    positions = [mail.position for mail in composed.mails]
    if len(positions) == sum(window.to - window.batch.lo for window in windows):
        return None
    has_mail = all(any(window.batch.lo <= at < window.to for at in positions) for window in windows)
    return None if has_mail else []


def _booked(armed: ArmedRound, refused: Sequence[Batch]) -> ComposedRound:
    """The round without the refused windows: nothing of them was written."""
    if not refused:
        return armed.composed
    ids = {batch.id for batch in refused}
    windows = [window for window in armed.requested if window.batch.id not in ids]
    return ComposedRound(
        [mail for mail in armed.composed.mails if armed_round.covers(windows, mail.position)],
        [entry for entry in armed.composed.verdicts if armed_round.covers(windows, entry.position)],
    )
