"""When a provider is asked for its quota, and what its answer means. Pure.

The provider's own count is believed, because only it knows the mails of other systems. Two things
make it wrong for us. Mails that we granted may not have reached it yet; and the count of SES lags,
so that mails which have reached it may not be in it. Both end by waiting: the limiter's count is
marked, and the provider is asked `SETTLE_TIME` later. All that was granted before the mark is then
in its answer, and all that was granted after it is counted here. What was granted between mark and
answer is counted twice; that is corrected by the next reading, and never lets too much go.

The other known way adds the mails of other systems, as the provider's count less our own of 24
hours, to our own count now. It needs a count of our own that no row holds, and is too small while
the provider's count lags and other systems send. A count that lags longer than we wait is no harm:
the provider refuses the mail, which costs no try, and is asked again.

Mails in doubt were granted, and are never given back: they count as sent.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from postledger.pacing.limits import Horizon, Mark
from postledger.providers.base import QuotaReading

BUSY_INTERVAL = timedelta(seconds=60)  # while mail waits or goes
IDLE_INTERVAL = timedelta(seconds=300)
# After a reading that no mark belongs to: if the limiter was filled without the quota meanwhile, it
# grants nothing until it gets one with a mark.
UNMARKED_INTERVAL = timedelta(seconds=15)
LONGEST_RETRY = timedelta(minutes=15)
COUNTER_LAG = timedelta(seconds=7)
SETTLE_TIME = timedelta(seconds=Horizon().lifetime) + COUNTER_LAG


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a quota before it is read again."""

    remaining: int | None  # at the last reading; None: that is no limit
    mark: Mark | None
    synced_at: datetime | None  # None: it was never read
    failed_since: datetime | None = None


def find_interval(known: Known, mark: Mark | None, *, is_busy: bool) -> timedelta:
    """How long an answer is believed; the first mail often comes beside the first reading."""
    if mark is None and (is_busy or known.synced_at is None):
        return UNMARKED_INTERVAL
    return BUSY_INTERVAL if is_busy else IDLE_INTERVAL


def find_retry(known: Known, now: datetime) -> timedelta:
    """How long to wait after a failure: as long as it fails already, which doubles each wait."""
    failing = timedelta() if known.failed_since is None else now - known.failed_since
    return min(max(failing, BUSY_INTERVAL), LONGEST_RETRY)


def find_early_sync(known: Known, now: datetime) -> datetime:
    """When to ask a provider that has just refused mail because its quota is used up.

    At once, but no more than once a minute, however many mails it refuses.
    """
    if known.failed_since is not None:
        return now + BUSY_INTERVAL
    if known.synced_at is None:
        return now
    return max(now, known.synced_at + BUSY_INTERVAL)


def is_settled(known: Known, mark: Mark | None, *, is_busy: bool) -> bool:
    """Whether the provider has counted all mail granted before the mark, without any waiting.

    Nothing is on its way if nothing was granted since the last reading, or since Redis was filled.
    """
    has_granted_none = mark is not None and (mark.granted == 0 or mark == known.mark)
    return has_granted_none or not is_busy


def shows_more(known: Known, reading: QuotaReading, mark: Mark | None) -> bool:
    """Whether more mail may go than before the reading, so that waiting mail should ask again."""
    left = _find_left(known, mark)
    if reading.remaining is None or not reading.is_limit:
        return left is not None
    return reading.remaining > (left or 0) and (left is not None or known.synced_at is None)


def _find_left(known: Known, mark: Mark | None) -> int | None:
    """What was left just before a reading, by our own count; None if there was no limit."""
    if known.synced_at is None or known.remaining is None:
        return None
    if mark is None or known.mark is None or mark.count_id != known.mark.count_id:
        return 0  # nobody knows how much was used
    return max(known.remaining - (mark.granted - known.mark.granted), 0)
