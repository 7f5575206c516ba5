"""Asks Redis for permission to send: one script decides over all limits at once, by its own clock.

Redis is only a count. The script sees whatever empties it or takes it back in time (FLUSHALL, a
restart, a failover, another server), and grants nothing until the ledger's figures are in it.
"""

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from postledger.pacing.limits import (
    MICROSECONDS,
    Away,
    Figures,
    Granted,
    Horizon,
    Limit,
    Mark,
    Outcome,
    Quota,
    Refusal,
    Refused,
    Request,
    Tuning,
    Unfilled,
    WrongDay,
    to_datetime,
    to_interval,
    to_moment,
)

_PREFIX = "postledger:pacing"
_TIMEOUT = 0.5  # seconds; a busy event loop must not take Redis for dead
# Less than a grant lives: when Redis is back, every worker asks it again before it grants anything.
_BACK_OFF = 1.0
_log = structlog.get_logger(__name__)


class Limiter:
    """Grants, refuses and takes back blocks of mails. Belongs to one event loop."""

    def __init__(
        self, redis_url: str, horizon: Horizon | None = None, timeout: float = _TIMEOUT
    ) -> None:
        self._horizon = horizon or Horizon()
        # Never tried again by the client: the first try may have been granted.
        self._redis = Redis.from_url(
            redis_url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),
        )
        self._script = self._redis.register_script(_read_script())
        self._back_at = 0.0

    async def close(self) -> None:
        await self._redis.aclose()

    async def grant(self, request: Request) -> Outcome:
        """Grants up to as many mails as are asked for, or names every limit that refuses."""
        if request.count < 1:
            raise ValueError("Ask for at least one mail.")
        answer = await self._run("grant", request, _describe(request, self._horizon))
        return answer if isinstance(answer, Away) else self._read_answer(answer, request)

    async def give_back(self, granted: Granted, unsent: Sequence[int]) -> None:
        """Returns moments at which no mail was sent. Each may be given back once.

        Without Redis they stay counted: less is sent than could be, never more.
        """
        if not unsent:
            return
        details = _describe(granted.request, self._horizon)
        details |= {
            "generation": granted.generation,
            "hour": granted.hour,
            "granted_at": granted.now,
            "moments": list(unsent),
        }
        await self._run("give_back", granted.request, details)

    async def fill(self, unfilled: Unfilled, request: Request, figures: Figures) -> bool:
        """Fills what is missing, from figures that were read after `unfilled` was answered.

        False if Redis was emptied once more, or is away: ask for a grant again.
        """
        last = figures.last_sent_at
        details = _describe(request, self._horizon)
        details["generation"] = unfilled.generation
        details["figures"] = _drop_none(
            hour=unfilled.hour,
            used_this_hour=figures.used_this_hour,
            used_today=figures.used_today,
            member_used_today=figures.member_used_today,
            sent_since_sync=figures.sent_since_sync,
            last_sent_at=0 if last is None else to_moment(last),
            tuned_rate=None if figures.tuned_rate is None else repr(figures.tuned_rate),
        )
        answer = await self._run("fill", request, details)
        return not isinstance(answer, Away) and answer[0] == b"filled"

    async def mark(self, account_id: int) -> Mark | None:
        """Counts the account's grants before its quota is read; None if Redis cannot say."""
        answer = await self._run_for_account("mark", account_id)
        if isinstance(answer, Away) or answer[0] != b"marked":
            return None
        return Mark(answer[1].decode(), answer[2])

    async def read_tuning(self, account_id: int) -> Tuning | None:
        """The account's tuned rate; None if Redis is away."""
        answer = await self._run_for_account("read_tuning", account_id)
        if isinstance(answer, Away):
            return None
        rate = float(answer[1]) if answer[1] else None
        return Tuning(rate, answer[2].decode(), answer[3], int(answer[4]))

    async def write_tuning(self, account_id: int, tuning: Tuning) -> bool:
        """Writes what was made of a tuning; False if another worker was faster: read it again."""
        answer = await self._run_for_account(
            "write_tuning",
            account_id,
            rate=None if tuning.rate is None else repr(tuning.rate),
            state=tuning.state,
            version=tuning.version,
        )
        return not isinstance(answer, Away) and answer[0] == b"written"

    async def start_over(self) -> bool:
        """Makes every worker wait and fill Redis again; False if Redis is still away.

        For the worker that sent at its own pace while it did not reach Redis: the others may have
        gone on with it, and do not know of these mails.
        """
        return not isinstance(await self._run_for_account("renew", 0), Away)

    def _read_answer(self, answer: Sequence[Any], request: Request) -> Outcome:
        now = int(answer[1])
        match answer[0]:
            case b"granted":
                return Granted(
                    moments=tuple(now + int(delay) for delay in answer[4].split(b",")),
                    now=now,
                    expires_at=now + _microseconds(self._horizon.lifetime),
                    request=request,
                    generation=answer[2].decode(),
                    hour=answer[3],
                )
            case b"refused":
                return Refused(_read_refusals(answer[2:], request), now)
            case b"unfilled":
                return Unfilled(answer[2].decode(), now, answer[3])
            case _:
                return WrongDay(now)

    async def _run_for_account(
        self, action: str, account_id: int, **details: Any
    ) -> Sequence[Any] | Away:
        details["lifetime"] = _microseconds(self._horizon.lifetime)
        keys = [_name_key("server"), _name_key("account", account_id), "", ""]
        return await self._call(action, keys, _drop_none(**details))

    async def _run(
        self, action: str, request: Request, details: Mapping[str, Any]
    ) -> Sequence[Any] | Away:
        keys = [
            _name_key("server"),
            _name_key("account", request.limits.account.account_id),
            _name_key("sender", request.limits.sender_id),
            _name_key("member", request.member.member_id if request.member else 0),
        ]
        return await self._call(action, keys, details)

    async def _call(
        self, action: str, keys: Sequence[str], details: Mapping[str, Any]
    ) -> Sequence[Any] | Away:
        if monotonic() < self._back_at:
            return Away("Redis did not answer a moment ago.")
        try:
            answer: Sequence[Any] = await self._script(keys, [action, json.dumps(details)])
        except (RedisError, OSError) as error:
            self._back_at = monotonic() + _BACK_OFF
            _log.warning("limiter without Redis", error=str(error), seconds=_BACK_OFF)
            return Away(str(error))
        return answer


