"""One lane of a window: takes messages in turn over one connection at a time."""

import asyncio
from collections.abc import Sequence

from postledger.lib.clock import Deadline
from postledger.providers.base import NotSent, Outcome, OutgoingMessage, Refused
from postledger.providers.smtp import framing
from postledger.providers.smtp.framing import Frame
from postledger.providers.smtp.pool import Pool
from postledger.providers.smtp.session import NoSessionError, Session
from postledger.providers.smtp.settings import Settings
from postledger.providers.smtp.transaction import StaleError, Transaction
from postledger.providers.windows import Turns


class Trip:
    """What the couriers of one window share."""

    def __init__(
        self,
        settings: Settings,
        pool: Pool,
        window: Sequence[OutgoingMessage],
        *,
        start_by: Deadline,
        dot_by: Deadline,
    ) -> None:
        self.settings = settings
        self.pool = pool
        self.window = window
        self.start_by = start_by
        self.dot_by = dot_by

    async def lane(self, turns: Turns) -> None:
        await Courier(self, turns).run()


class Courier:
    def __init__(self, trip: Trip, turns: Turns) -> None:
        self._trip = trip
        self._turns = turns
        self._session: Session | None = None
        self._transaction: Transaction | None = None

    async def run(self) -> None:
        trip = self._trip
        if not await trip.pool.enter(trip.start_by.loop_time()):
            self._turns.why_not = "no connection became free in time"
            return
        try:
            await self._take_turns()
        finally:
            trip.pool.leave(self._session)

    async def _take_turns(self) -> None:
        while not self._trip.start_by.has_passed():
            index = self._turns.take()
            if index is None:
                return
            try:
                self._turns.report(index, await self._outcome(self._trip.window[index]))
            except asyncio.CancelledError:
                self._turns.report(index, self._interrupted())
                raise
            except NoSessionError as error:
                # It does not pay for one line too many: where others carry, they may take it.
                self._turns.put_back(index, error.outcome)
                self._turns.why_not = f"not begun: {error.outcome.detail}"
                return
        self._turns.why_not = "the deadline left no time for it"

    def _interrupted(self) -> Outcome:
        if self._transaction is None:
            return NotSent("cancelled before it was begun")
        return self._transaction.interrupted()

    async def _outcome(self, message: OutgoingMessage) -> Outcome:
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
        trip = self._trip
        session = await self._ready(fresh=fresh)
        if trip.dot_by.has_passed():
            return NotSent("the deadline came while its connection was made ready")
        self._transaction = Transaction(
            session, frame, delivery_id, timeouts=trip.settings.timeouts, dot_by=trip.dot_by
        )
        return await self._transaction.run()

    async def _ready(self, *, fresh: bool) -> Session:
        trip, session = self._trip, self._session
        if session is not None and not session.is_over:
            if not session.line.is_quiet:
                session.give_up()  # what it says unasked would be taken for the next answer
            elif session.message_count < trip.settings.messages_per_connection:
                return session
            else:
                await session.quit()
        self._session = None
        self._session = await trip.pool.session(trip.dot_by.loop_time(), fresh=fresh)
        return self._session
