"""Knows which pass saw each subscriber last, deletes whom a whole pass did not see, and brings back
whoever is there again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from django.db import transaction

from postledger.accounts import trail
from postledger.contacts import consent, locks, sql
from postledger.contacts.actions import ending
from postledger.contacts.actions.standing import Step
from postledger.contacts.consent import Origin
from postledger.contacts.states import ContactState, SuppressionReason

_AT_ONCE = 1_000

_SAW: LiteralString = """
UPDATE contacts_supabasesubscriber SET seen_in = (
    SELECT pass_count FROM contacts_supabasesync WHERE workspace_id = %(workspace)s
)
WHERE workspace_id = %(workspace)s AND row_hash = ANY (ARRAY(
    SELECT contacts_fingerprint((SELECT salt FROM contacts_salt), address)
    FROM unnest(%(addresses)s::text[]) AS given (address)
))
"""


def saw(workspace_id: int, addresses: Sequence[str]) -> None:
    """Notes that this pass saw the rows of these addresses."""
    sql.changed(_SAW, {"workspace": workspace_id, "addresses": list(addresses)})


@dataclass(frozen=True, slots=True)
class Count:
    known: int
    missing: int


# Whose contact was deleted or given another address here is nobody's row any more.
_FORGET: LiteralString = """
DELETE FROM contacts_supabasesubscriber AS s
USING contacts_supabasesync AS sync, contacts_contact AS c
WHERE s.workspace_id = %(workspace)s AND sync.workspace_id = s.workspace_id
  AND s.gone_at IS NULL AND s.seen_in < sync.pass_count AND c.id = s.contact_id
  AND (
      c.deleted_at IS NOT NULL
      OR s.row_hash <> contacts_fingerprint((SELECT salt FROM contacts_salt), c.address)
  )
