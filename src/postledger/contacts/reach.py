"""Whether a campaign to all contacts reaches a contact, by the lists that it is or was on.

A contact is reached if it gets the mail of at least one list, or was never on one. It is left out
if it left every list that it was on, or if all lists that it has not left are paused or snoozed.
Topics do not count: their subscribers agreed to notifications. A request for a list does not count
either: anybody can make one for another's address, so it brings nobody back who left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from psycopg import sql as pg
from psycopg.sql import Composable, Composed

from postledger.contacts import sql

LEFT_EVERY_LIST = "left_every_list"
ON_BREAK = "on_break"

# To be joined to a row `contact` with an id, an address and former_addresses, in a statement with
# the parameters workspace and hash_key. One look-up by contacts_subscription_once. Where somebody
# left a list, which contacts_suppression_of_list tells, contacts on no list are looked up by the
# hashes of their addresses, too: the membership of a contact that was deleted and imported anew is
# gone, and that of one who asks again is pending. A corrected address brings neither back.
# The smallest list is the first entry of that index; of EXISTS the planner expects a hit at once,
# and reads the whole table where only other workspaces have one. The SELECT around the hash has it
# computed once: where suppressions are few, PostgreSQL reads all of them for each contact.
_REACH: LiteralString = """
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE {is_awake}) > 0 AS is_on_list,
           CASE
               WHEN count(*) FILTER (WHERE {is_awake}) > 0 THEN NULL
               WHEN count(*) FILTER (WHERE s.state IN ('active', 'paused')) > 0 THEN {on_break}
               WHEN count(*) FILTER (WHERE s.state IN ('unsubscribed', 'suppressed')) > 0
                 OR (
                   SELECT min(kept.list_id) FROM contacts_suppression AS kept
                   WHERE kept.workspace_id = %(workspace)s::bigint AND kept.list_id IS NOT NULL
               ) IS NOT NULL AND EXISTS (
                   SELECT FROM unnest(array_append(contact.former_addresses, contact.address))
                       AS known (address)
                   CROSS JOIN LATERAL (
                       SELECT list_id FROM contacts_suppression
                       WHERE workspace_id = %(workspace)s::bigint AND address_hash
                             = (SELECT contacts_fingerprint(%(hash_key)s::bytea, known.address))
                       OFFSET 0
                   ) AS kept
                   JOIN contacts_list AS list ON list.id = kept.list_id AND list.kind = 'list'
               ) THEN {left_every_list}
           END AS kept_back,
           min(s.snooze_until) FILTER (WHERE s.state = 'active') AS break_ends
    FROM contacts_subscription AS s
    JOIN contacts_list AS list ON list.id = s.list_id AND list.kind = 'list'
    WHERE s.contact_id = contact.id AND {only}
) AS reach
"""
_IS_AWAKE: LiteralString = "s.state = 'active' AND (s.snooze_until > {at}) IS NOT TRUE"
_EVERY = pg.SQL("true")


def join_reach(at: Composable, only: Composable = _EVERY) -> Composed:
    """Joins `reach` to `contact`, as of a moment: is_on_list, kept_back and break_ends.

    `kept_back` is the reason why mail to all contacts does not go to it, or NULL. `only` is a
    condition on the subscriptions `s` that are looked at.
    """
    return pg.SQL(_REACH).format(
        is_awake=pg.SQL(_IS_AWAKE).format(at=at),
        only=only,
        on_break=pg.Literal(ON_BREAK),
        left_every_list=pg.Literal(LEFT_EVERY_LIST),
    )


@dataclass(frozen=True, slots=True)
class Reach:
    """Why a campaign to all contacts leaves somebody out; without a reason it reaches them."""

    is_on_list: bool
    kept_back: str | None
    break_ends: datetime | None  # of a break; None: until the person resumes


_OF_CONTACTS = pg.SQL("""
SELECT contact.id, reach.is_on_list, reach.kept_back, reach.break_ends
FROM contacts_contact AS contact {reach}
WHERE contact.id = ANY(%(contacts)s::bigint[]) AND contact.workspace_id = %(workspace)s::bigint
""").format(reach=join_reach(pg.SQL("%(now)s::timestamptz")))


def read_reach(
    workspace_id: int, contact_ids: Sequence[int], *, now: datetime
) -> Mapping[int, Reach]:
    """Of some contacts by id, as far as it depends on lists: their states are not read."""
    params = {"workspace": workspace_id, "contacts": list(contact_ids), "now": now}
    return {
        contact_id: Reach(is_on_list, kept_back, break_ends if kept_back == ON_BREAK else None)
        for contact_id, is_on_list, kept_back, break_ends in sql.rows(_OF_CONTACTS, params)
    }
