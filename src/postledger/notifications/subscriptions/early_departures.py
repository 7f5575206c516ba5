"""Brings a contact's waiting notifications forward once their preferences let them go earlier."""

from functools import partial
from typing import LiteralString

from django.db import transaction

from postledger.contacts import sql
from postledger.deliveries import ledger
from postledger.lib import wake

# Served by notifications_subscription_once and notifications_of_subscription. What has expired has
# ended, or ends when it is due.
_WAITING: LiteralString = """
SELECT event.stream_id, notification.id::text
FROM notifications_topicsubscription AS subscription
JOIN notifications_topic AS topic ON topic.id = subscription.topic_id
JOIN notifications_notification AS notification
  ON notification.subscription_id = subscription.id AND notification.is_planned
JOIN notifications_event AS event
  ON event.id = notification.event_id AND event.expires_at > statement_timestamp()
WHERE subscription.contact_id = %(contact)s AND topic.workspace_id = %(workspace)s
  AND event.stream_id IS NOT NULL
"""


def bring_forward(workspace_id: int, *, contact_id: int) -> None:
    """Has all of the contact's waiting notifications looked at again now.

    The hand-over decides by the preferences of that moment: what is still snoozed, or outside a
    delivery window, waits on. Call it in the transaction of the change; it wakes workers after it.
    """
    _bring_forward(workspace_id, contact_id)
    # Until the commit, a worker may give its batch back by the former preferences. Who reads them
    # after it brings the batch forward itself.
    again = partial(_bring_forward, workspace_id, contact_id)
    transaction.on_commit(again, robust=True)


def _bring_forward(workspace_id: int, contact_id: int) -> None:
    keys = sql.rows(_WAITING, {"contact": contact_id, "workspace": workspace_id})
    for stream_id in ledger.bring_forward([(stream, key) for stream, key in keys]):
        transaction.on_commit(partial(wake.notify, stream_id))
