"""Ends mail to an address, of one list or of all: by its owner's wish, or the workspace's."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import LiteralString

from django.db import transaction
from psycopg import sql as pg

from postledger.accounts import trail
from postledger.contacts import consent, lists, queries, sql, suppressions
from postledger.contacts.actions import apply_feedback
from postledger.contacts.consent import ConsentChange, Origin
from postledger.contacts.models import List
from postledger.contacts.states import SubscriptionState, SuppressionReason
from postledger.contacts.unsubscribe_links import UnsubscribeRequest
from postledger.observability import masking
from postledger.providers import addresses


def unsubscribe(
    workspace_id: int, *, request: UnsubscribeRequest, origin: Origin, now: datetime
) -> bool:
    """Does what an unsubscribe link says; False when nothing was left to end. Idempotent.

    A link that once was in a mail always works: a list that does not exist is created, and a key
    that no list can have stands for all mail.
    """
    address = addresses.canonical(request.email)
    reason = SuppressionReason.UNSUBSCRIBED
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        list_id = _list_id(workspace_id, request.list_key)
        if list_id is None:
            report = consent.suppression_report(address, reason=reason, at=now)
            return bool(apply_feedback.apply_reports(workspace_id, [report], origin=origin))
        change = ConsentChange(consent.ACTIONS[reason], origin, now)
        return suppress_for_list(
            workspace_id, address=address, list_id=list_id, reason=reason, change=change
        )


_CREATE_LIST = """
INSERT INTO contacts_list (workspace_id, key, name) VALUES (%(workspace)s, %(key)s, %(key)s)
ON CONFLICT DO NOTHING
"""


def _list_id(workspace_id: int, key: str) -> int | None:
    if not lists.is_key(key):
        return None
    sql.execute(_CREATE_LIST, {"workspace": workspace_id, "key": key})
    return List.objects.get(workspace_id=workspace_id, key=key).pk


def suppress(  # noqa: PLR0913  what a suppression is, each part by its name
    workspace_id: int,
    *,
    address: str,
    reason: SuppressionReason,
    actor: str,
    list_key: str | None = None,
    note: str = "",
    contact_id: int | None = None,
) -> bool:
    """Suppresses an address for one list or for all mail; False when it was so already.

    The strongest reason stays. For all mail, each reason but `by_hand` sets the contact's state.
    The history keeps the note. If a contact was meant, it must have the address at that moment;
    else nothing is suppressed: AddressChangedError.
    """
    canonical = addresses.canonical(address)
    origin = Origin("suppression", actor)
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        if contact_id is not None:
            queries.check_address(workspace_id, contact_id=contact_id, address=canonical)
        if list_key is None:
            report = consent.suppression_report(canonical, reason=reason)
            changes = apply_feedback.apply_reports(
                workspace_id, [report], origin=origin, detail=note
            )
            has_changed = bool(changes)
        else:
            has_changed = suppress_for_list(
                workspace_id,
                address=canonical,
                list_id=lists.get_active_id(workspace_id, list_key),
                reason=reason,
                change=ConsentChange(consent.ACTIONS[reason], origin, detail=note),
            )
        if has_changed:
            trail.note(
                workspace_id,
                actor=actor,
                action="address.suppressed",
                # Masked: an entry is never changed, and a person may ask to be erased.
                subject=masking.mask_text(canonical),
                data={"reason": reason.value} | ({"list": list_key} if list_key else {}),
            )
    return has_changed


_SUPPRESS_FOR_LIST = pg.SQL("""
WITH given AS MATERIALIZED (
    SELECT contacts_fingerprint(%(hash_key)s::bytea, %(address)s) AS hash,
           coalesce(%(at)s, statement_timestamp()) AS at
), contact AS MATERIALIZED (
    SELECT id FROM contacts_contact
    WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
      AND lower(address) COLLATE "C" = lower(%(address)s) COLLATE "C"
    LIMIT 1  -- there is one at most, which the planner does not know
), old AS MATERIALIZED (
    SELECT s.id, s.state AS before
    FROM contacts_subscription AS s JOIN contact ON contact.id = s.contact_id
    WHERE s.list_id = %(list)s
    FOR NO KEY UPDATE OF s
), ended AS (
    UPDATE contacts_subscription AS s SET state = %(after)s, changed_at = given.at
    FROM old, given
    WHERE s.id = old.id
      AND array_position(%(order)s::text[], %(after)s)
          > array_position(%(order)s::text[], old.before)
    RETURNING old.before
), erased AS MATERIALIZED (
    SELECT FROM given JOIN contacts_suppression AS s ON s.address_hash = given.hash
    WHERE s.workspace_id = %(workspace)s AND s.address IS NULL
      AND NOT EXISTS (SELECT FROM contact)
), suppressed AS (
    INSERT INTO contacts_suppression AS s (
        workspace_id, address, address_hash, list_id, reason, has_left
    )
    SELECT %(workspace)s, CASE WHEN NOT EXISTS (SELECT FROM erased) THEN %(address)s END,
           given.hash, %(list)s, %(reason)s, %(reason)s = 'unsubscribed'
    FROM given
    {keep_strongest}
    RETURNING 1
), changed AS MATERIALIZED (
    SELECT (SELECT before FROM ended) AS before
    WHERE EXISTS (SELECT FROM ended) OR EXISTS (SELECT FROM suppressed)
), event AS (
    INSERT INTO contacts_consentevent (
        workspace_id, contact_id, address_hash, list_id, action, before, after, source, actor,
        text_version, ip, detail, at
    )
    SELECT %(workspace)s, contact.id, CASE WHEN contact.id IS NULL THEN given.hash END, %(list)s,
           %(action)s, changed.before, CASE WHEN changed.before IS NOT NULL THEN %(after)s END,
           %(source)s, %(actor)s, %(text_version)s, %(ip)s::inet, %(detail)s, given.at
    FROM changed CROSS JOIN given LEFT JOIN contact ON true
)
SELECT count(*) FROM changed
""").format(keep_strongest=suppressions.KEEP_STRONGEST)


def suppress_for_list(
    workspace_id: int,
    *,
    address: str,
    list_id: int,
    reason: SuppressionReason,
    change: ConsentChange,
) -> bool:
    """Ends the subscription and suppresses the address for the list; False if both were so.

    Without a contact the address is suppressed all the same, so that no import revives it. An
    erased person's address is stored as a hash alone. A wish counts for a contact that has another
    address by now. The caller has taken the consent lock, and gives a canonical address.
    """
    known = [address]
    if change.action in consent.WISHES:
        known += queries.find_new_addresses(workspace_id, [address]).get(address, ())
    changed = [
        _suppress_for_list(workspace_id, one, list_id=list_id, reason=reason, change=change)
        for one in known
    ]
    return any(changed)


def _suppress_for_list(
    workspace_id: int,
    address: str,
    *,
    list_id: int,
    reason: SuppressionReason,
    change: ConsentChange,
) -> bool:
    is_own_wish = reason is SuppressionReason.UNSUBSCRIBED
    after = SubscriptionState.UNSUBSCRIBED if is_own_wish else SubscriptionState.SUPPRESSED
    params = {
        "workspace": workspace_id,
        "address": address,
        "list": list_id,
        "reason": reason.value,
        "after": after.value,
        "action": change.action.value,
        "order": [state.value for state in SubscriptionState],
        "detail": change.detail,
        "at": change.at,
        **asdict(change.origin),
    }
    [(changed,)] = sql.rows(_SUPPRESS_FOR_LIST, params)
    return bool(changed)


_SUPPRESSED_MEMBERSHIPS: LiteralString = """
SELECT c.address, suppression.list_id, suppression.reason
FROM contacts_contact AS c
JOIN contacts_subscription AS s ON s.contact_id = c.id
CROSS JOIN LATERAL (
    SELECT list_id, reason FROM contacts_suppression
    WHERE workspace_id = c.workspace_id AND list_id = s.list_id
      AND address_hash = (SELECT contacts_fingerprint(%(hash_key)s::bytea, c.address))
    OFFSET 0
) AS suppression
WHERE c.id = ANY (%(contacts)s::bigint[]) AND s.state IN ('pending', 'active', 'paused')
"""


def end_suppressed_subscriptions(
    workspace_id: int, contact_ids: Sequence[int], *, origin: Origin, now: datetime
) -> None:
    """Ends the subscriptions of contacts to the lists for which their addresses are suppressed.

    For contacts that got another address, or are there again. The caller has taken the consent
    lock.
    """
    for address, list_id, word in sql.rows(
        _SUPPRESSED_MEMBERSHIPS, {"contacts": list(contact_ids)}
    ):
        reason = SuppressionReason(word)
        suppress_for_list(
            workspace_id,
            address=address,
            list_id=list_id,
            reason=reason,
            change=ConsentChange(consent.ACTIONS[reason], origin, now),
        )
