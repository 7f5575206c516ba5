"""How many contacts a list has: exact for small lists, and an estimate for large ones."""

from dataclasses import dataclass
from typing import LiteralString

from postledger.contacts import lists, sql
from postledger.contacts.states import SubscriptionState

# Counting up to so many contacts takes some milliseconds; above, the number is an estimate.
MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class ContactCount:
    number: int
    is_exact: bool  # False: an estimate


# Served by contacts_subscription_of_list and the contacts' primary key.
_COUNT: LiteralString = """
SELECT count(*) FROM (
    SELECT FROM contacts_subscription AS s JOIN contacts_contact AS c ON c.id = s.contact_id
    WHERE s.list_id = %(list)s AND s.state = %(state)s AND c.deleted_at IS NULL
    LIMIT %(most)s
) AS first
"""
_SUBSCRIPTIONS: LiteralString = """
SELECT FROM contacts_subscription WHERE list_id = %(list)s AND state = %(state)s
"""


def count_list(
    workspace_id: int, *, key: str, state: SubscriptionState = SubscriptionState.ACTIVE
) -> ContactCount:
    """How many contacts of a list are in a state; the cost does not grow with the list."""
    [list_id] = lists.get_ids(workspace_id, [key]).values()
    params = {"list": list_id, "state": state.value, "most": MOST_COUNTED + 1}
    [(number,)] = sql.rows(_COUNT, params)
    if number <= MOST_COUNTED:
        return ContactCount(number, is_exact=True)
    estimate = int(sql.explain(_SUBSCRIPTIONS, params)["Plan Rows"])
    return ContactCount(max(estimate, number), is_exact=False)
