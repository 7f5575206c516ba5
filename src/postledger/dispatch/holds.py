"""Holds a sender, an account or a test stream when the provider fails, not one mail."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import assert_never

import structlog

from postledger.accounts import provider_accounts
from postledger.deliveries import ledger
from postledger.deliveries.entries import Block
from postledger.deliveries.ledger import LimitCause
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.reasons import Reason
from postledger.dispatch import answers, retry
from postledger.dispatch.answers import CallReport, RecentAnswers, Trouble
from postledger.dispatch.db_threads import DbThreads
from postledger.dispatch.provider_pool import Blocked
from postledger.observability import masking
from postledger.providers.base import Outcome, SenderBlocked, Throttled, TryLater

_log = structlog.get_logger(__name__)
_ACTOR = "dispatcher"
# A provider that cannot be opened is tried again: a person may have corrected its settings.
TRY_AGAIN_AFTER = timedelta(seconds=30)
# A provider's wish to wait is cut to this, unless it is the reset of a quota.
LONGEST_HOLD = timedelta(hours=1)
# So many calls in a row that leave doubts and no acceptance mean that the provider is broken.
MOST_DOUBTFUL_CALLS = 3
FORGET_EVERY = 60.0


class Holds:
    """A hold binds every process at once, and `postledger why` shows it.

    Limits and credentials belong to an account, so all its senders are held together. A test
    stream's answers come from the sandbox and not from the sender's own provider: there the stream
    is held, and always with an end.
    """

    def __init__(self, db: DbThreads) -> None:
        self._db = db
        self._troubles: Counter[_Holder] = Counter()  # in a row
        self._doubtful_calls: Counter[_Holder] = Counter()  # in a row
        self._recent: defaultdict[_Holder, RecentAnswers] = defaultdict(RecentAnswers)
        self._resting: dict[_Holder, float] = {}
        self._forgotten: dict[int, float] = {}

    async def hold_blocked(self, sender_id: int, blocked: Blocked) -> None:
        """Holds a sender whose provider cannot be opened."""
        held = await self._db.run(
            ledger.hold_sender,
            sender_id,
            reason=Reason.SENDER_BLOCKED,
            actor=_ACTOR,
            length=TRY_AGAIN_AFTER,
            detail=blocked.detail,
        )
        if held:
            _log.warning("sender held", sender_id=sender_id, detail=blocked.detail)

    async def hold_broken_content(self, stream: StreamFacts, error: str) -> None:
        """Holds a stream of which no mail can be composed: failing everybody would be worse."""
        await self._db.run(
            ledger.hold,
            stream.id,
            reason=Reason.CONTENT_BROKEN,
            actor=_ACTOR,
            detail=f"{error}. The worker's log says where.",
        )

    async def hold_for_limits(self, stream: StreamFacts, causes: Sequence[LimitCause]) -> None:
        """Holds a stream until its limits allow the next mail."""
        if await self._db.run(ledger.hold_for_limits, stream.id, causes):
            reasons = [cause.reason for cause in causes]
            _log.info("stream held for its limits", stream_id=stream.id, reasons=reasons)

    def judge(self, stream: StreamFacts, recipient: str, outcome: Outcome) -> Outcome:
        """What an answer is taken for: the words of one recipient's server hold no sender."""
        return self._recent[_holder(stream)].judge(recipient, outcome)

    async def react(self, stream: StreamFacts, call: CallReport, *, is_tuned: bool = False) -> None:
        """Holds the sender if the outcomes of a call require it; an acceptance ends a back-off.

        After a provider did not answer, one mail tries it: what answers it lets the rest follow,
        and no answer to it is as bad as several in a row.
        With `is_tuned` a lower rate answers a throttle, unless the provider names a time to wait.
        """
        holder = _holder(stream)
        if call.has_acceptance:
            self._troubles.pop(holder, None)
        if call.has_acceptance or (call.is_probe and call.has_answer):
            await self._forget_broken(stream, call)
        self._doubtful_calls[holder] += 1 if call.leaves_only_doubt else 0
        if not call.leaves_only_doubt:
            self._doubtful_calls.pop(holder, None)
        trouble = answers.find_trouble(call.outcomes)
        most = 1 if call.is_probe else MOST_DOUBTFUL_CALLS
        if call.error or self._doubtful_calls[holder] >= most:
            self._doubtful_calls.pop(holder, None)
            await self._hold_broken_provider(
                stream, call.error or "It took mail and did not answer."
            )
        elif trouble is not None and not (is_tuned and answers.is_mere_throttle(trouble)):
            await self._hold_for(stream, trouble)

    async def _forget_broken(self, stream: StreamFacts, call: CallReport) -> None:
        """A provider that answers is broken no more, also where another process found it broken;
        one that takes a mail needs no other check.
        """
        now = time.monotonic()
        is_due = call.is_probe or now >= self._forgotten.get(stream.sender_id, 0.0)
        if not stream.is_test and is_due:
            self._forgotten[stream.sender_id] = now + FORGET_EVERY
            await self._db.run(ledger.forget_broken_provider, stream.sender_id)
            if call.has_acceptance:
                await self._db.run(provider_accounts.note_answer, stream.sender_id)

    async def _hold_broken_provider(self, stream: StreamFacts, detail: str) -> None:
        if stream.is_test:
            await self._hold(stream, Reason.PROVIDER_BROKEN, TRY_AGAIN_AFTER, detail)
            return
        held = await self._db.run(
            ledger.hold_broken_provider, stream.sender_id, actor=_ACTOR, detail=detail
        )
        if held:
            _log.error("provider broken; its senders are held", detail=detail)

    async def _hold_for(self, stream: StreamFacts, trouble: Trouble) -> None:
        if getattr(trouble, "may_be_quoted", False):
            # After the hold it takes as many witnesses again: those who were tried first wait.
            self._recent.pop(_holder(stream), None)
        match trouble:
            case SenderBlocked(code=code, detail=detail, may_be_quoted=True):
                # With an end: it may still be that all of the recipients are of one mind.
                length = self._next_length(stream, None, LONGEST_HOLD)
                reason, detail = Reason.SENDER_BLOCKED, f"{code}: {detail}"
                await self._hold(stream, reason, length, detail, is_account=False)
            case SenderBlocked(code=code, detail=detail, is_account=is_account):
                # Without an end: only a person can mend a password or a paused account.
                reason, detail = Reason.SENDER_BLOCKED, f"{code}: {detail}"
                block = Block(code, trouble.category, trouble.original_code or None)
                await self._hold(stream, reason, None, detail, is_account=is_account, block=block)
            case Throttled(detail=detail, retry_after=retry_after, is_quota=True):
                # Where nobody knows when it is reset, it is tried again after longer and longer
                # waits, up to one hour, until quotas are read from providers.
                length = self._next_length(stream, retry_after, None, retry.quota_backoff)
                await self._hold(stream, Reason.QUOTA_EXHAUSTED, length, detail)
            case Throttled(detail=detail, retry_after=retry_after):
                length = self._next_length(stream, retry_after, LONGEST_HOLD)
                await self._hold(stream, Reason.THROTTLED, length, detail)
            case TryLater(detail=detail, retry_after=retry_after):
                length = self._next_length(stream, retry_after, LONGEST_HOLD)
                await self._hold(stream, Reason.PROVIDER_DOWN, length, detail)
            case _:
                assert_never(trouble)

    def _next_length(
        self,
        stream: StreamFacts,
        asked: timedelta | None,
        longest: timedelta | None,
        backoff: Callable[[int], timedelta] = retry.backoff,
    ) -> timedelta:
        """Longer each time. A call that ends during a hold belongs to the trouble that began it:
        several stream workers meet one outage at once, and it counts once.
        """
        holder, now = _holder(stream), time.monotonic()
        if now >= self._resting.get(holder, 0.0):
            self._troubles[holder] += 1
        length = asked or backoff(max(self._troubles[holder], 1))
        length = length if longest is None else min(length, longest)
        self._resting[holder] = now + length.total_seconds()
        return length

    async def _hold(  # noqa: PLR0913  what a hold is, each part by its name
        self,
        stream: StreamFacts,
        reason: Reason,
        length: timedelta | None,
        detail: str,
        *,
        is_account: bool = True,
        block: Block | None = None,
    ) -> None:
        # It outlives the recipient whom a provider names in it, and who may be erased.
        detail = masking.mask_text(detail)
        if stream.is_test:
            length = length or TRY_AGAIN_AFTER
            await self._db.run(
                ledger.hold, stream.id, reason=reason, actor=_ACTOR, length=length, detail=detail
            )
            return
        held = await self._db.run(
            ledger.hold_sender,
            stream.sender_id,
            reason=reason,
            actor=_ACTOR,
            length=length,
            detail=detail,
            is_account=is_account,
            block=block,
        )
        if held:
            level = _log.error if length is None else _log.warning
            level(
                "sender held",
                sender_id=stream.sender_id,
                reason=reason,
                length=length,
                detail=detail,
            )


type _Holder = tuple[bool, int]  # whether it is a test stream, and its id or the sender's


def _holder(stream: StreamFacts) -> _Holder:
    return stream.is_test, stream.id if stream.is_test else stream.sender_id
