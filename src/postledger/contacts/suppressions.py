"""The addresses that a workspace must not mail, as people see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.contacts import sql
from postledger.contacts.states import SuppressionReason


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ended: the hash of an address, and the list among those of this address."""

    address_hash: bytes
    list_id: int  # for all mail, which comes last, one that no list has


FIRST = Place(b"", 0)
ALL_MAIL = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Suppressed:
    """Without an address, its owner was forgotten; without a list, it is kept from all mail."""

    address: str | None
    list_key: str | None
    reason: SuppressionReason
    has_left: bool
    created_at: datetime
    place: Place


_COLUMNS: LiteralString = """
SELECT s.address, list.key, s.reason, s.has_left, s.created_at, s.address_hash, s.list_id
FROM contacts_suppression AS s LEFT JOIN contacts_list AS list ON list.id = s.list_id
WHERE s.workspace_id = %(workspace)s
"""
# In the order of contacts_suppression_once: there is no other one, and ten million rows would pay
# for it.
_PAGE: LiteralString = """
  AND s.address_hash >= %(hash)s
  AND (s.address_hash > %(hash)s OR coalesce(s.list_id, %(all)s) > %(list)s)
ORDER BY s.address_hash, s.list_id LIMIT %(limit)s
"""
_OF_ADDRESS: LiteralString = """
  AND s.address_hash = contacts_fingerprint((SELECT salt FROM contacts_salt), %(address)s)
ORDER BY s.list_id NULLS FIRST
"""


def page(workspace_id: int, *, after: Place = FIRST, limit: int) -> list[Suppressed]:
    """All of them, in an order that means nothing and stays the same."""
    params = {
        "workspace": workspace_id,
        "hash": after.address_hash,
        "list": after.list_id,
        "all": ALL_MAIL,
        "limit": limit,
    }
    return [_suppressed(row) for row in sql.rows(_COLUMNS + _PAGE, params)]


def of_address(workspace_id: int, *, address: str) -> list[Suppressed]:
    """What keeps a canonical address back: from all mail first, then from lists."""
    params = {"workspace": workspace_id, "address": address}
    return [_suppressed(row) for row in sql.rows(_COLUMNS + _OF_ADDRESS, params)]


def _suppressed(row: sql.Row) -> Suppressed:
    address, list_key, reason, has_left, created_at, address_hash, list_id = row
    place = Place(bytes(address_hash), ALL_MAIL if list_id is None else list_id)
    return Suppressed(address, list_key, SuppressionReason(reason), has_left, created_at, place)
