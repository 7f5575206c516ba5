"""Calls the roll of an audience: everybody whom a mailout means, and what keeps some of them back.

It is called in chunks, by lower-case address in byte order, so that it can be gone on with.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from psycopg import sql as pg
from psycopg.sql import Composed

from postledger.contacts import filter_sql, filters, lists, sql
from postledger.contacts.audience import Source
from postledger.contacts.filters import All, Filter, OnList
from postledger.contacts.states import SubscriptionState

_ON_LIST = tuple(SubscriptionState)


@dataclass(frozen=True, slots=True)
class Roll:
    """Whom a mailout means: the contacts of a filter, on a list or without one, at a moment."""

    audience: Filter
    list_key: str | None
    frozen_at: datetime  # who came later is not meant
    mailed_at: datetime | None = None  # None: at once
    zones: tuple[str, ...] | None = None  # None: wherever they are
    default_zone: str = "UTC"  # of those of whom nobody knows where they are
    changed_since: datetime | None = None  # only those who changed since then


# contacts_contact_once lies in this order and has each address once, whatever its capitals. The
# look-ups stay look-ups (OFFSET 0), and are made for the rows of one chunk only.
_CHUNK: LiteralString = """
SELECT contact.id AS contact_id, contact.address, contact.place, contact.former_addresses,
       contact.name, contact.from_name, coalesce({locale}, '') AS locale, contact.attributes,
       contact.ocd_ids, {kept_back} AS kept_back
