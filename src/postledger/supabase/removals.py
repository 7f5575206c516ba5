"""Which pass saw each subscriber last: deletes contacts of missing rows, and restores them."""

from collections.abc import Sequence
from datetime import datetime
from typing import LiteralString

from django.db import transaction
from psycopg import sql as pg

from postledger.accounts import trail
from postledger.contacts import sql, suppressions
from postledger.contacts.actions import suppression
from postledger.contacts.consent import Origin
from postledger.contacts.states import ContactState
from postledger.supabase.models import Subscriber

_AT_ONCE = 1_000

_MARK_SEEN: LiteralString = """
UPDATE supabase_subscriber SET seen_in = (
    SELECT pass_count FROM supabase_sync WHERE workspace_id = %(workspace)s
)
WHERE workspace_id = %(workspace)s AND row_hash = ANY (ARRAY(
    SELECT contacts_fingerprint(%(hash_key)s::bytea, address)
    FROM unnest(%(addresses)s::text[]) AS given (address)
))
"""


def mark_seen(workspace_id: int, addresses: Sequence[str]) -> None:
    """Records that this pass saw the rows of these addresses."""
    sql.execute(_MARK_SEEN, {"workspace": workspace_id, "addresses": list(addresses)})


def erase_origins(contact_ids: Sequence[int]) -> None:
    """Erases which rows these contacts came from, because their person is erased."""
    Subscriber.objects.filter(contact_id__in=contact_ids).delete()


# A contact that was deleted or got another address here is no longer the row's.
_FORGET: LiteralString = """
DELETE FROM supabase_subscriber AS s
USING supabase_sync AS sync, contacts_contact AS c
WHERE s.workspace_id = %(workspace)s AND sync.workspace_id = s.workspace_id
  AND s.gone_at IS NULL AND s.seen_in < sync.pass_count AND c.id = s.contact_id
  AND (
      c.deleted_at IS NOT NULL
      OR s.row_hash <> contacts_fingerprint(%(hash_key)s::bytea, c.address)
  )
"""
_COUNT: LiteralString = """
SELECT count(*), count(*) FILTER (WHERE s.seen_in < sync.pass_count)
FROM supabase_subscriber AS s JOIN supabase_sync AS sync USING (workspace_id)
WHERE s.workspace_id = %(workspace)s AND s.gone_at IS NULL
"""


def count_missing(workspace_id: int) -> tuple[int, int]:
    """How many rows are known, and how many of them a completed pass did not see."""
    sql.execute(_FORGET, {"workspace": workspace_id})
    [(known, missing)] = sql.rows(_COUNT, {"workspace": workspace_id})
    return known, missing


_DELETE: LiteralString = """
WITH gone AS MATERIALIZED (
    SELECT s.contact_id, s.row_hash
    FROM supabase_subscriber AS s JOIN supabase_sync AS sync USING (workspace_id)
    WHERE s.workspace_id = %(workspace)s AND s.gone_at IS NULL AND s.seen_in < sync.pass_count
    ORDER BY s.contact_id LIMIT %(limit)s
), deleted AS (
    UPDATE contacts_contact AS c SET deleted_at = %(now)s
    FROM gone
    WHERE c.id = gone.contact_id AND c.deleted_at IS NULL
      AND gone.row_hash = contacts_fingerprint(%(hash_key)s::bytea, c.address)
    RETURNING c.id
), noted AS (
    UPDATE supabase_subscriber AS s SET gone_at = %(now)s
    FROM gone WHERE s.contact_id = gone.contact_id
)
SELECT deleted.id FROM gone LEFT JOIN deleted ON deleted.id = gone.contact_id
"""
_COUNT_DELETED: LiteralString = """
UPDATE supabase_sync SET gone_count = gone_count + %(gone)s
WHERE workspace_id = %(workspace)s
"""


