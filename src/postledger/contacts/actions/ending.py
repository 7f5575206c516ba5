"""Ends one list's mail to an address, whether or not somebody is known by it."""

from postledger.contacts import consent, sql
from postledger.contacts.actions import applying
from postledger.contacts.actions.standing import Step
from postledger.contacts.states import SubscriptionState, SuppressionReason

_END = """
WITH given AS MATERIALIZED (
    SELECT contacts_fingerprint((SELECT salt FROM contacts_salt), %(address)s) AS hash,
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
), line AS (
    UPDATE contacts_subscription AS s SET state = %(after)s, changed_at = given.at
    FROM old, given
    WHERE s.id = old.id
      AND array_position(%(order)s::text[], %(after)s)
          > array_position(%(order)s::text[], old.before)
    RETURNING old.before
), forgotten AS MATERIALIZED (
    SELECT FROM given JOIN contacts_suppression AS s ON s.address_hash = given.hash
    WHERE s.workspace_id = %(workspace)s AND s.address IS NULL
      AND NOT EXISTS (SELECT FROM contact)
), kept AS (
    INSERT INTO contacts_suppression AS s (
        workspace_id, address, address_hash, list_id, reason, has_left
    )
    SELECT %(workspace)s, CASE WHEN NOT EXISTS (SELECT FROM forgotten) THEN %(address)s END,
           given.hash, %(list)s, %(reason)s, %(reason)s = 'unsubscribed'
    FROM given
    ON CONFLICT (workspace_id, address_hash, list_id) DO UPDATE SET
        reason = CASE
            WHEN array_position(%(strength)s::text[], excluded.reason)
                 > array_position(%(strength)s::text[], s.reason)
            THEN excluded.reason ELSE s.reason
        END,
        has_left = s.has_left OR excluded.has_left
    WHERE excluded.has_left AND NOT s.has_left
       OR array_position(%(strength)s::text[], excluded.reason)
          > array_position(%(strength)s::text[], s.reason)
    RETURNING 1
), changed AS MATERIALIZED (
    SELECT (SELECT before FROM line) AS before
    WHERE EXISTS (SELECT FROM line) OR EXISTS (SELECT FROM kept)
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
"""


def end(
    workspace_id: int, *, address: str, list_id: int, reason: SuppressionReason, step: Step
) -> bool:
    """Ends the subscription and suppresses the address for the list; False if both were so.

    Without a contact the address is suppressed all the same, so that no import revives it; that
    of somebody who was forgotten by its hash alone, however old the link is that they use. The
    caller has taken the lock of those who leave, and gives a canonical address.
    """
    is_own_wish = reason is SuppressionReason.UNSUBSCRIBED
    after = SubscriptionState.UNSUBSCRIBED if is_own_wish else SubscriptionState.SUPPRESSED
    params: dict[str, object] = {
        "workspace": workspace_id,
        "address": address,
        "list": list_id,
        "reason": reason.value,
        "after": after.value,
        "action": consent.ACTIONS[reason].value,
        "order": [state.value for state in SubscriptionState],
        "strength": [one.value for one in SuppressionReason],
        "detail": step.detail,
        "at": step.at,
        **applying.facts(step.origin),
    }
    [(changed,)] = sql.rows(_END, params)
    return bool(changed)