FROM (
    SELECT contact.id, contact.address, lower(contact.address) COLLATE "C" AS place,
           contact.former_addresses, contact.name, contact.from_name, contact.locale,
           contact.attributes, contact.ocd_ids, contact.state, contact.is_unconfirmed
    FROM contacts_contact AS contact
    WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL
      AND lower(contact.address) COLLATE "C" > %(after)s::text
      AND contact.created_at <= %(frozen_at)s::timestamptz AND {condition} AND {wave}
    ORDER BY lower(contact.address) COLLATE "C"
    LIMIT %(limit)s::bigint
) AS contact
{subscription}
ORDER BY contact.place
"""

_SUBSCRIPTION: LiteralString = """
LEFT JOIN LATERAL (
    SELECT s.state, s.locale, s.snooze_until FROM contacts_subscription AS s
    WHERE s.contact_id = contact.id AND s.list_id = %(list)s::bigint OFFSET 0
) AS subscription ON true
"""

# The gates ask again before a mail goes, but for `unconfirmed`, which nobody becomes. What bounces,
# complaints and leavings keep back is the state of a contact or of its subscription; a word by
# hand is neither, so that addresses are looked up where somebody spoke one.
_KEPT_BACK = pg.SQL(
    "CASE WHEN contact.state <> 'active' THEN contact.state {of_list} {by_hand} END"
)
_OF_LIST: LiteralString = """
WHEN subscription.state <> 'active' THEN 'list_' || subscription.state
WHEN subscription.snooze_until > coalesce(
    %(mailed_at)s::timestamptz, %(frozen_at)s::timestamptz
) THEN 'snoozed'
"""
# Without a list, whom a form made has agreed to nothing before they confirm. That somebody asked
# for a list in the name of a contact says nothing of it: anybody can, and would stop its mail.
_OF_NONE: LiteralString = "WHEN contact.is_unconfirmed THEN 'unconfirmed'"
_BY_HAND: LiteralString = """
ELSE (
    SELECT CASE WHEN s.list_id IS NULL THEN s.reason ELSE 'list_suppressed' END
    FROM contacts_suppression AS s
    WHERE s.workspace_id = %(workspace)s::bigint AND s.reason = 'by_hand'
      AND s.address_hash = contacts_fingerprint((SELECT salt FROM contacts_salt), contact.address)
      AND (s.list_id IS NULL OR s.list_id = %(list)s::bigint)
    ORDER BY s.list_id NULLS FIRST LIMIT 1
)
"""
# Served by contacts_suppression_by_hand.
_ANY_BY_HAND: LiteralString = """
SELECT EXISTS (
    SELECT FROM contacts_suppression WHERE workspace_id = %(workspace)s AND reason = 'by_hand'
)
"""


def chunk(workspace_id: int, roll: Roll, *, after: str, limit: int) -> Source:
    """The next `limit` people of a roll, after the place of the last one, which is empty at first.

    Yields contact_id, address, place, former_addresses, name, from_name, locale, attributes,
    ocd_ids and kept_back, in the order of places; `kept_back` says why somebody gets no mail, and
    is NULL for the others.
    """
    meant = roll.audience
    if roll.list_key is not None:
        meant = All((meant, OnList(roll.list_key, _ON_LIST)))
    known = lists.ids(workspace_id, filters.lists_of(meant))
    list_id = None if roll.list_key is None else known[roll.list_key]
    found = filter_sql.condition(meant, known)
    statement = pg.SQL(_CHUNK).format(
        condition=found.sql,
        wave=_wave(roll),
        subscription=pg.SQL("" if list_id is None else _SUBSCRIPTION),
        locale=pg.SQL(
            "contact.locale" if list_id is None else "coalesce(subscription.locale, contact.locale)"
        ),
        kept_back=_KEPT_BACK.format(
            of_list=pg.SQL(_OF_NONE if list_id is None else _OF_LIST),
            by_hand=pg.SQL(_BY_HAND if _is_any_by_hand(workspace_id) else ""),
        ),
    )
    params = {
        "workspace": workspace_id,
        "list": list_id,
        "after": after,
        "limit": limit,
        "frozen_at": roll.frozen_at,
        "mailed_at": roll.mailed_at,
        "zones": list(roll.zones or ()),
        "default_zone": roll.default_zone,
        "changed_since": roll.changed_since,
    }
    return Source(statement, {**params, **found.params})


def _is_any_by_hand(workspace_id: int) -> bool:
    [(found,)] = sql.rows(_ANY_BY_HAND, {"workspace": workspace_id})
    return bool(found)


def _wave(roll: Roll) -> Composed:
    parts: list[LiteralString] = ["true"]
    if roll.zones is not None:
        parts.append("coalesce(contact.time_zone, %(default_zone)s::text) = ANY(%(zones)s::text[])")
    if roll.changed_since is not None:
        parts.append("contact.updated_at >= %(changed_since)s::timestamptz")
    return pg.SQL(" AND ").join(map(pg.SQL, parts))


_ZONES: LiteralString = """
SELECT DISTINCT time_zone FROM contacts_contact
WHERE workspace_id = %(workspace)s AND deleted_at IS NULL AND time_zone IS NOT NULL
"""


def zones(workspace_id: int) -> set[str]:
    """Where a workspace's contacts are, as far as it is known; looks at each of them once."""
    return {zone for (zone,) in sql.rows(_ZONES, {"workspace": workspace_id})}


@dataclass(frozen=True, slots=True)
class Reader:
    """What a letter may know of one contact."""

    contact_id: int
    name: str
    from_name: str | None
    locale: str
    attributes: Mapping[str, object]
    ocd_ids: Sequence[str]


_READERS: LiteralString = """
SELECT lower(given.address), contact.*
FROM unnest(%(addresses)s::text[]) AS given (address) CROSS JOIN LATERAL (
    SELECT id, name, from_name, coalesce(locale, '') AS locale, attributes, ocd_ids
    FROM contacts_contact
    WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
      AND lower(address) COLLATE "C" = lower(given.address) COLLATE "C"
) AS contact
"""


def readers(workspace_id: int, addresses: Sequence[str]) -> dict[str, Reader]:
    """Those of some addresses that are contacts, by lower-case address."""
    found = sql.rows(_READERS, {"workspace": workspace_id, "addresses": list(addresses)})
    return {
        address: Reader(contact_id, name, from_name, locale, json.loads(known), places)
        for address, contact_id, name, from_name, locale, known, places in found
    }