@cache
def _read_script() -> str:
    here = Path(__file__).parent
    return "\n".join((here / name).read_text("utf-8") for name in ("calendars.lua", "limiter.lua"))


def _name_key(kind: str, number: int | None = None) -> str:
    return f"{_PREFIX}:{kind}" if number is None else f"{_PREFIX}:{kind}:{number}"


def _describe(request: Request, horizon: Horizon) -> dict[str, Any]:
    """The request as the script reads it; limits that are not set are left out."""
    limits, account, member = request.limits, request.limits.account, request.member
    start, end = (
        (horizon.reserved_start, horizon.reserved_end)
        if request.is_reserved
        else (horizon.start, horizon.end)
    )
    return _drop_none(
        count=request.count,
        is_reserved=request.is_reserved,
        start=_microseconds(start),
        ends=_microseconds(end),
        lifetime=_microseconds(horizon.lifetime),
        settling=_microseconds(horizon.settling),
        counted_since=to_moment(limits.counted_since),
        member_counted_since=to_moment(member.counted_since) if member else 0,
        sender_interval=None if limits.rate is None else to_interval(limits.rate),
        account_interval=None if account.rate is None else to_interval(account.rate),
        slots=math.floor(1 / account.reserved_share) if account.reserved_share else None,
        per_hour=limits.per_hour,
        per_day=limits.per_day,
        has_member=member is not None,
        member_per_day=member and member.per_day,
        quota=account.quota and _describe_quota(account.quota),
        day={
            "key": limits.day.key,
            "starts_at": to_moment(limits.day.starts_at),
            "ends_at": to_moment(limits.day.ends_at),
        },
    )


def _describe_quota(quota: Quota) -> dict[str, Any]:
    return _drop_none(
        sync=quota.sync_id,
        remaining=quota.remaining,
        reserved=quota.reserved,
        count_id=quota.mark and quota.mark.count_id,
        granted=quota.mark and quota.mark.granted,
    )


def _read_refusals(pairs: Sequence[bytes], request: Request) -> tuple[Refusal, ...]:
    refusals = []
    for name, moment in zip(pairs[::2], pairs[1::2], strict=True):
        limit = Limit(name.decode())
        quota = request.limits.account.quota
        if limit in {Limit.SENDER_DAY, Limit.MEMBER_DAY}:
            until = request.limits.day.resumes_at
        elif limit is Limit.QUOTA and quota is not None:
            until = quota.next_sync_at
        else:
            until = to_datetime(int(moment))
        refusals.append(Refusal(limit, until))
    return tuple(refusals)


def _drop_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _microseconds(seconds: float) -> int:
    return round(seconds * MICROSECONDS)
