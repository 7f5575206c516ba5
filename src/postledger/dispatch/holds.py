"""Stops a sender, or a test stream, when the provider, not one mail, is the trouble."""

import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import assert_never

import structlog

from postledger.deliveries import ledger
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.reasons import Reason
from postledger.dispatch import answers, retry
from postledger.dispatch.desk import Desk
from postledger.dispatch.routes import Blocked
from postledger.providers.base import Accepted, Outcome, SenderBlocked, Throttled, TryLater

_log = structlog.get_logger(__name__)
_ACTOR = "dispatcher"
# A sender that cannot be opened is looked at again: a person may have mended it meanwhile.
LOOK_AGAIN = timedelta(seconds=30)


class Holds:
    """Holds of a sender bind every process at once, and `postledger why` tells them.

    A test stream's answers come from the sandbox and say nothing of the sender's own provider:
    there the stream is held, and always with an end.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._troubles: Counter[_Who] = Counter()  # in a row
        self._resting: dict[_Who, float] = {}

    async def blocked(self, sender_id: int, found: Blocked) -> None:
        await self._hold_sender(sender_id, Reason.SENDER_BLOCKED, LOOK_AGAIN, found.detail)

    async def heed(self, stream: StreamFacts, outcomes: Sequence[Outcome]) -> None:
        """Acts on what the outcomes of one window say of the sender as a whole."""
        trouble = answers.trouble(outcomes)
        if trouble is None:
            if any(isinstance(outcome, Accepted) for outcome in outcomes):
                self._troubles.pop(_who(stream), None)
            return
        match trouble:
            case SenderBlocked(code=code, detail=detail):
                # Without an end: only a person can mend a password or a paused account.
                await self._hold(stream, Reason.SENDER_BLOCKED, None, f"{code}: {detail}")
            case Throttled(detail=detail, retry_after=retry_after):
                rest = self._rest(stream, retry_after)
                await self._hold(stream, Reason.THROTTLED, rest, detail)
            case TryLater(detail=detail, retry_after=retry_after):
                rest = self._rest(stream, retry_after)
                await self._hold(stream, Reason.PROVIDER_DOWN, rest, detail)
            case _:
                assert_never(trouble)

    def _rest(self, stream: StreamFacts, retry_after: timedelta | None) -> timedelta:
        """Longer each time. Calls that end during a rest are of the trouble that began it: several
        carriers meet one outage at once, and it has happened once.
        """
        who, now = _who(stream), time.monotonic()
        if now >= self._resting.get(who, 0.0):
            self._troubles[who] += 1
        rest = retry_after or retry.backoff(self._troubles[who])
        self._resting[who] = now + rest.total_seconds()
        return rest

    async def _hold(
        self, stream: StreamFacts, reason: Reason, length: timedelta | None, detail: str
    ) -> None:
        if not stream.is_test:
            await self._hold_sender(stream.sender_id, reason, length, detail)
            return
        await self._desk.do(
            ledger.hold,
            stream.id,
            reason=reason,
            actor=_ACTOR,
            length=length or LOOK_AGAIN,
            detail=detail,
        )

    async def _hold_sender(
        self, sender_id: int, reason: Reason, length: timedelta | None, detail: str
    ) -> None:
        held = await self._desk.do(
            ledger.hold_sender,
            sender_id,
            reason=reason,
            actor=_ACTOR,
            length=length,
            detail=detail,
        )
        if held:
            level = _log.error if length is None else _log.warning
            level("sender held", sender_id=sender_id, reason=reason, length=length, detail=detail)


type _Who = tuple[bool, int]  # whether it is a test stream, and its id or the sender's


def _who(stream: StreamFacts) -> _Who:
    return stream.is_test, stream.id if stream.is_test else stream.sender_id
