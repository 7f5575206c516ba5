"""Learns from answers how fast an account's provider takes mail, together with all workers."""

import asyncio
import json
from collections import defaultdict
from dataclasses import asdict, replace

import structlog

from postledger.accounts import provider_accounts
from postledger.accounts.queries import Outgoing
from postledger.dispatch import answers
from postledger.dispatch.answers import CallReport
from postledger.dispatch.db_threads import DbThreads
from postledger.pacing import limits, tuning
from postledger.pacing.limiter import Limiter
from postledger.pacing.limits import MICROSECONDS
from postledger.pacing.tuning import Accepted, Event, Throttled, Tuning

_log = structlog.get_logger(__name__)
_MOST_TRIES = 3  # another worker may have learned something at the same moment
# A rate is stored when it has moved by this share since: for a Redis that is emptied.
_STORED_CHANGE = 0.1


class Tuner:
    """The rates are in Redis, shared; the last one known is in the database too."""

    def __init__(self, db: DbThreads, limiter: Limiter | None) -> None:
        self._db = db
        self._limiter = limiter
        # Of accounts that were never throttled: how much they took within a second.
        self._counts: defaultdict[int, Tuning] = defaultdict(Tuning)
        self._stored: dict[int, float] = {}

    def find_rate(self, sender: Outgoing) -> float | None:
        """The last stored rate of the sender's account; None if it was never throttled."""
        return self._stored.get(sender.account_id or 0, sender.limits.tuned_rate)

    async def learn(self, sender: Outgoing, call: CallReport, began: float) -> bool:
        """Takes in the answers of a call that began then, by the event loop's clock.

        True if the account's rate answers its throttles from now on.
        """
        account_id, throttles = sender.account_id, answers.count_throttles(call.outcomes)
        accepted = call.accepted_count
        if self._limiter is None or account_id is None or not (throttles or accepted):
            return False
        now = asyncio.get_running_loop().time()
        if not throttles and self.find_rate(sender) is None:
            counted = tuning.tune(self._counts[account_id], Accepted(accepted), now)
            self._counts[account_id] = counted
            return False
        for _ in range(_MOST_TRIES):
            stored = await self._limiter.read_tuning(account_id)
            if stored is None:
                return False
            read_at = stored.now / MICROSECONDS
            before = self._read(account_id, stored, sender, read_at)
            if throttles:
                # What was taken beside them shows how much the provider bears; where nothing was,
                # the rate falls from what was tried.
                before = replace(before, accepted=before.accepted + (accepted or throttles))
            event: Event = Throttled(read_at - (now - began)) if throttles else Accepted(accepted)
            after = tuning.tune(before, event, read_at, limit=sender.limits.account_rate)
            if after == before or await self._write(account_id, stored, after):
                return True
        return True

    def _read(self, account_id: int, stored: limits.Tuning, sender: Outgoing, now: float) -> Tuning:
        if stored.state:
            return Tuning(**json.loads(stored.state))
        rate = self.find_rate(sender)
        if rate is not None:  # Redis was emptied
            throttled = rate / tuning.LOWERED_TO
            return Tuning(rate, throttled, lowered_at=now, counted_since=now)
        counted = self._counts.pop(account_id, Tuning())
        return Tuning(accepted=counted.accepted, accepted_before=counted.accepted_before)

    async def _write(self, account_id: int, stored: limits.Tuning, after: Tuning) -> bool:
        """False if another worker was faster. An account that Redis does not know yet is filled
        from the database when it is asked for the next time.
        """
        written = limits.Tuning(after.rate, json.dumps(asdict(after)), stored.version)
        is_written = await self._limiter_of().write_tuning(account_id, written)
        last = self._stored.get(account_id)
        if after.rate is not None and (
            last is None or abs(after.rate - last) > _STORED_CHANGE * last
        ):
            if last is None or after.rate < last:
                _log.warning(
                    "provider throttles; rate lowered", account_id=account_id, rate=after.rate
                )
            self._stored[account_id] = after.rate
            await self._db.run(provider_accounts.store_tuned_rate, account_id, after.rate)
        return is_written or not stored.version

    def _limiter_of(self) -> Limiter:
        assert self._limiter is not None  # noqa: S101  `learn` has looked
        return self._limiter