"""
_COUNT: LiteralString = """
SELECT count(*), count(*) FILTER (WHERE s.seen_in < sync.pass_count)
FROM contacts_supabasesubscriber AS s JOIN contacts_supabasesync AS sync USING (workspace_id)
WHERE s.workspace_id = %(workspace)s AND s.gone_at IS NULL
"""


def count(workspace_id: int) -> Count:
    """How many rows are known, and how many of them this pass, which has ended, did not see."""
    sql.changed(_FORGET, {"workspace": workspace_id})
    [(known, missing)] = sql.rows(_COUNT, {"workspace": workspace_id})
    return Count(known, missing)


_DELETE: LiteralString = """
WITH gone AS MATERIALIZED (
    SELECT s.contact_id, s.row_hash
    FROM contacts_supabasesubscriber AS s JOIN contacts_supabasesync AS sync USING (workspace_id)
    WHERE s.workspace_id = %(workspace)s AND s.gone_at IS NULL AND s.seen_in < sync.pass_count
    ORDER BY s.contact_id LIMIT %(limit)s
), line AS (
    UPDATE contacts_contact AS c SET deleted_at = %(now)s
    FROM gone
    WHERE c.id = gone.contact_id AND c.deleted_at IS NULL
      AND gone.row_hash = contacts_fingerprint((SELECT salt FROM contacts_salt), c.address)
    RETURNING c.id
), noted AS (
    UPDATE contacts_supabasesubscriber AS s SET gone_at = %(now)s
    FROM gone WHERE s.contact_id = gone.contact_id
)
SELECT line.id FROM gone LEFT JOIN line ON line.id = gone.contact_id
"""
_DELETED: LiteralString = """
UPDATE contacts_supabasesync SET gone_count = gone_count + %(gone)s
WHERE workspace_id = %(workspace)s
"""


def delete(workspace_id: int, *, actor: str, now: datetime) -> None:
    """Deletes whom this pass, which has ended, did not see; as any deletion, it is in the trail."""
    params = {"workspace": workspace_id, "now": now, "limit": _AT_ONCE}
    while True:
        with transaction.atomic():
            locks.leaving(workspace_id)  # an import changes contacts in another order
            found = sql.rows(_DELETE, params)
            gone = [contact_id for (contact_id,) in found if contact_id is not None]
            subjects = [f"contact {contact_id}" for contact_id in gone]
            trail.note_all(workspace_id, actor=actor, action="contact.deleted", subjects=subjects)
            sql.changed(_DELETED, {"workspace": workspace_id, "gone": len(gone)})
        if len(found) < _AT_ONCE:
            return


# What ended meanwhile found no contact to change, only an address to suppress: it comes to light
# now, as for a new contact. An external id that another one has by now stays with that one.
_BRING_BACK: LiteralString = """
WITH back AS MATERIALIZED (
    SELECT c.id, c.state AS before,
           CASE WHEN kept.reason = 'bounced' THEN 'bounced'
                WHEN kept.reason IN ('complained', 'unsubscribed') OR kept.has_left
                THEN 'unsubscribed' ELSE 'active' END AS told,
           EXISTS (
               SELECT FROM contacts_contact AS other
               WHERE other.workspace_id = %(workspace)s AND other.deleted_at IS NULL
                 AND other.external_id = c.external_id
           ) AS is_id_taken
    FROM contacts_supabasesubscriber AS s
    JOIN contacts_contact AS c ON c.id = s.contact_id AND c.deleted_at = s.gone_at
    LEFT JOIN contacts_suppression AS kept
      ON kept.workspace_id = %(workspace)s AND kept.address_hash = s.row_hash
     AND kept.list_id IS NULL
    WHERE s.contact_id = ANY (%(contacts)s::bigint[]) AND s.workspace_id = %(workspace)s
      AND NOT EXISTS (
          SELECT FROM contacts_contact AS other
          WHERE other.workspace_id = %(workspace)s AND other.deleted_at IS NULL
            AND lower(other.address) COLLATE "C" = lower(c.address) COLLATE "C"
      )
    ORDER BY c.id
    FOR NO KEY UPDATE OF c
), line AS (
    UPDATE contacts_contact AS c SET
        deleted_at = NULL, updated_at = statement_timestamp(),
        external_id = CASE WHEN NOT back.is_id_taken THEN c.external_id END,
        state = CASE
            WHEN array_position(%(priority)s::text[], back.told)
                 > array_position(%(priority)s::text[], c.state)
            THEN back.told ELSE c.state
        END
    FROM back WHERE c.id = back.id
    RETURNING c.id, back.before, c.state AS after
), noted AS (
    UPDATE contacts_supabasesubscriber AS s SET gone_at = NULL
    FROM line WHERE s.contact_id = line.id
), event AS (
    INSERT INTO contacts_consentevent (
        workspace_id, contact_id, action, before, after, source, actor, at, detail
    )
    SELECT %(workspace)s, id, 'imported', before, after, %(source)s, %(actor)s, %(now)s,
           'its row is there again'
    FROM line
)
SELECT id FROM line
"""
_LEFT_MEANWHILE: LiteralString = """
SELECT c.address, kept.list_id, kept.reason
FROM contacts_contact AS c
JOIN contacts_subscription AS s ON s.contact_id = c.id
JOIN contacts_suppression AS kept
  ON kept.workspace_id = c.workspace_id AND kept.list_id = s.list_id
 AND kept.address_hash = contacts_fingerprint((SELECT salt FROM contacts_salt), c.address)
WHERE c.id = ANY (%(contacts)s::bigint[]) AND s.state IN ('pending', 'active', 'paused')
"""


def bring_back(
    workspace_id: int, contact_ids: Sequence[int], *, origin: Origin, now: datetime
) -> int:
    """Undoes the deletion of contacts whose rows are there again; says of how many.

    They stand as they did, or worse: who left or bounced since has. The caller has taken the lock
    of those who leave.
    """
    params: dict[str, object] = {
        "workspace": workspace_id,
        "contacts": list(contact_ids),
        "priority": [state.value for state in ContactState],
        "source": origin.source,
        "actor": origin.actor,
        "now": now,
    }
    back = [contact_id for (contact_id,) in sql.rows(_BRING_BACK, params)]
    subjects = [f"contact {contact_id}" for contact_id in back]
    trail.note_all(workspace_id, actor=origin.actor, action="contact.restored", subjects=subjects)
    for address, list_id, word in sql.rows(_LEFT_MEANWHILE, {"contacts": back}):
        reason = SuppressionReason(word)
        step = Step(consent.ACTIONS[reason], origin, now)
        ending.end(workspace_id, address=address, list_id=list_id, reason=reason, step=step)
    return len(back)
