"""Asks the limiter before a window is armed, and says when each of its mails may go."""

import asyncio
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import assert_never

from postledger.accounts import sending_limits
from postledger.accounts.queries import Outgoing
from postledger.accounts.sending_limits import StoredMemberLimit
from postledger.deliveries import queries
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.ledger import LimitCause
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.reasons import Reason
from postledger.dispatch import heartbeat
from postledger.dispatch.answers import CallReport
from postledger.dispatch.db_threads import DbThreads
from postledger.dispatch.pace.moments import ClockOffset, Line, LocalCalendar, find_intervals
from postledger.dispatch.pace.tuner import Tuner
from postledger.pacing import hours, limits, quota_sync, stored
from postledger.pacing.limiter import Limiter
from postledger.pacing.limits import (
    Away,
    Figures,
    Granted,
    Horizon,
    Limit,
    MemberLimit,
    Outcome,
    Refusal,
    Refused,
    Request,
    Reserve,
    SenderLimits,
    Unfilled,
    WrongDay,
)

# How long the limit of a member, and the number of workers, are used before they are read again.
FRESH_SECONDS = 5.0
# Redis is asked again at once where it has to be filled, or where the day has changed.
_MOST_QUESTIONS = 4
# A stream with many batches asks for no more than one with few.
_SHARE_SECONDS, _LEAST_SHARE = 0.5, 20
_SHORTLY = timedelta(seconds=0.5)
_WHILE_REDIS_IS_AWAY = timedelta(seconds=2)

# The limits that a stream is held for; the other ones end within seconds.
_REASONS = {
    Limit.SENDER_HOUR: Reason.RATE_PER_HOUR,
    Limit.SENDER_DAY: Reason.DAILY_LIMIT,
    Limit.MEMBER_DAY: Reason.DAILY_LIMIT,
    Limit.QUOTA: Reason.QUOTA_EXHAUSTED,
}