def delete_missing(workspace_id: int, *, actor: str, now: datetime) -> None:
    """Deletes the contacts whose rows a completed pass did not see; the trail records each."""
    params = {"workspace": workspace_id, "now": now, "limit": _AT_ONCE}
    while True:
        with transaction.atomic():
            sql.take_consent_lock(workspace_id)  # an import changes contacts in another order
            rows = sql.rows(_DELETE, params)
            gone = [contact_id for (contact_id,) in rows if contact_id is not None]
            subjects = [f"contact {contact_id}" for contact_id in gone]
            trail.note_all(workspace_id, actor=actor, action="contact.deleted", subjects=subjects)
            sql.execute(_COUNT_DELETED, {"workspace": workspace_id, "gone": len(gone)})
        if len(rows) < _AT_ONCE:
            return


# A report about a deleted contact only suppressed the address. It changes the state now, as for a
# new contact. An external id that another contact has by now stays with that one.
_RESTORE = pg.SQL("""
WITH back AS MATERIALIZED (
    SELECT c.id, c.state AS before,
           {implied_state} AS implied,
           EXISTS (
               SELECT FROM contacts_contact AS other
               WHERE other.workspace_id = %(workspace)s AND other.deleted_at IS NULL
                 AND other.external_id = c.external_id
           ) AS is_id_taken
    FROM supabase_subscriber AS s
    JOIN contacts_contact AS c ON c.id = s.contact_id AND c.deleted_at = s.gone_at
    LEFT JOIN contacts_suppression AS suppression
      ON suppression.workspace_id = %(workspace)s AND suppression.address_hash = s.row_hash
     AND suppression.list_id IS NULL
    WHERE s.contact_id = ANY (%(contacts)s::bigint[]) AND s.workspace_id = %(workspace)s
      AND NOT EXISTS (
          SELECT FROM contacts_contact AS other
          WHERE other.workspace_id = %(workspace)s AND other.deleted_at IS NULL
            AND lower(other.address) COLLATE "C" = lower(c.address) COLLATE "C"
      )
    ORDER BY c.id
    FOR NO KEY UPDATE OF c
), restored AS (
    UPDATE contacts_contact AS c SET
        deleted_at = NULL, updated_at = statement_timestamp(),
        external_id = CASE WHEN NOT back.is_id_taken THEN c.external_id END,
        state = CASE
            WHEN array_position(%(priority)s::text[], back.implied)
                 > array_position(%(priority)s::text[], c.state)
            THEN back.implied ELSE c.state
        END
    FROM back WHERE c.id = back.id
    RETURNING c.id, back.before, c.state AS after
), noted AS (
    UPDATE supabase_subscriber AS s SET gone_at = NULL
    FROM restored WHERE s.contact_id = restored.id
), event AS (
    INSERT INTO contacts_consentevent (
        workspace_id, contact_id, action, before, after, source, actor, at, detail
    )
    SELECT %(workspace)s, id, 'imported', before, after, %(source)s, %(actor)s, %(now)s,
           'its row is there again'
    FROM restored
)
SELECT id FROM restored
""").format(implied_state=suppressions.IMPLIED_STATE)


def restore_contacts(
    workspace_id: int, contact_ids: Sequence[int], *, origin: Origin, now: datetime
) -> int:
    """Undoes the deletion of contacts whose rows exist again; returns how many.

    They have the state of before, or the stronger one that their address got meanwhile. The caller
    has taken the consent lock.
    """
    if not contact_ids:
        return 0
    params = {
        "workspace": workspace_id,
        "contacts": list(contact_ids),
        "priority": [state.value for state in ContactState],
        "source": origin.source,
        "actor": origin.actor,
        "now": now,
    }
    restored = [contact_id for (contact_id,) in sql.rows(_RESTORE, params)]
    subjects = [f"contact {contact_id}" for contact_id in restored]
    trail.note_all(workspace_id, actor=origin.actor, action="contact.restored", subjects=subjects)
    suppression.end_suppressed_subscriptions(workspace_id, restored, origin=origin, now=now)
    return len(restored)
