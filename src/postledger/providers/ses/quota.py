"""What SES still takes in its rolling 24 hours, and how much in a second."""

import math

from postledger.providers.base import QuotaReading, QuotaUnreadError
from postledger.providers.http import reading
from postledger.providers.http.reading import Obstacle, Service, Unread
from postledger.providers.ses.documents import ACCOUNT_PATH, QuotaState, ReportedQuota

_UNLIMITED = -1
_MOST = 1e15  # mails a day; more is no number of mails, and would not be stored


async def read_quota(service: Service) -> QuotaReading:
    """Asks GetAccount; raises QuotaUnreadError."""
    state = await reading.read(service, ACCOUNT_PATH, QuotaState)
    if isinstance(state, Unread):
        raise QuotaUnreadError(_explain(state))
    return judge(state.send_quota)


def judge(quota: ReportedQuota) -> QuotaReading:
    """SES counts in doubles; minus one is unlimited. Parts of a mail count against us."""
    rate = quota.max_send_rate if quota.max_send_rate > 0 else None
    if quota.max_24_hour_send == _UNLIMITED:
        return QuotaReading(remaining=None, max_rate=rate)
    size = math.floor(min(max(0.0, quota.max_24_hour_send), _MOST))
    # More than all of it is used where the quota was lowered.
    remaining = math.floor(min(max(0.0, quota.max_24_hour_send - quota.sent_last_24_hours), _MOST))
    return QuotaReading(min(remaining, size), size, rate)


def _explain(unread: Unread) -> str:
    if unread.obstacle is Obstacle.DENIED:
        return "SES does not let the keys read the quota: allow them ses:GetAccount."
    if unread.obstacle is Obstacle.CREDENTIALS:
        return f"SES refuses the keys of the account: {unread.detail.removesuffix('.')}."
    return f"SES did not say the quota: {unread.detail.removesuffix('.')}."
