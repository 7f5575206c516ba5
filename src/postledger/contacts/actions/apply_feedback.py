"""Applies reports about addresses: feedback, imports, syncs and unsubscribes."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from django.db import transaction
from psycopg import sql as pg

from postledger.contacts import consent, queries, sql, suppressions
from postledger.contacts.consent import Origin, StateChange, StateReport
from postledger.contacts.states import ContactState, SuppressionReason
from postledger.providers import addresses
from postledger.providers.addresses import InvalidAddressError

MOST = 10_000

# The rule of priority, for many addresses at once. Of two reports about one address the stronger
# counts, and of equal ones the earlier; of two bounces the permanent one, then the newer, whatever
# else is reported: any order and any division into calls ends the same.
# Whether a row changes is decided by the version that was locked (`old`): the statement's
# own snapshot may be older, and a condition on it would pass over the row.
# LIMIT says what the planner does not know of a partial index, that it is unique: without it, a
# thousand addresses of a million were looked for by reading all, in 3 s instead of 0.2 s.
_APPLY = pg.SQL("""
WITH given AS MATERIALIZED (
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
), report AS MATERIALIZED (
    SELECT DISTINCT ON (key) *,
           first_value(reason) OVER (
               PARTITION BY key
               ORDER BY array_position(%(strength)s::text[], reason) DESC NULLS LAST
           ) AS strongest_reason,
           coalesce(
               bool_or(reason = 'unsubscribed') OVER (PARTITION BY key)
               OR bool_or(reason = 'bounced') OVER (PARTITION BY key)
                  AND bool_or(reason = 'complained') OVER (PARTITION BY key), false
           ) AS has_left
    FROM given
    ORDER BY key, array_position(%(priority)s::text[], state) DESC NULLS LAST, at, number
), bounce AS MATERIALIZED (
    SELECT DISTINCT ON (key) key, bounce_type, coalesce(bounce_subtype, '') AS bounce_subtype, at,
           bounce_type = 'Permanent' AS is_permanent
    FROM given
    WHERE bounce_type IS NOT NULL
    ORDER BY key, is_permanent DESC, at DESC, bounce_type DESC, bounce_subtype DESC NULLS LAST
), old AS MATERIALIZED (
    SELECT report.key, report.number, report.state, report.at, c.id, c.state AS before,
           c.state_changed_at, bounce.bounce_type AS new_type,
           bounce.bounce_subtype AS new_subtype, bounce.at AS new_bounce_at,
           bounce.key IS NOT NULL AND (
               bounce.is_permanent, bounce.at, bounce.bounce_type, bounce.bounce_subtype
           ) > (
               coalesce(c.state = 'bounced' AND c.bounce_type = 'Permanent', false),
               coalesce(c.bounce_at, '-infinity'), coalesce(c.bounce_type, ''),
               coalesce(c.bounce_subtype, '')
           ) AS has_bounce
    FROM report
    LEFT JOIN bounce USING (key)
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
           applies AND (state <> before OR at < state_changed_at) AS is_timed
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
        bounce_type = CASE WHEN new.has_bounce THEN new.new_type ELSE c.bounce_type END,
        bounce_subtype = CASE WHEN new.has_bounce THEN new.new_subtype ELSE c.bounce_subtype END,
        bounce_at = CASE WHEN new.has_bounce THEN new.new_bounce_at ELSE c.bounce_at END,
        state_changed_at = CASE WHEN new.is_timed THEN new.at ELSE c.state_changed_at END,
        updated_at = statement_timestamp()
    FROM new
    WHERE c.id = new.id AND (new.is_timed OR new.has_bounce)
), suppressed AS (
    INSERT INTO contacts_suppression AS s (workspace_id, address, address_hash, reason, has_left)
    SELECT %(workspace)s, report.address, report.hash, report.strongest_reason, report.has_left
    FROM report WHERE report.strongest_reason IS NOT NULL
    ORDER BY report.key
    {keep_strongest}
    RETURNING s.address_hash AS hash
), changed AS MATERIALIZED (
    SELECT report.number, new.id, new.before, new.after, report.hash, report.action, report.at,
           concat_ws(
               '/', report.bounce_type, report.bounce_subtype, nullif(%(detail)s::text, '')
           ) AS detail
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
    workspace_id: int, reports: Sequence[StateReport], *, origin: Origin, detail: str = ""
) -> list[StateChange]:
    """Applies each state whose priority is at least the current one; returns what changed.

    Idempotent, in any order. An address that unsubscribed or bounced is suppressed for all mail as
    well, with or without a contact, so that no later import revives it. Of a contact's bounces the
    newest permanent one, else the newest, is noted by type, subtype and time.
    Invalid addresses are skipped. The history keeps `detail` with each change.

    Who unsubscribes or complains by a mail to a former address is unsubscribed at the present one.
    """
    if len(reports) > MOST:
        raise ValueError(f"at most {MOST} reports can be applied at once")
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        reports = [*reports, *_follow_wishes(workspace_id, reports)]
        changes = sql.rows(_APPLY, _make_params(workspace_id, reports, origin, detail))
    return [
        StateChange(
            reports[number - 1].address,
            contact_id,
            before and ContactState(before),
            after and ContactState(after),
        )
        for number, contact_id, before, after in changes
    ]


def _follow_wishes(workspace_id: int, reports: Sequence[StateReport]) -> list[StateReport]:
    """What is wished by mail to former addresses, of the addresses that the contacts have now.

    Nobody complained of mail to those: they still get a receipt.
    """
    wishes = [report for report in reports if report.action in consent.WISHES]
    known = {report.address: _canonical(report.address) for report in wishes}
    former = {address for address in known.values() if address}
    moved = queries.find_new_addresses(workspace_id, former) if former else {}
    return [
        replace(wish, address=address, reason=SuppressionReason.UNSUBSCRIBED)
        for wish in wishes
        for address in moved.get(known[wish.address] or "", ())
    ]


def _make_params(
    workspace_id: int, reports: Sequence[StateReport], origin: Origin, detail: str
) -> dict[str, object]:
    return {
        "workspace": workspace_id,
        "addresses": [_canonical(report.address) for report in reports],
        "states": [report.state and report.state.value for report in reports],
        "reasons": [report.reason and report.reason.value for report in reports],
        "actions": [report.action.value for report in reports],
        "types": [report.bounce_type for report in reports],
        "subtypes": [report.bounce_subtype for report in reports],
        "times": [report.at for report in reports],
        "priority": [state.value for state in ContactState],
        "strength": [reason.value for reason in SuppressionReason],
        "detail": detail,
        **asdict(origin),
    }


def _canonical(address: str) -> str | None:
    try:
        return addresses.canonical(address)
    except InvalidAddressError:
        return None
