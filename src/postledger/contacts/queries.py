"""Reads of who may be mailed: the gates' question for a whole window, and one contact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from postledger.contacts.models import Contact


@dataclass(frozen=True, slots=True)
class Standings:
    """What the gates need to know of a window's recipients."""

    suppressed: Mapping[str, str]  # lower-case address → reason
    contacts: Mapping[int, str]  # id → lower-case address; the workspace's own, not deleted


# Served by contacts_suppression_once and by the contacts' primary key, one look-up for each item.
# MATERIALIZED keeps the planner from starting parallel workers for a few milliseconds of work.
_STANDINGS = """
WITH given AS MATERIALIZED (
    SELECT address, place FROM unnest(%(addresses)s::text[]) WITH ORDINALITY AS a (address, place)
), named AS MATERIALIZED (
    SELECT id FROM unnest(%(contacts)s::bigint[]) AS c (id)
)
SELECT given.place, NULL::bigint, suppression.reason
FROM given JOIN contacts_suppression AS suppression
  ON suppression.workspace_id = %(workspace)s
 AND lower(suppression.address) = lower(given.address)
UNION ALL
SELECT NULL, contact.id, contact.address
FROM named JOIN contacts_contact AS contact ON contact.id = named.id
WHERE contact.workspace_id = %(workspace)s AND contact.deleted_at IS NULL
"""


def standings(workspace_id: int, addresses: Sequence[str], contact_ids: Sequence[int]) -> Standings:
    """Which of up to 1,000 addresses are suppressed, and which contacts are there; one statement.

    PostgreSQL alone decides whether two addresses are the same, as its constraint does, so each
    answer is told under the address that was asked for. Addresses are given as
    `providers.addresses.canonical` writes them, which is how they are stored.
    """
    params: dict[str, int | list[str] | list[int]] = {
        "workspace": workspace_id,
        "addresses": list(addresses),
        "contacts": list(contact_ids),
    }
    suppressed: dict[str, str] = {}
    contacts: dict[int, str] = {}
    with connection.cursor() as cursor:
        cursor.execute(_STANDINGS, params)
        for place, contact_id, text in cursor.fetchall():
            if place is not None:
                suppressed[addresses[place - 1].lower()] = text
            else:
                contacts[contact_id] = text.lower()
    return Standings(suppressed, contacts)


@dataclass(frozen=True, slots=True)
class Known:
    """A contact that may be written to by its name."""

    id: int
    workspace_id: int
    address: str
    external_id: str | None
    name: str


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
    row = there.values_list("id", "workspace_id", "address", "external_id", "name").first()
    return Known(*row) if row else None