@dataclass(frozen=True, slots=True)
class Permit:
    """So many mails may go, none before its moment, in seconds of the event loop's clock."""

    count: int
    moments: Sequence[float] = ()  # empty: all at once
    expires_at: float = math.inf  # by then they are armed, or do not go
    granted: Granted | None = None
    line: Line = field(default_factory=lambda: Line({}, {}))

    def is_over(self, now: float) -> bool:
        return now > self.expires_at


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing may go for a short while: the next moment is taken, or counts are not known."""

    reason: Reason
    length: timedelta


@dataclass(frozen=True, slots=True)
class Deferred:
    """Nothing may go before all of these have ended."""

    causes: Sequence[LimitCause]


type Answer = Permit | Pause | Deferred


class Permits:
    """Keeps the limits of all senders that this process works for."""

    def __init__(
        self, db: DbThreads, limiter: Limiter | None, reserve: Reserve, horizon: Horizon
    ) -> None:
        self._db = db
        self._horizon = horizon
        self._limiter = limiter
        self._tuner = Tuner(db, limiter)
        self._reserve = reserve
        self._offset = ClockOffset()
        self._local = LocalCalendar()
        self._left: dict[tuple[str, int], float] = {}  # when the next mail of a line may leave
        self._away_since: float | None = None  # by the event loop's clock
        self._away_seen = 0.0
        self._sent_without_redis = False
        self._live_workers = (1, 0.0)  # with the moment after which it is read again
        self._member_limits: dict[int, tuple[StoredMemberLimit | None, float]] = {}

    async def ask(self, stream: StreamFacts, sender: Outgoing, count: int) -> Answer:
        """Whether up to so many mails of a stream may go now, and when."""
        if stream.is_test or sender.account_id is None:
            return Permit(count)
        tuned_rate = self._tuner.find_rate(sender)
        sender = replace(sender, limits=replace(sender.limits, tuned_rate=tuned_rate))
        member = await self._find_member(stream)
        if self._limiter is None or not (sender.limits.are_asked or member):
            closed = _find_closed_hours(stream, sender, datetime.now(UTC))
            return Deferred([closed]) if closed else self._permit_uncounted(count)
        request = self._make_request(stream, sender, member, count)
        outcome = await self._ask_limiter(self._limiter, request, sender)
        # By Redis's clock, which all workers share.
        now = datetime.now(UTC) if isinstance(outcome, Away) else limits.to_datetime(outcome.now)
        closed = _find_closed_hours(stream, sender, now)
        if closed is None:
            return await self._answer(outcome, request)
        if isinstance(outcome, Granted):
            await self._limiter.give_back(outcome, outcome.moments)
        refusals = outcome.refusals if isinstance(outcome, Refused) else ()
        return Deferred([closed, *_list_causes(refusals)])

    def _make_request(
        self, stream: StreamFacts, sender: Outgoing, member: MemberLimit | None, count: int
    ) -> Request:
        is_urgent = stream.kind is StreamKind.TRANSACTIONAL
        asked = self._limits(sender, datetime.now(UTC))  # of a wrong day, the limiter says so
        if not is_urgent:
            count = min(count, _find_share(asked))
        return Request(count, asked, member, is_reserved=is_urgent)

    async def list_causes(
        self, stream: StreamFacts, sender: Outgoing
    ) -> Sequence[LimitCause] | None:
        """The limits that would hold a stream now, of which it takes nothing; None: not known."""
        answer = await self.ask(stream, sender, 1)
        match answer:
            case Permit():
                await self.give_back(answer, answer.count)
                return ()
            case Deferred(causes=causes):
                return causes
            case Pause():
                return None
            case _:
                assert_never(answer)

    async def give_back(self, permit: Permit, unsent: int) -> None:
        """Returns the last moments of a permit: no mail went at them."""
        if permit.granted is not None and unsent and self._limiter is not None:
            await self._limiter.give_back(permit.granted, permit.granted.moments[-unsent:])

    async def learn(self, sender: Outgoing, call: CallReport, began: float) -> bool:
        """Takes in what the answers of a call say about rate and quota of the sender's account.

        True if a lower rate answers its throttles from now on.
        """
        if call.is_out_of_quota and sender.account_id is not None:
            await self._db.run(quota_sync.sync_early, sender.account_id, datetime.now(UTC))
        return await self._tuner.learn(sender, call, began)

    async def trim(self, permit: Permit, count: int) -> Permit:
        """The permit for so many mails; the moments after theirs are given back."""
        if permit.granted is None or count == permit.count:
            return permit
        await self.give_back(permit, permit.count - count)
        granted = replace(permit.granted, moments=permit.granted.moments[:count])
        return replace(permit, count=count, moments=permit.moments[:count], granted=granted)

    def _limits(self, sender: Outgoing, now: datetime) -> SenderLimits:
        return stored.make_sender_limits(
            sender.limits,
            sender_id=sender.sender_id,
            account_id=sender.account_id or 0,
            reserve=self._reserve,
            now=now,
        )

    async def _find_member(self, stream: StreamFacts) -> MemberLimit | None:
        """The member who launched the stream, if they have a limit."""
        if stream.member_id is None:
            return None
        limit, until = self._member_limits.get(stream.member_id, (None, 0.0))
        if until < time.monotonic():
            limit = await self._db.run(sending_limits.find_member_limit, stream.member_id)
            self._member_limits[stream.member_id] = limit, time.monotonic() + FRESH_SECONDS
        if limit is None:
            return None
        return MemberLimit(stream.member_id, limit.per_day, limit.counted_since or limits.EPOCH)

    async def _ask_limiter(self, limiter: Limiter, request: Request, sender: Outgoing) -> Outcome:
        """Asks for a grant; fills Redis first where it lost its counts, and corrects the day."""
        if self._sent_without_redis and await limiter.start_over():
            # Others may have gone on with Redis, and do not know of the mails sent without it.
            self._sent_without_redis = False
        outcome: Outcome = await limiter.grant(request)
        for _ in range(_MOST_QUESTIONS):
            if isinstance(outcome, Unfilled):
                figures = await self._db.run(_read_figures, request, outcome, sender)
                await limiter.fill(outcome, request, figures)
            elif isinstance(outcome, WrongDay):
                today = self._limits(sender, limits.to_datetime(outcome.now))
                request = replace(request, limits=today)
            else:
                break
            outcome = await limiter.grant(request)
        if not isinstance(outcome, Away):
            self._offset.observe(outcome.now, asyncio.get_running_loop().time())
            self._away_since = None
        return outcome

    async def _answer(self, outcome: Outcome, request: Request) -> Answer:
        match outcome:
            case Granted():
                return Permit(
                    outcome.count,
                    [self._offset.to_local(moment) for moment in outcome.moments],
                    self._offset.to_local(outcome.expires_at),
                    outcome,
                    Line(self._left, find_intervals(request.limits)),
                )
            case Refused(refusals=refusals):
                causes = _list_causes(refusals)
                if causes:
                    return Deferred(causes)
                is_filled = all(refusal.limit is not Limit.REFILL for refusal in refusals)
                reason = Reason.RATE_PER_SECOND if is_filled else Reason.LIMITS_SETTLING
                return Pause(reason, outcome.wait)
            case Unfilled() | WrongDay():  # again and again: another worker fills it, or empties it
                return Pause(Reason.LIMITS_SETTLING, _SHORTLY)
            case Away():
                return await self._answer_without_redis(request)
            case _:
                assert_never(outcome)

    async def _answer_without_redis(self, request: Request) -> Answer:
        """Each live worker takes its share of the rates; what has to be counted waits."""
        pace = limits.divide_rates(request, await self._count_workers())
        now = asyncio.get_running_loop().time()
        if self._away_since is None or now - self._away_seen > self._horizon.lifetime:
            self._away_since = now  # what was seen before was another outage
        self._away_seen = now
        # Mails that were granted before go first, also those of other workers.
        if pace is None or now < self._away_since + self._horizon.lifetime:
            return Pause(Reason.LIMITS_UNKNOWN, _WHILE_REDIS_IS_AWAY)
        self._sent_without_redis = True
        if math.isinf(pace.sender) and math.isinf(pace.account):
            return self._permit_uncounted(request.count)
        moments = self._local.take(
            request.count,
            pace,
            sender_id=request.limits.sender_id,
            account_id=request.limits.account.account_id,
            now=now,
        )
        if not moments:
            return Pause(Reason.RATE_PER_SECOND, _SHORTLY)
        return Permit(len(moments), moments)

    def _permit_uncounted(self, count: int) -> Permit:
        """Ends as a grant does: a limit that is added meanwhile counts what is armed by then."""
        now = asyncio.get_running_loop().time()
        return Permit(count, expires_at=now + self._horizon.lifetime)

    async def _count_workers(self) -> int:
        count, until = self._live_workers
        if until < time.monotonic():
            count = await self._db.run(heartbeat.count_alive)
            self._live_workers = count, time.monotonic() + FRESH_SECONDS
        return count


def _find_share(asked: SenderLimits) -> int:
    """The most that one round of bulk mail asks for: streams of one account get equal blocks."""
    rates = [rate for rate in (asked.rate, asked.account.rate) if rate is not None]
    return max(_LEAST_SHARE, math.ceil(min(rates) * _SHARE_SECONDS)) if rates else sys.maxsize


def _find_closed_hours(stream: StreamFacts, sender: Outgoing, now: datetime) -> LimitCause | None:
    """Hours hold back bulk mail; a mail that one person waits for goes at any time."""
    if stream.kind is StreamKind.TRANSACTIONAL or not sender.limits.working_hours:
        return None
    opens_at = hours.find_next_opening(stored.read_all_hours(sender.limits), now)
    if opens_at is None:
        detail = "The hours of the workspace and the sender have no time in common."
        return LimitCause(Reason.OUTSIDE_HOURS, now + hours.HORIZON, detail)
    return LimitCause(Reason.OUTSIDE_HOURS, opens_at) if opens_at > now else None


def _list_causes(refusals: Sequence[Refusal]) -> list[LimitCause]:
    """One for each reason: of two daily limits the one that ends later."""
    ends: dict[Reason, datetime] = {}
    for refusal in refusals:
        reason = _REASONS.get(refusal.limit)
        if reason is not None:
            ends[reason] = max(refusal.until, ends.get(reason, refusal.until))
    return [LimitCause(reason, until) for reason, until in ends.items()]


def _read_figures(request: Request, unfilled: Unfilled, sender: Outgoing) -> Figures:
    """What the ledger knows of mails that were sent; only what a limit needs is counted."""
    asked, quota, member = request.limits, sender.limits.quota, request.member
    by_sender, day = queries.count_sent_by_sender, asked.day
    return Figures(
        used_this_hour=(
            by_sender(asked.sender_id, since=unfilled.hour_starts_at) if asked.per_hour else 0
        ),
        used_today=by_sender(asked.sender_id, since=day.starts_at) if asked.per_day else 0,
        member_used_today=(
            queries.count_sent_for_member(member.member_id, since=day.starts_at) if member else 0
        ),
        sent_since_sync=(
            queries.count_sent_by_account(asked.account.account_id, since=quota.synced_at)
            if quota
            else 0
        ),
        tuned_rate=sender.limits.tuned_rate,
    )
