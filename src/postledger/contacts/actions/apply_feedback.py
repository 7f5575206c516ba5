"""Applies reports about addresses: feedback, imports, syncs and unsubscribes."""

from collections.abc import Sequence
from dataclasses import asdict

from django.db import transaction
from psycopg import sql as pg

from postledger.contacts import sql, suppressions
from postledger.contacts.consent import Origin, StateChange, StateReport
from postledger.contacts.states import ContactState
from postledger.providers import addresses
from postledger.providers.addresses import InvalidAddressError

MOST = 10_000

# The rule of priority, for many addresses at once. Of two reports about one address the stronger
# counts. Whether a row changes is decided by the version that was locked (`old`): the statement's
# own snapshot may be older, and a condition on it would pass over the row.
# LIMIT says what the planner does not know of a partial index, that it is unique: without it, a
# thousand addresses of a million were looked for by reading all, in 3 s instead of 0.2 s.
_APPLY = pg.SQL("""
WITH report AS MATERIALIZED (
    SELECT DISTINCT ON (key) *
    FROM (
        SELECT lower(address) COLLATE "C" AS key,
               contacts_fingerprint(%(hash_key)s::bytea, address) AS hash,
               coalesce(reported_at, statement_timestamp()) AS at, given.*
        FROM unnest(
            %(addresses)s::text[], %(states)s::text[], %(reasons)s::text[], %(actions)s::text[],
            %(types)s::text[], %(subtypes)s::text[], %(times)s::timestamptz[]
        ) WITH ORDINALITY AS given (
            address, state, reason, action, bounce_type, bounce_subtype, reported_at, number
        )
        WHERE address IS NOT NULL
    ) AS given
    ORDER BY key, array_position(%(priority)s::text[], state) DESC NULLS LAST, at DESC, number
), old AS MATERIALIZED (
    SELECT report.*, c.id, c.state AS before, c.bounce_type AS old_type,
           c.bounce_subtype AS old_subtype
    FROM report
    CROSS JOIN LATERAL (
        SELECT id FROM contacts_contact
        WHERE workspace_id = %(workspace)s AND lower(address) COLLATE "C" = report.key
          AND deleted_at IS NULL
        LIMIT 1
    ) AS matching
    JOIN contacts_contact AS c ON c.id = matching.id
    ORDER BY c.id
    FOR NO KEY UPDATE OF c
), new AS (
    SELECT *, CASE WHEN applies THEN state ELSE before END AS after,
           (applies OR (state IS NULL AND before <> 'bounced')) AND bounce_type IS NOT NULL
           AND (bounce_type, bounce_subtype) IS DISTINCT FROM (old_type, old_subtype) AS has_bounce
    FROM (
        SELECT *, coalesce(
            array_position(%(priority)s::text[], state)
            >= array_position(%(priority)s::text[], before), false
        ) AS applies
        FROM old
    ) AS old
), updated AS (
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
), suppressed AS (
    INSERT INTO contacts_suppression AS s (workspace_id, address, address_hash, reason, has_left)
    SELECT %(workspace)s, report.address, report.hash, report.reason,
           report.reason = 'unsubscribed'
    FROM report WHERE report.reason IS NOT NULL
    ORDER BY report.key
    {keep_strongest}
    RETURNING s.address_hash AS hash
), changed AS MATERIALIZED (
    SELECT report.number, new.id, new.before, new.after, report.hash, report.action, report.at,
           concat_ws('/', report.bounce_type, report.bounce_subtype) AS detail
    FROM report LEFT JOIN new ON new.number = report.number
    WHERE new.before <> new.after OR report.hash IN (SELECT hash FROM suppressed)
), event AS (
    INSERT INTO contacts_consentevent (
        workspace_id, contact_id, address_hash, action, before, after, source, actor,
        text_version, ip, detail, at
    )
    SELECT %(workspace)s, id, CASE WHEN id IS NULL THEN hash END, action, before, after,
           %(source)s, %(actor)s, %(text_version)s, %(ip)s::inet, detail, at
    FROM changed
)
SELECT number, id, before, after FROM changed ORDER BY number
""").format(keep_strongest=suppressions.KEEP_STRONGEST)


def apply_reports(
    workspace_id: int, reports: Sequence[StateReport], *, origin: Origin
) -> list[StateChange]:
    """Applies each state whose priority is at least the current one; returns what changed.

    Idempotent, in any order. An address that unsubscribed or bounced is suppressed for all mail as
    well, with or without a contact, so that no later import revives it. A bounce that does not
    change the state is noted by type and subtype, unless the contact has bounced permanently.
    Invalid addresses are skipped.
    """
    if len(reports) > MOST:
        raise ValueError(f"at most {MOST} reports can be applied at once")
    params = {
        "workspace": workspace_id,
        "addresses": [_canonical(report.address) for report in reports],
        "states": [report.state and report.state.value for report in reports],
        "reasons": [report.reason and report.reason.value for report in reports],
        "actions": [report.action.value for report in reports],
        "types": [report.bounce_type for report in reports],
        "subtypes": [report.bounce_subtype for report in reports],
        "times": [report.at for report in reports],
        "priority": [state.value for state in ContactState],
        **asdict(origin),
    }
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        changes = sql.rows(_APPLY, params)
    return [
        StateChange(
            reports[number - 1].address,
            contact_id,
            before and ContactState(before),
            after and ContactState(after),
        )
        for number, contact_id, before, after in changes
    ]


def _canonical(address: str) -> str | None:
    try:
        return addresses.canonical(address)
    except InvalidAddressError:
        return None
