"""What holds for a topic subscription now, in SQL: its status, its preferences and its recipient.

Everybody who asks uses this one query, so the fan-out, the hand-over, the API and the pages agree.
"""

from typing import Any, LiteralString

from django.conf import settings

from postledger.accounts import hash_key

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
                     = contacts_fingerprint(%(hash_key)s::bytea, contact.address)
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
