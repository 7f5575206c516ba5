"""One decision about many contacts: in one transaction with its audit entry, or not at all."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import LiteralString

from django.db import transaction
from psycopg import sql as pg

from postledger.accounts import trail
from postledger.contacts import audience, consent, lists, queries, sql, suppressions
from postledger.contacts.actions import apply_feedback
from postledger.contacts.consent import Origin
from postledger.contacts.filters.expressions import Filter
from postledger.contacts.states import SuppressionReason
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

# So many take about two seconds, in which others who change a consent of the workspace wait.
MOST = apply_feedback.MOST


class TooManyContactsError(RefusedError):
    code = "too_many_contacts"


@dataclass(frozen=True, slots=True)
class BulkResult:
    """How many contacts changed, and how many did not, by the reason."""

    changed: int
    unchanged: Mapping[str, int]


_CHOOSE: LiteralString = """
SELECT contact.id FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL AND {condition}
LIMIT %(limit)s::bigint
"""


def choose_contacts(
    workspace_id: int, wanted: Filter, *, patience: timedelta = audience.PATIENCE
) -> list[int]:
    """The contacts that a filter selects; refuses more than one decision can be about."""
    query = audience.compile_query(_CHOOSE, workspace_id, wanted, {"limit": MOST + 1})
    with audience.limited_time(patience):
        chosen = [contact_id for (contact_id,) in sql.rows(query.sql, query.params)]
    if len(chosen) > MOST:
        raise TooManyContactsError(
            say(
                "This is possible for at most %(most)s contacts at once. Narrow the search.",
                most=MOST,
            )
        )
    return chosen


# Contacts are locked first and by address, as an import does it. Those that are kept back, and
# those with a subscription of any state, are left alone. Of two suppressions the one of all mail
# counts: NULL is the largest list. The look-ups stay look-ups (OFFSET 0).
_ADD: LiteralString = """
WITH chosen AS MATERIALIZED (
    SELECT id, address, state, is_unconfirmed FROM contacts_contact
    WHERE id = ANY(%(contacts)s::bigint[]) AND workspace_id = %(workspace)s AND deleted_at IS NULL
    ORDER BY lower(address) COLLATE "C"
    FOR NO KEY UPDATE
), standing AS MATERIALIZED (
    SELECT chosen.id, chosen.is_unconfirmed, coalesce(
        CASE WHEN chosen.state <> 'active' THEN chosen.state END,
        suppression.reason, subscription.state
    ) AS kept_back
    FROM chosen
    LEFT JOIN LATERAL (
        SELECT reason FROM contacts_suppression
        WHERE workspace_id = %(workspace)s
          AND address_hash = (SELECT contacts_fingerprint(%(hash_key)s::bytea, chosen.address))
          AND (list_id IS NULL OR list_id = %(list)s)
        ORDER BY list_id DESC LIMIT 1
    ) AS suppression ON true
    LEFT JOIN LATERAL (
        SELECT state FROM contacts_subscription
        WHERE contact_id = chosen.id AND list_id = %(list)s
        OFFSET 0
    ) AS subscription ON true
), confirmed AS (
    UPDATE contacts_contact SET is_unconfirmed = false, updated_at = statement_timestamp()
    WHERE id IN (SELECT id FROM standing WHERE is_unconfirmed AND kept_back IS NULL)
), added AS (
    INSERT INTO contacts_subscription (contact_id, list_id, state, created_at, changed_at)
    SELECT id, %(list)s, 'active', %(at)s, %(at)s FROM standing WHERE kept_back IS NULL ORDER BY id
    ON CONFLICT (contact_id, list_id) DO NOTHING
    RETURNING contact_id
), event AS (
    INSERT INTO contacts_consentevent (
        workspace_id, contact_id, list_id, action, after, source, actor, text_version, ip, at
    )
    SELECT %(workspace)s, contact_id, %(list)s, 'subscribed', 'active', %(source)s, %(actor)s,
           %(text_version)s, %(ip)s::inet, %(at)s
    FROM added
)
SELECT kept_back, count(*) FROM standing WHERE kept_back IS NOT NULL GROUP BY kept_back
UNION ALL
SELECT '', count(*) FROM added
"""


def add_to_list(
    workspace_id: int, contact_ids: Sequence[int], *, list_key: str, origin: Origin, now: datetime
) -> BulkResult:
    """Subscribes contacts who are known to have agreed; the origin says how.

    Nobody comes back by it: who left, bounced, complained or is suppressed stays so, as does who
    has not confirmed yet.
    """
    with transaction.atomic():
        sql.share_consent_lock(workspace_id)
        list_id = lists.get_active_id(workspace_id, list_key)
        params = _make_params(workspace_id, contact_ids, list_id, origin, now)
        counts: Counter[str] = Counter(dict(sql.rows(_ADD, params)))
        added = counts.pop("")
        _note(workspace_id, "contacts.subscribed", f"list {list_key}", added, origin)
    return BulkResult(added, counts)


_REMOVE = pg.SQL("""
WITH old AS MATERIALIZED (
    SELECT s.id, s.contact_id, s.state AS before, c.address,
           contacts_fingerprint(%(hash_key)s::bytea, c.address) AS hash
    FROM contacts_contact AS c
    JOIN contacts_subscription AS s ON s.contact_id = c.id AND s.list_id = %(list)s
    WHERE c.id = ANY(%(contacts)s::bigint[]) AND c.workspace_id = %(workspace)s
      AND c.deleted_at IS NULL AND s.state IN ('pending', 'active', 'paused')
    FOR NO KEY UPDATE OF s
), ended AS (
    UPDATE contacts_subscription AS s SET state = 'unsubscribed', changed_at = %(at)s
    FROM old WHERE s.id = old.id
), suppressed AS (
    INSERT INTO contacts_suppression AS s (
        workspace_id, address, address_hash, list_id, reason, has_left
    )
    SELECT %(workspace)s, address, hash, %(list)s, 'unsubscribed', true FROM old
    {keep_strongest}
), event AS (
    INSERT INTO contacts_consentevent (
        workspace_id, contact_id, list_id, action, before, after, source, actor, text_version, ip,
        at
    )
    SELECT %(workspace)s, contact_id, %(list)s, 'unsubscribed', before, 'unsubscribed', %(source)s,
           %(actor)s, %(text_version)s, %(ip)s::inet, %(at)s
    FROM old
)
SELECT count(*) FROM old
""").format(keep_strongest=suppressions.KEEP_STRONGEST)


def remove_from_list(
    workspace_id: int, contact_ids: Sequence[int], *, list_key: str, origin: Origin, now: datetime
) -> BulkResult:
    """Unsubscribes contacts from a list, as each of them could do it."""
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        list_id = lists.get_active_id(workspace_id, list_key)
        params = _make_params(workspace_id, contact_ids, list_id, origin, now)
        [(removed,)] = sql.rows(_REMOVE, params)
        _note(workspace_id, "contacts.unsubscribed", f"list {list_key}", removed, origin)
    return BulkResult(removed, _count_others("not_on_list", len(contact_ids) - removed))


def suppress(
    workspace_id: int, contact_ids: Sequence[int], *, reason: str, origin: Origin
) -> BulkResult:
    """Suppresses the addresses of contacts for all mail; each history keeps the reason."""
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        addresses = queries.find_addresses(workspace_id, contact_ids)
        reports = [
            consent.suppression_report(address, reason=SuppressionReason.BY_HAND)
            for address in addresses.values()
        ]
        changes = apply_feedback.apply_reports(workspace_id, reports, origin=origin, detail=reason)
        _note(workspace_id, "contacts.suppressed", "contacts", len(changes), origin)
    others = _count_others("suppressed_already", len(contact_ids) - len(changes))
    return BulkResult(len(changes), others)


def _make_params(
    workspace_id: int, contact_ids: Sequence[int], list_id: int, origin: Origin, now: datetime
) -> dict[str, object]:
    return {
        "workspace": workspace_id,
        "contacts": list(contact_ids),
        "list": list_id,
        "at": now,
        **asdict(origin),
    }


def _count_others(reason: str, number: int) -> dict[str, int]:
    return {reason: number} if number else {}


def _note(
    workspace_id: int, action: trail.Action, subject: str, number: int, origin: Origin
) -> None:
    if number:
        data: dict[str, trail.Fact] = {"contacts": number}
        trail.note(workspace_id, actor=origin.actor, action=action, subject=subject, data=data)
