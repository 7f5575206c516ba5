"""How many contacts a list has: exact for small lists, and an estimate for large ones."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import LiteralString

from postledger.contacts import sql
from postledger.contacts.states import SubscriptionState

# Counting up to so many contacts takes some milliseconds; above, the number is an estimate.
MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class ContactCount:
    number: int
    is_exact: bool  # False: an estimate


# Served by contacts_subscription_of_list and the contacts' primary key. OFFSET 0 keeps the look-up
# of one contact apart: the planner expects lists of average size, and would read all contacts for
# each of them.
_COUNT: LiteralString = """
SELECT list.id, wanted.state, counted.number
FROM unnest(%(lists)s::bigint[]) AS list (id)
CROSS JOIN unnest(%(states)s::text[]) AS wanted (state)
CROSS JOIN LATERAL (
    SELECT count(*) AS number FROM (
        SELECT FROM contacts_subscription AS s CROSS JOIN LATERAL (
            SELECT FROM contacts_contact AS c
            WHERE c.id = s.contact_id AND c.deleted_at IS NULL OFFSET 0
        ) AS contact
        WHERE s.list_id = list.id AND s.state = wanted.state
        LIMIT %(most)s
    ) AS first
) AS counted
"""
_SUBSCRIPTIONS: LiteralString = """
SELECT FROM contacts_subscription WHERE list_id = %(list)s AND state = %(state)s
"""


def count_lists(
    list_ids: Collection[int], states: Collection[SubscriptionState]
) -> Mapping[tuple[int, SubscriptionState], ContactCount]:
    """How many contacts of each list are in each state; of each, few more than the limit are read.

    It takes one query, and one for each estimate.
    """
    params = {"lists": [*list_ids], "states": [*states], "most": MOST_COUNTED + 1}
    return {
        (list_id, SubscriptionState(state)): _estimate_large(list_id, state, number)
        for list_id, state, number in sql.rows(_COUNT, params)
    }


def _estimate_large(list_id: int, state: str, number: int) -> ContactCount:
    if number <= MOST_COUNTED:
        return ContactCount(number, is_exact=True)
    estimate = int(sql.explain(_SUBSCRIPTIONS, {"list": list_id, "state": state})["Plan Rows"])
    return ContactCount(max(estimate, number), is_exact=False)
