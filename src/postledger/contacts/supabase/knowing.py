"""Looks up what is known here of the subscribers on a page of Supabase's table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.contacts import sql
from postledger.contacts.states import ContactState
from postledger.contacts.supabase.rows import Row


@dataclass(frozen=True, slots=True)
class Known:
    """How the contact of an address stands here."""

    state: ContactState
    from_name: str | None
    bounce_type: str | None
    bounce_subtype: str | None
    changed_at: datetime | None
    is_unconfirmed: bool
    has_left: bool  # by a wish of its owner, perhaps under a stronger reason
    taken_back_at: datetime | None  # when the state that Supabase says was taken back here


@dataclass(frozen=True, slots=True)
class Unknown:
    """There is no contact of an address, perhaps because somebody wanted it so."""

    is_deleted: bool
    gone_id: int | None  # who was deleted because the row was missing, and by nobody since
    is_forgotten: bool


# LIMIT says what the planner does not know of partial indexes. Served by contacts_contact_once,
# contacts_consent_newest, contacts_suppression_once and contacts_contact_deleted. Who takes a
# leaving back under a bounce has bounced before and after it; an undo is of nothing else.
_KNOWN: LiteralString = """
WITH given AS MATERIALIZED (
    SELECT place, state, lower(address) COLLATE "C" AS key,
           contacts_fingerprint((SELECT salt FROM contacts_salt), address) AS hash
    FROM unnest(%(addresses)s::text[], %(states)s::text[])
         WITH ORDINALITY AS given (address, state, place)
)
SELECT c.state, c.from_name, c.bounce_type, c.bounce_subtype,
       coalesce(c.state_changed_at, kept.created_at), c.is_unconfirmed,
       coalesce(kept.has_left, false), back.at, deleted.at IS NOT NULL,
       (
           SELECT s.contact_id FROM contacts_supabasesubscriber AS s
           WHERE s.contact_id = deleted.id AND s.gone_at = deleted.at
       ),
       c.id IS NULL AND EXISTS (
           SELECT FROM contacts_suppression AS s
           WHERE s.workspace_id = %(workspace)s AND s.address_hash = given.hash
             AND s.list_id IS NULL AND s.address IS NULL
       )
FROM given
LEFT JOIN LATERAL (
    SELECT * FROM contacts_contact
    WHERE workspace_id = %(workspace)s AND lower(address) COLLATE "C" = given.key
      AND deleted_at IS NULL
    LIMIT 1
) AS c ON true
LEFT JOIN LATERAL (
    SELECT d.id, d.deleted_at AS at FROM contacts_contact AS d
    WHERE c.id IS NULL AND d.workspace_id = %(workspace)s
      AND lower(d.address) COLLATE "C" = given.key AND d.deleted_at IS NOT NULL
    ORDER BY d.deleted_at DESC LIMIT 1
) AS deleted ON true
LEFT JOIN LATERAL (
    SELECT has_left, created_at FROM contacts_suppression
    WHERE c.id IS NOT NULL AND workspace_id = %(workspace)s AND address_hash = given.hash
      AND list_id IS NULL
    LIMIT 1
) AS kept ON true
LEFT JOIN LATERAL (
    SELECT max(event.at) AS at FROM contacts_consentevent AS event
    WHERE (c.state_changed_at IS NOT NULL OR c.state <> 'active')
      AND event.contact_id = c.id AND event.list_id IS NULL
      AND (
          event.action IN ('undone', 'restored') AND event.before = given.state
          OR event.action = 'undone' AND given.state = 'unsubscribed'
      )
) AS back ON true
ORDER BY given.place
"""


def look_up(workspace_id: int, rows: Sequence[Row]) -> list[Known | Unknown]:
    """What is known of each row, in their order."""
    params = {
        "workspace": workspace_id,
        "addresses": [row.address for row in rows],
        "states": [row.state.value for row in rows],
    }
    return [
        Unknown(is_deleted, gone_id, is_forgotten)
        if state is None
        else Known(ContactState(state), *rest)
        for state, *rest, is_deleted, gone_id, is_forgotten in sql.rows(_KNOWN, params)
    ]
