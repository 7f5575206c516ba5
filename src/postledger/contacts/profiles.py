"""One contact as people see it: what is known of it, its subscriptions, and its history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from django.db.models import QuerySet

from postledger.contacts import queries, sql
from postledger.contacts.consent import Preferences
from postledger.contacts.models import Contact, Subscription
from postledger.contacts.states import ConsentAction, ContactState, Kept, SubscriptionState

PAGE = 100


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A subscription, under the key of its list."""

    list_key: str
    state: SubscriptionState
    preferences: Preferences
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a history; without a list, it is about all mail."""

    id: int
    at: datetime
    action: ConsentAction
    list_key: str | None
    before: str | None
    after: str | None
    source: str
    actor: str
    text_version: str
    ip: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Profile:
    id: int
    address: str
    former_addresses: Sequence[str] | None
    external_id: str | None
    name: str
    from_name: str | None
    locale: str | None
    time_zone: str | None
    attributes: Mapping[str, object]
    ocd_ids: Sequence[str]
    state: ContactState
    is_unconfirmed: bool
    bounce_type: str | None
    bounce_subtype: str | None
    state_changed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    suppression: Kept  # of the address, for all mail
    subscriptions: Sequence[Subscribed]
    history: Sequence[Event]


_COLUMNS = (
    "id",
    "address",
    "former_addresses",
    "external_id",
    "name",
    "from_name",
    "locale",
    "time_zone",
    "attributes",
    "ocd_ids",
    "state",
    "is_unconfirmed",
    "bounce_type",
    "bounce_subtype",
    "state_changed_at",
    "created_at",
    "updated_at",
    "deleted_at",
)

# Two look-ups, served by contacts_contact_once and contacts_contact_deleted: no index has both.
_IDS: LiteralString = """
SELECT id FROM contacts_contact
WHERE workspace_id = %(workspace)s AND lower(address) COLLATE "C" = lower(%(address)s) COLLATE "C"
  AND deleted_at IS NULL
UNION ALL
SELECT id FROM contacts_contact
WHERE workspace_id = %(workspace)s AND lower(address) COLLATE "C" = lower(%(address)s) COLLATE "C"
  AND deleted_at IS NOT NULL
ORDER BY id
"""


def ids_of(workspace_id: int, *, address: str) -> list[int]:
    """Every contact that has a canonical address, the deleted ones too."""
    found = sql.rows(_IDS, {"workspace": workspace_id, "address": address})
    return [contact_id for (contact_id,) in found]


def find(workspace_id: int, *, contact_id: int, is_deleted_shown: bool = False) -> Profile | None:
    """A contact with all its subscriptions and the newest lines of its history."""
    there = Contact.objects.filter(pk=contact_id, workspace_id=workspace_id)
    row = there.values(*_COLUMNS).first()
    if row is None or (row["deleted_at"] is not None and not is_deleted_shown):
        return None
    row["state"] = ContactState(row["state"])
    return Profile(
        **row,
        suppression=queries.suppression(workspace_id, address=row["address"]),
        subscriptions=_subscribed(Subscription.objects.filter(contact_id=contact_id)),
        history=history(workspace_id, contact_id=contact_id),
    )


_PREFERENCES = (
    "notify_on",
    "max_notifications",
    "window_from",
    "window_until",
    "snooze_until",
    "locale",
)


def subscriptions(
    workspace_id: int, *, contact_id: int, list_key: str | None = None
) -> list[Subscribed]:
    """All of a contact's by the keys of their lists, or the one to a list."""
    there = Subscription.objects.filter(
        contact_id=contact_id, contact__workspace_id=workspace_id, contact__deleted_at=None
    )
    return _subscribed(there if list_key is None else there.filter(list__key=list_key))


def _subscribed(there: QuerySet[Subscription]) -> list[Subscribed]:
    found = there.order_by("list__key")
    return [
        Subscribed(
            list_key,
            SubscriptionState(state),
            Preferences(None if notify_on is None else tuple(notify_on), *wishes),
            created_at,
            changed_at,
        )
        for list_key, state, created_at, changed_at, notify_on, *wishes in found.values_list(
            "list__key", "state", "created_at", "changed_at", *_PREFERENCES
        )
    ]


# Served by contacts_consent_newest and contacts_consent_of_address: what happened to an address
# before it had a contact is part of the story of whoever has it now.
_HISTORY = """
WITH contact AS MATERIALIZED (
    SELECT id, contacts_fingerprint((SELECT salt FROM contacts_salt), address) AS hash
    FROM contacts_contact WHERE id = %(contact)s AND workspace_id = %(workspace)s
), event AS (
    (
        SELECT event.* FROM contact JOIN contacts_consentevent AS event
          ON event.contact_id = contact.id
        WHERE event.id < %(before)s
        ORDER BY event.id DESC LIMIT %(limit)s
    )
    UNION ALL
    (
        SELECT event.* FROM contact JOIN contacts_consentevent AS event
          ON event.workspace_id = %(workspace)s AND event.address_hash = contact.hash
         AND event.contact_id IS NULL
        WHERE event.id < %(before)s
        ORDER BY event.id DESC LIMIT %(limit)s
    )
)
SELECT event.id, event.at, event.action, list.key, event.before, event.after, event.source,
       event.actor, event.text_version, host(event.ip), event.detail
FROM event LEFT JOIN contacts_list AS list ON list.id = event.list_id
ORDER BY event.id DESC LIMIT %(limit)s
"""

END = 2**63 - 1


def history(
    workspace_id: int, *, contact_id: int, before: int = END, limit: int = PAGE
) -> list[Event]:
    """What happened to a contact's consent, newest first; `before` is the id of the last line."""
    params = {
        "workspace": workspace_id,
        "contact": contact_id,
        "before": before,
        "limit": limit,
    }
    return [_event(row) for row in sql.rows(_HISTORY, params)]


# Served by contacts_consent_of_address.
_OF_ADDRESS: LiteralString = """
SELECT event.id, event.at, event.action, list.key, event.before, event.after, event.source,
       event.actor, event.text_version, host(event.ip), event.detail
FROM contacts_consentevent AS event LEFT JOIN contacts_list AS list ON list.id = event.list_id
WHERE event.workspace_id = %(workspace)s AND event.contact_id IS NULL
  AND event.address_hash = contacts_fingerprint((SELECT salt FROM contacts_salt), %(address)s)
ORDER BY event.id DESC
"""


def history_of(workspace_id: int, *, address: str) -> list[Event]:
    """All that happened to a canonical address while it had no contact, newest first."""
    params = {"workspace": workspace_id, "address": address}
    return [_event(row) for row in sql.rows(_OF_ADDRESS, params)]


def _event(row: sql.Row) -> Event:
    event_id, at, action, *rest = row
    return Event(event_id, at, ConsentAction(action), *rest)
