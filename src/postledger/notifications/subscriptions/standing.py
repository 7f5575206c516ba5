"""What holds for one topic subscription now: who is told, when, how often and in which language."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.contacts import sql
from postledger.notifications.subscriptions import standing_sql, windows
from postledger.notifications.subscriptions.windows import Departure, Window


@dataclass(frozen=True, slots=True)
class SubscriptionStanding:
    status: str
    address: str | None  # None: the person is gone
    name: str
    from_name: str | None
    notify_on: Sequence[str]
    max_notifications: int | None
    window_from: int | None
    window_until: int | None
    snooze_until: datetime | None
    zone: str
    locale: str

    @property
    def window(self) -> Window | None:
        if self.window_from is None or self.window_until is None:
            return None
        return Window(self.window_from, self.window_until)

    def is_snoozed(self, now: datetime) -> bool:
        return self.snooze_until is not None and self.snooze_until > now

    def decide_departure(self, *, expires_at: datetime, now: datetime) -> Departure:
        return windows.decide_departure(
            self.window, self.zone, self.snooze_until, expires_at=expires_at, now=now
        )


_STANDING: LiteralString = f"""
SELECT standing.status, standing.address, coalesce(standing.name, ''), standing.from_name,
       standing.notify_on, standing.max_notifications, standing.window_from, standing.window_until,
       standing.snooze_until, standing.zone, standing.locale
FROM ({standing_sql.STANDING}) AS standing WHERE standing.subscription_id = %(subscription)s
"""


def find_standing(workspace_id: int, subscription_id: int) -> SubscriptionStanding | None:
    params = {**standing_sql.make_params(workspace_id), "subscription": subscription_id}
    row = sql.first(_STANDING, params)
    return None if row is None else SubscriptionStanding(*row)
