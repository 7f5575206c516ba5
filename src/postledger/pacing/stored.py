"""Makes the limits and hours of pacing from what is stored about a sender. Pure."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from postledger.accounts.sending_limits import SendingLimits, StoredQuota
from postledger.pacing import hours
from postledger.pacing.hours import Span, WorkingHours
from postledger.pacing.limits import (
    EPOCH,
    AccountLimits,
    Day,
    Mark,
    Quota,
    Reserve,
    SenderLimits,
)

# Mails come closer to one another on their way, and a provider counts those that arrive.
_SHARE_OF_RATE = 0.99


def read_hours(stored: Mapping[str, Any], *, zone: str) -> WorkingHours:
    """Reads working hours such as `{"weekdays": [0, 1], "spans": [["09:00", "18:00"]]}`.

    Monday is 0; without weekdays they apply to every day. `zone` is that of the workspace, for
    hours that name none of their own.
    """
    return WorkingHours(
        zone=stored.get("zone") or zone,
        spans=tuple(
            Span(time.fromisoformat(opens), time.fromisoformat(closes))
            for opens, closes in stored["spans"]
        ),
        weekdays=frozenset(stored.get("weekdays", hours.EVERY_DAY)),
    )


def read_all_hours(stored: SendingLimits) -> tuple[WorkingHours, ...]:
    return tuple(read_hours(each, zone=stored.zone) for each in stored.working_hours)


def make_sender_limits(
    stored: SendingLimits, *, sender_id: int, account_id: int, reserve: Reserve, now: datetime
) -> SenderLimits:
    """The limits as the limiter asks them, for the workspace's day of `now`."""
    return SenderLimits(
        sender_id=sender_id,
        account=AccountLimits(
            account_id=account_id,
            rate=lower_rate(stored.account_rate),
            reserved_share=reserve.of_rate,
            quota=_make_quota(stored.quota, reserve) if stored.quota else None,
        ),
        day=find_day(stored.zone, read_all_hours(stored), now),
        rate=lower_rate(stored.rate_per_second),
        per_hour=stored.rate_per_hour,
        per_day=stored.daily_limit,
        counted_since=stored.counted_since or EPOCH,
    )


def lower_rate(rate: float | None) -> float | None:
    """The rate at which mail leaves, for one that is set."""
    return None if rate is None else rate * _SHARE_OF_RATE


def find_day(zone: str, working_hours: Sequence[WorkingHours], now: datetime) -> Day:
    """The calendar day of `now`, and when mail goes on after a limit of that day."""
    local = now.astimezone(ZoneInfo(zone))
    starts_at = datetime.combine(local.date(), time(), ZoneInfo(zone)).astimezone(UTC)
    return Day(
        key=f"{local.date()} {zone}",
        starts_at=starts_at,
        ends_at=hours.find_next_day(zone, now),
        resumes_at=hours.find_daily_resume(working_hours, zone, now),
    )


def _make_quota(stored: StoredQuota, reserve: Reserve) -> Quota:
    mark = None
    if stored.mark_count_id is not None and stored.mark_granted is not None:
        mark = Mark(stored.mark_count_id, stored.mark_granted)
    return Quota(
        remaining=stored.remaining,
        size=stored.remaining if stored.size is None else stored.size,
        sync_id=stored.sync_id,
        mark=mark,
        next_sync_at=stored.next_sync_at,
        reserved_share=reserve.of_quota,
    )
