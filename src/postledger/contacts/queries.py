"""Reads of who may be mailed: the gates' question for a whole window, and one contact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from postledger.accounts.models import Workspace
from postledger.contacts import sql
from postledger.contacts.models import Contact
from postledger.contacts.states import (
    NOTHING,
    ContactState,
    Kept,
    Purpose,
    SubscriptionState,
    SuppressionReason,
)
from postledger.contacts.unsubscribe import Wish


@dataclass(frozen=True, slots=True)
class Standings:
    """What the gates need to know of a window's recipients, and what its mail is for."""

    suppressed: Mapping[str, str]  # lower-case address → reason, for all mail
    contacts: Mapping[int, str]  # id → lower-case address; the workspace's own, not deleted
    left: Mapping[str, str] = field(default_factory=dict)  # the same as suppressed, for the list
    # Of contacts that are not active, and of those that have a subscription to the list.
    states: Mapping[int, ContactState] = field(default_factory=dict)
    subscriptions: Mapping[int, SubscriptionState] = field(default_factory=dict)
    purpose: Purpose = Purpose.NEWS


# Served by contacts_suppression_once, the contacts' primary key and contacts_subscription_once,
# one look-up for each item. OFFSET 0 keeps them look-ups: with a table of some hundred thousand
# rows the planner reads all of it instead, which took 100 ms where this takes 12.
_STANDINGS = """
WITH given AS MATERIALIZED (
    SELECT contacts_fingerprint((SELECT salt FROM contacts_salt), address) AS hash, place
    FROM unnest(%(addresses)s::text[]) WITH ORDINALITY AS a (address, place)
), named AS MATERIALIZED (
    SELECT id FROM unnest(%(contacts)s::bigint[]) AS c (id)
), list AS MATERIALIZED (
    SELECT id FROM contacts_list WHERE workspace_id = %(workspace)s AND key = %(list)s
)
SELECT given.place, NULL::bigint, found.reason, (found.list_id IS NOT NULL)::text, NULL
FROM given CROSS JOIN LATERAL (
    SELECT reason, list_id FROM contacts_suppression
    WHERE workspace_id = %(workspace)s AND address_hash = given.hash
      AND (list_id IS NULL OR list_id = (SELECT id FROM list))
    OFFSET 0
) AS found
UNION ALL
SELECT NULL, contact.id, contact.address, contact.state, subscription.state
FROM named CROSS JOIN LATERAL (
    SELECT id, address, state FROM contacts_contact
    WHERE id = named.id AND workspace_id = %(workspace)s AND deleted_at IS NULL
    OFFSET 0
) AS contact LEFT JOIN LATERAL (
    SELECT CASE WHEN state = 'active' AND snooze_until > statement_timestamp() THEN 'paused'
           ELSE state END AS state
    FROM contacts_subscription
    WHERE contact_id = named.id AND list_id = (SELECT id FROM list)
    OFFSET 0
) AS subscription ON true
"""


def standings(
    workspace_id: int,
    addresses: Sequence[str],
    contact_ids: Sequence[int],
    *,
    list_key: str | None = None,
    purpose: Purpose = Purpose.NEWS,
) -> Standings:
    """How up to 1,000 recipients stand, towards all mail and towards one list; one statement.

    PostgreSQL alone decides whether two addresses are the same, as its constraints do, so each
    answer is told under the address that was asked for. Addresses are given as
    `providers.addresses.canonical` writes them, which is how they are stored.
    """
    params: dict[str, object] = {
        "workspace": workspace_id,
        "addresses": list(addresses),
        "contacts": list(contact_ids),
        "list": list_key,
    }
    suppressed: dict[str, str] = {}
    left: dict[str, str] = {}
    contacts: dict[int, str] = {}
    states: dict[int, ContactState] = {}
    subscriptions: dict[int, SubscriptionState] = {}
    for place, contact_id, text, word, subscription in sql.rows(_STANDINGS, params):
        if place is not None:
            told = left if word == "true" else suppressed
            told[addresses[place - 1].lower()] = text
            continue
        contacts[contact_id] = text.lower()
        if word != _ACTIVE:
            states[contact_id] = ContactState(word)
        if subscription is not None:
            subscriptions[contact_id] = SubscriptionState(subscription)
    return Standings(suppressed, contacts, left, states, subscriptions, purpose)


_ACTIVE = ContactState.ACTIVE.value

_SUPPRESSION = """
SELECT reason, has_left FROM contacts_suppression
WHERE workspace_id = %(workspace)s AND list_id IS NOT DISTINCT FROM %(list)s
  AND address_hash = contacts_fingerprint((SELECT salt FROM contacts_salt), %(address)s)
"""


def suppression(workspace_id: int, *, address: str, list_id: int | None = None) -> Kept:
    """What keeps an address back from one list, or without one from all mail."""
    params = {"workspace": workspace_id, "list": list_id, "address": address}
    row = sql.one(_SUPPRESSION, params)
    return NOTHING if row is None else Kept(SuppressionReason(row[0]), row[1])


@dataclass(frozen=True, slots=True)
class Known:
    """A contact that may be written to by its name."""

    id: int
    workspace_id: int
    address: str
    external_id: str | None
    name: str
    state: ContactState


def find(
    workspace_id: int, *, contact_id: int | None = None, external_id: str | None = None
) -> Known | None:
    """A contact by our id or by the workspace's own; None for a deleted one, too.

    Given both, it must be the same contact.
    """
    if contact_id is None and external_id is None:
        return None
    there = Contact.objects.filter(workspace_id=workspace_id, deleted_at=None)
    if contact_id is not None:
        there = there.filter(pk=contact_id)
    if external_id is not None:
        there = there.filter(external_id=external_id)
    row = there.values_list("id", "workspace_id", "address", "external_id", "name", "state").first()
    return Known(*row[:5], ContactState(row[5])) if row else None


def workspace_of(wish: Wish) -> int | None:
    """Whose mail somebody wants no more of; None when there is no such workspace."""
    if wish.workspace_id is None:
        return Workspace.objects.order_by("pk").values_list("pk", flat=True).first()
    # The numbers of a token are signed and still only text: what no id can be is nobody.
    if not 0 < wish.workspace_id < 2**63:
        return None
    there = Workspace.objects.filter(pk=wish.workspace_id)
    return there.values_list("pk", flat=True).first()
