"""Whether the recipients of a window may be mailed: what the gates read before each send."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import LiteralString

from psycopg import sql as pg

from postledger.contacts import reach, sql
from postledger.contacts.states import ContactState, Purpose, SubscriptionState


@dataclass(frozen=True, slots=True)
class Standings:
    """Suppressions, contacts and subscriptions of a window's recipients, and the mail's purpose."""

    suppressed: Mapping[str, str]  # lower-case address → reason, for all mail
    contacts: Mapping[int, str]  # id → lower-case address; the workspace's own, not deleted
    left: Mapping[str, str] = field(default_factory=dict)  # as `suppressed`, for the list alone
    # Of contacts that are not active, and of those that have a subscription to the list.
    states: Mapping[int, ContactState] = field(default_factory=dict)
    subscriptions: Mapping[int, SubscriptionState] = field(default_factory=dict)
    # Of mail to all contacts: why it does not go to some of them (`reach`).
    unreached: Mapping[int, str] = field(default_factory=dict)
    purpose: Purpose = Purpose.NEWS


# Served by contacts_suppression_once, the contacts' primary key and contacts_subscription_once,
# one look-up for each item. OFFSET 0 keeps them look-ups: with a table of some hundred thousand
# rows the planner reads all of it instead, which took 100 ms where this takes 12.
_STANDINGS = pg.SQL("""
WITH given AS MATERIALIZED (
    SELECT contacts_fingerprint(%(hash_key)s::bytea, address) AS hash, number
    FROM unnest(%(addresses)s::text[]) WITH ORDINALITY AS a (address, number)
), named AS MATERIALIZED (
    SELECT id FROM unnest(%(contacts)s::bigint[]) AS c (id)
), list AS MATERIALIZED (
    SELECT id FROM contacts_list WHERE workspace_id = %(workspace)s AND key = %(list)s
)
SELECT given.number, NULL::bigint, suppression.reason, (suppression.list_id IS NOT NULL)::text, NULL
FROM given CROSS JOIN LATERAL (
    SELECT reason, list_id FROM contacts_suppression
    WHERE workspace_id = %(workspace)s AND address_hash = given.hash
      AND (list_id IS NULL OR list_id = (SELECT id FROM list))
    OFFSET 0
) AS suppression
UNION ALL
SELECT NULL, contact.id, contact.address, contact.state, {of_lists}
FROM named CROSS JOIN LATERAL (
    SELECT id, address, former_addresses, state FROM contacts_contact
    WHERE id = named.id AND workspace_id = %(workspace)s AND deleted_at IS NULL
    OFFSET 0
) AS contact {lists}
""")
_SUBSCRIPTION: LiteralString = """
LEFT JOIN LATERAL (
    SELECT CASE WHEN state = 'active' AND %(is_snooze_pause)s
                 AND snooze_until > statement_timestamp()
           THEN 'paused' ELSE state END AS state
    FROM contacts_subscription
    WHERE contact_id = named.id AND list_id = (SELECT id FROM list)
    OFFSET 0
) AS subscription ON true
"""
_OF_LIST = _STANDINGS.format(of_lists=pg.SQL("subscription.state"), lists=pg.SQL(_SUBSCRIPTION))
_OF_ALL_CONTACTS = _STANDINGS.format(
    of_lists=pg.SQL("reach.kept_back"), lists=reach.join_reach(pg.SQL("statement_timestamp()"))
)


def read_standings(  # noqa: PLR0913  each part by its name
    workspace_id: int,
    addresses: Sequence[str],
    contact_ids: Sequence[int],
    *,
    list_key: str | None = None,
    is_to_all: bool = False,
    purpose: Purpose = Purpose.NEWS,
    is_snooze_pause: bool = True,
) -> Standings:
    """The standings of up to 1,000 recipients, towards all mail and towards one list or, with
    `is_to_all`, towards mail to all contacts.

    PostgreSQL alone decides whether two addresses are the same, as its constraints do, so each
    result has the address that was given. Addresses are given as `providers.addresses.canonical`
    writes them, which is how they are stored. With `is_snooze_pause` who snoozes the list is told
    as paused.
    """
    params = {
        "workspace": workspace_id,
        "addresses": list(addresses),
        "contacts": list(contact_ids),
        "list": list_key,
        "is_snooze_pause": is_snooze_pause,
    }
    suppressed: dict[str, str] = {}
    left: dict[str, str] = {}
    contacts: dict[int, str] = {}
    states: dict[int, ContactState] = {}
    subscriptions: dict[int, SubscriptionState] = {}
    unreached: dict[int, str] = {}
    statement = _OF_ALL_CONTACTS if is_to_all else _OF_LIST
    for number, contact_id, text, flag_or_state, of_lists in sql.rows(statement, params):
        if number is not None:
            reasons = left if flag_or_state == "true" else suppressed
            reasons[addresses[number - 1].lower()] = text
            continue
        contacts[contact_id] = text.lower()
        if flag_or_state != ContactState.ACTIVE:
            states[contact_id] = ContactState(flag_or_state)
        if of_lists is not None and is_to_all:
            unreached[contact_id] = of_lists
        elif of_lists is not None:
            subscriptions[contact_id] = SubscriptionState(of_lists)
    return Standings(suppressed, contacts, left, states, subscriptions, unreached, purpose)
