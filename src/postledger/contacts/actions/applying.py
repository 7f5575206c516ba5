"""Applies what others tell us of addresses: feedback, imports, syncs, and people who leave."""

from collections.abc import Sequence

from django.db import transaction

from postledger.contacts import locks, sql
from postledger.contacts.consent import Applied, Incoming, Origin
from postledger.contacts.states import ContactState, SuppressionReason
from postledger.providers import addresses
from postledger.providers.addresses import InvalidAddressError

MOST = 10_000

# The rule of priority, for many addresses at once. Of an address that is told twice the strongest
# word counts. Whether a row changes is decided by the version that was locked (`old`): the
# statement's own snapshot may be older, and a condition on it would pass over the row.
# LIMIT says what the planner does not know of a partial index, that it is unique: without it, a
# thousand addresses of a million were looked for by reading all, in 3 s instead of 0.2 s.
_APPLY = """
WITH told AS MATERIALIZED (
    SELECT DISTINCT ON (key) *
    FROM (
        SELECT lower(address) COLLATE "C" AS key,
               contacts_fingerprint((SELECT salt FROM contacts_salt), address) AS hash,
               coalesce(told_at, statement_timestamp()) AS at, given.*
        FROM unnest(
            %(addresses)s::text[], %(incoming)s::text[], %(reasons)s::text[], %(actions)s::text[],
            %(types)s::text[], %(subtypes)s::text[], %(times)s::timestamptz[]
        ) WITH ORDINALITY AS given (
            address, incoming, reason, action, bounce_type, bounce_subtype, told_at, place
        )
        WHERE address IS NOT NULL
    ) AS given
    ORDER BY key, array_position(%(priority)s::text[], incoming) DESC NULLS LAST, at DESC, place
), old AS MATERIALIZED (
    SELECT told.*, c.id, c.state AS before, c.bounce_type AS old_type,
           c.bounce_subtype AS old_subtype
    FROM told
    CROSS JOIN LATERAL (
        SELECT id FROM contacts_contact
        WHERE workspace_id = %(workspace)s AND lower(address) COLLATE "C" = told.key
          AND deleted_at IS NULL
        LIMIT 1
    ) AS found
    JOIN contacts_contact AS c ON c.id = found.id
    ORDER BY c.id
    FOR NO KEY UPDATE OF c
), new AS (
    SELECT *, CASE WHEN applies THEN incoming ELSE before END AS after,
           (applies OR (incoming IS NULL AND before <> 'bounced')) AND bounce_type IS NOT NULL
           AND (bounce_type, bounce_subtype) IS DISTINCT FROM (old_type, old_subtype) AS has_bounce
    FROM (
        SELECT *, coalesce(
            array_position(%(priority)s::text[], incoming)
            >= array_position(%(priority)s::text[], before), false
        ) AS applies
        FROM old
    ) AS old
), line AS (
    UPDATE contacts_contact AS c SET
        state = new.after,
        bounce_type = CASE WHEN new.has_bounce THEN new.bounce_type ELSE c.bounce_type END,
        bounce_subtype = CASE WHEN new.has_bounce THEN new.bounce_subtype
                              ELSE c.bounce_subtype END,
        state_changed_at = CASE WHEN new.applies THEN greatest(c.state_changed_at, new.at)
                                ELSE c.state_changed_at END,
        updated_at = statement_timestamp()
    FROM new
    WHERE c.id = new.id AND (new.before <> new.after OR new.has_bounce)
), kept AS (
    INSERT INTO contacts_suppression AS s (workspace_id, address, reason, has_left)
    SELECT %(workspace)s, told.address, told.reason, told.reason = 'unsubscribed'
    FROM told WHERE told.reason IS NOT NULL
    ORDER BY told.key
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
    RETURNING s.address_hash AS hash
), changed AS MATERIALIZED (
    SELECT told.place, new.id, new.before, new.after, told.hash, told.action, told.at,
           concat_ws('/', told.bounce_type, told.bounce_subtype) AS detail
    FROM told LEFT JOIN new ON new.place = told.place
    WHERE new.before <> new.after OR told.hash IN (SELECT hash FROM kept)
), event AS (
    INSERT INTO contacts_consentevent (
        workspace_id, contact_id, address_hash, action, before, after, source, actor,
        text_version, ip, detail, at
    )
    SELECT %(workspace)s, id, CASE WHEN id IS NULL THEN hash END, action, before, after,
           %(source)s, %(actor)s, %(text_version)s, %(ip)s::inet, detail, at
    FROM changed
)
SELECT place, id, before, after FROM changed ORDER BY place
"""


def apply_state(
    workspace_id: int, incoming: Sequence[Incoming], *, origin: Origin
) -> list[Applied]:
    """Applies each state whose priority is at least the current one; says what changed.

    Idempotent, in any order. An address that left or bounced is suppressed for all mail as well,
    with or without a contact: no later import revives it. Bounces that say nothing of the state
    leave their type and subtype behind, unless the contact has bounced for good. What is no
    address is passed over.
    """
    if len(incoming) > MOST:
        raise ValueError(f"at most {MOST} addresses can be told at once")
    canonical = [_canonical(one.address) for one in incoming]
    params: dict[str, object] = {
        "workspace": workspace_id,
        "addresses": canonical,
        "incoming": [one.state and one.state.value for one in incoming],
        "reasons": [one.reason and one.reason.value for one in incoming],
        "actions": [one.action.value for one in incoming],
        "types": [one.bounce_type for one in incoming],
        "subtypes": [one.bounce_subtype for one in incoming],
        "times": [one.at for one in incoming],
        "priority": [state.value for state in ContactState],
        "strength": [reason.value for reason in SuppressionReason],
        **facts(origin),
    }
    with transaction.atomic():
        locks.leaving(workspace_id)
        found = sql.rows(_APPLY, params)
    return [
        Applied(
            incoming[place - 1].address,
            contact_id,
            before and ContactState(before),
            after and ContactState(after),
        )
        for place, contact_id, before, after in found
    ]


def _canonical(address: str) -> str | None:
    try:
        return addresses.canonical(address)
    except InvalidAddressError:
        return None


def facts(origin: Origin) -> dict[str, object]:
    """An origin as the statements that write events take it."""
    return {
        "source": origin.source,
        "actor": origin.actor,
        "text_version": origin.text_version,
        "ip": origin.ip,
    }
