"""Works on one stream for one turn: claim, gates, compose, arm, send, settle."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Batch, Body, Claim, Entry, Kind, Window
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.reasons import Reason
from postledger.dispatch import handover, page, report
from postledger.dispatch.compose import Composer, Draft, Mail
from postledger.dispatch.crew import Crew
from postledger.dispatch.desk import LOST
from postledger.dispatch.handover import HandOver
from postledger.dispatch.routes import Blocked, Route
from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point
from postledger.providers.base import Mailbox

# A turn takes this many batches, and no new window after this many seconds.
SINGLES_OF_A_TURN = 50
BATCHES_OF_A_TURN = 4
LENGTH_OF_A_TURN = 2.0

_NO_WAY_OUT = Blocked(
    "footer_env_missing",
    "Its mail may be left, and there is no page to leave it on. Set UNSUBSCRIBE_SECRET, and"
    " the page with postledger workspace footer; then postledger sender release.",
)
_UNARMED = "The database was lost while the window was being armed."


@dataclass(slots=True)
class Carrier:
    stream: StreamFacts
    crew: Crew
    shared: Mapping[int, Body] = field(default_factory=dict)
    claimed: Callable[[], None] = lambda: None  # called once the claim was made
    is_claiming: bool = True
    has_worked: bool = False

    async def run(self) -> None:
        async with self.crew.routes.to(self.stream) as way:
            if isinstance(way, Blocked):
                await self.crew.holds.blocked(self.stream.sender_id, way)
                return
            sender, route = way
            crashpoints.reached(Point.BEFORE_CLAIM)
            claim = await self.crew.desk.do(
                ledger.claim,
                self.stream.id,
                holder=self.crew.name,
                limit=self._batches_of_a_turn(),
                lease_time=route.lease,
            )
            self.is_claiming = False
            self.claimed()
            if claim is not None:
                self.has_worked = True
                crashpoints.reached(Point.AFTER_CLAIM)
                await _Turn(self, claim, sender, route).run()

    def _batches_of_a_turn(self) -> int:
        is_single = self.stream.kind is Kind.TRANSACTIONAL
        return SINGLES_OF_A_TURN if is_single else BATCHES_OF_A_TURN


class _Turn:
    """One claim, worked through in rounds: in each, one window of every batch."""

    def __init__(self, carrier: Carrier, claim: Claim, sender: Mailbox, route: Route) -> None:
        self._carrier = carrier
        self._crew = carrier.crew
        self._claim = claim
        self._route = route
        self._composer = Composer(carrier.stream, sender, datetime.now(UTC))
        self._handover = HandOver(carrier.stream, carrier.crew, claim, route)
        self._window_size = min(route.provider.window_size, self._crew.rules.largest_window)
        self._ends_at = time.monotonic() + LENGTH_OF_A_TURN

    async def run(self) -> None:
        batches: Sequence[Batch] = self._claim.batches
        report.received(sum(batch.hi - batch.lo for batch in batches))
        try:
            while batches and not self._is_over():
                batches = await self._round(batches)
        except LOST:
            await self._give_back(batches)
            raise
        # After any other error the lease is left to run out: work that fails again and again is
        # then halved by the sweep until the one mail that causes it stands alone.
        await self._give_back(batches)

    def _is_over(self) -> bool:
        return self._crew.stop.is_set() or time.monotonic() >= self._ends_at

    async def _give_back(self, batches: Sequence[Batch]) -> None:
        if batches:
            reason = Reason.HANDED_BACK if self._crew.stop.is_set() else Reason.READY
            crashpoints.reached(Point.BEFORE_GIVE_BACK)
            await self._handover.persistently(ledger.wait, self._claim, batches, reason=reason)

    async def _round(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        """Takes one window of each batch all the way; returns what is left of the batches."""
        stream, desk = self._carrier.stream, self._crew.desk
        windows = [Window(b, min(b.lo + self._window_size, b.hi)) for b in batches]
        read = await desk.do(page.read, stream, windows, self._carrier.shared)
        crashpoints.reached(Point.AFTER_READ)
        self._carrier.shared = {at: body for at, body in read.bodies.items() if at < 0}
        if read.leaving is not None and not read.leaving.is_complete:
            await self._crew.holds.blocked(stream.sender_id, _NO_WAY_OUT)
            self._ends_at = 0.0
            return batches
        draft = self._composer.draft(windows, read)
        crashpoints.reached(Point.AFTER_COMPOSE)
        started = handover.boottime()
        armed = await self._arm(windows, draft)
        left = [_after(window) for window in armed if window.to < window.batch.hi]
        try:
            refused: Sequence[Batch] = ()
            if len(armed) < len(windows):
                refused, passed = await self._not_armed(windows, armed)
                left += passed
            report.drafted(stream, _booked(draft, windows, refused))
        finally:
            # What is armed is sent, whatever becomes of the rest: nobody else may touch it.
            if armed:
                crashpoints.reached(Point.AFTER_ARM)
                await self._handover.send(armed, _mails_of(armed, windows, draft), read, started)
        return left

    async def _arm(self, windows: Sequence[Window], draft: Draft) -> list[Window]:
        try:
            return await self._crew.desk.do(
                ledger.arm,
                self._claim,
                windows,
                lease_time=self._route.lease,
                verdicts=_verdicts(draft, windows),
            )
        except LOST:
            # Perhaps it was committed, or still will be unless the lease is given back first.
            # Nothing was sent, and only here that is known.
            await self._give_back([window.batch for window in windows])
            await self._handover.settle_unsent(windows, draft.mails, _UNARMED)
            raise

    async def _not_armed(
        self, windows: Sequence[Window], armed: Sequence[Window]
    ) -> tuple[list[Batch], list[Batch]]:
        """What was refused, which goes back, and what was passed over with nothing to send."""
        starts = {window.batch.id: window.batch.lo for window in windows}
        sent = {window.batch.id for window in armed}
        mine = await self._crew.desk.do(queries.leased, self._claim)
        refused = [b for b in mine if b.lo == starts.get(b.id) and b.id not in sent]
        await self._give_back(refused)
        return refused, [b for b in mine if b.lo > starts.get(b.id, b.lo)]


def _verdicts(draft: Draft, windows: Sequence[Window]) -> Sequence[Entry] | None:
    """None, which is cheaper, when every window has a mail to send and no verdict fell."""
    if draft.verdicts:
        return draft.verdicts
    positions = [mail.position for mail in draft.mails]
    if len(positions) == sum(window.to - window.batch.lo for window in windows):
        return None
    has_mail = all(any(window.batch.lo <= at < window.to for at in positions) for window in windows)
    return None if has_mail else []


def _booked(draft: Draft, windows: Sequence[Window], refused: Sequence[Batch]) -> Draft:
    """The draft without the windows that were refused: nothing of them was written."""
    if not refused:
        return draft
    ids = {batch.id for batch in refused}
    ends = [(window.batch.lo, window.to) for window in windows if window.batch.id not in ids]
    return Draft(
        [mail for mail in draft.mails if any(lo <= mail.position < to for lo, to in ends)],
        [entry for entry in draft.verdicts if any(lo <= entry.position < to for lo, to in ends)],
    )


def _after(window: Window) -> Batch:
    return replace(window.batch, lo=window.to)


def _mails_of(armed: Sequence[Window], windows: Sequence[Window], draft: Draft) -> Sequence[Mail]:
    if len(armed) == len(windows):
        return draft.mails
    return [
        mail
        for mail in draft.mails
        if any(window.batch.lo <= mail.position < window.to for window in armed)
    ]
