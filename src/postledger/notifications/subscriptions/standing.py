"""What holds for a topic subscription now: who is told, when, how often and in which language.

Everybody who asks uses this one query, so the fan-out, the hand-over, the API and the pages agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, LiteralString

from django.conf import settings

from postledger.accounts import hash_key
from postledger.contacts import sql
from postledger.notifications.subscriptions import windows
from postledger.notifications.subscriptions.windows import Departure, Window


class SubscriptionStatus(StrEnum):
    """What counts for a topic subscription: its own state, and the consent above it."""

    PENDING = "pending"
    ACTIVE = "active"
    PAUSED = "paused"
    SUPPRESSED = "suppressed"
    UNSUBSCRIBED = "unsubscribed"


# Of the topic subscriptions of one workspace; filter it from outside, by subscription_id. Of a
# contact's state the suppressions by hand are not a part: they are looked up, where there are any.
STANDING: LiteralString = """
SELECT subscription.id AS subscription_id, subscription.topic_id, subscription.contact_type,
       contact.id AS contact_id, contact.address, contact.name, contact.from_name,
       CASE
           WHEN contact.state = 'bounced' THEN 'suppressed'
           WHEN EXISTS (
               SELECT FROM contacts_suppression
               WHERE workspace_id = %(workspace)s AND reason = 'by_hand'
           ) AND EXISTS (
               SELECT FROM contacts_suppression AS suppression
               WHERE suppression.workspace_id = %(workspace)s
                 AND suppression.reason = 'by_hand'
                 AND suppression.address_hash
                     = (SELECT contacts_fingerprint(%(hash_key)s::bytea, contact.address))
                 AND (suppression.list_id IS NULL OR suppression.list_id = topic.list_id)
           ) THEN 'suppressed'
           WHEN contact.state <> 'active' OR subscription.state = 'unsubscribed'
               THEN 'unsubscribed'
           WHEN consent.state IS NULL THEN 'pending'
           WHEN consent.state <> 'active' THEN consent.state
           ELSE subscription.state
       END AS status,
       coalesce(subscription.notify_on, consent.notify_on, topic.notify_on) AS notify_on,
       coalesce(subscription.max_notifications, consent.max_notifications) AS max_notifications,
       subscription.forgotten_sent,
       CASE WHEN subscription.window_from IS NULL THEN consent.window_from
            ELSE subscription.window_from END AS window_from,
       CASE WHEN subscription.window_from IS NULL THEN consent.window_until
            ELSE subscription.window_until END AS window_until,
       greatest(subscription.snooze_until, consent.snooze_until) AS snooze_until,
       coalesce(contact.time_zone, workspace.time_zone) AS zone,
       coalesce(nullif(subscription.locale, ''), %(default_locale)s) AS locale
FROM notifications_topicsubscription AS subscription
JOIN notifications_topic AS topic
  ON topic.id = subscription.topic_id AND topic.workspace_id = %(workspace)s
JOIN accounts_workspace AS workspace ON workspace.id = topic.workspace_id
LEFT JOIN contacts_contact AS contact
  ON contact.id = subscription.contact_id AND contact.deleted_at IS NULL
LEFT JOIN contacts_subscription AS consent
  ON consent.contact_id = contact.id AND consent.list_id = topic.list_id
"""


def make_params(workspace_id: int) -> dict[str, Any]:
    """The parameters of `STANDING`; without a contact_id, the person is gone."""
    return {
        "workspace": workspace_id,
        "hash_key": hash_key.read(),
        "default_locale": settings.DEFAULT_LOCALE,
    }


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


_FIND: LiteralString = f"""
SELECT standing.status, standing.address, coalesce(standing.name, ''), standing.from_name,
       standing.notify_on, standing.max_notifications, standing.window_from, standing.window_until,
       standing.snooze_until, standing.zone, standing.locale
FROM ({STANDING}) AS standing WHERE standing.subscription_id = %(subscription)s
"""


def find_standing(workspace_id: int, subscription_id: int) -> SubscriptionStanding | None:
    params = {**make_params(workspace_id), "subscription": subscription_id}
    row = sql.first(_FIND, params)
    return None if row is None else SubscriptionStanding(*row)
