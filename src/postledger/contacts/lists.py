"""A workspace's lists and topics: found by their keys, shown, and counted as far as it pays."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from postledger.contacts import sql
from postledger.contacts.models import List
from postledger.contacts.states import ListKind, SubscriptionState
from postledger.lib.errors import RefusedError

# So many are counted one by one, in some milliseconds; of more, an estimate is told as one.
COUNTED = 10_000


class ListUnknownError(RefusedError):
    code = "list_unknown"


@dataclass(frozen=True, slots=True)
class ListFacts:
    key: str
    name: str
    kind: ListKind
    is_public: bool
    created_at: datetime
    archived_at: datetime | None


def shown(workspace_id: int, *, only_public: bool = False) -> list[ListFacts]:
    """All lists by key, the archived ones too; or those that people may find."""
    found = List.objects.filter(workspace_id=workspace_id).order_by("key")
    if only_public:
        found = found.filter(is_public=True, archived_at=None)
    rows = found.values_list("key", "name", "kind", "is_public", "created_at", "archived_at")
    return [
        ListFacts(key, name, ListKind(kind), is_public, created_at, archived_at)
        for key, name, kind, is_public, created_at, archived_at in rows
    ]


def named(workspace_id: int, key: str) -> int:
    """The id of a list that is in use."""
    there = List.objects.filter(workspace_id=workspace_id, key=key, archived_at=None)
    list_id = there.values_list("pk", flat=True).first()
    if list_id is None:
        raise unknown(key)
    return list_id


def ids(workspace_id: int, keys: Collection[str]) -> Mapping[str, int]:
    """The ids of several lists, archived or not; one that is not there is refused."""
    if not keys:
        return {}
    there = List.objects.filter(workspace_id=workspace_id, key__in=keys)
    found = dict(there.values_list("key", "pk"))
    for key in sorted(keys):
        if key not in found:
            raise ListUnknownError(
                f"This workspace has no list {key[:64]!r}: choose one of those it has, or make it."
            )
    return found


def unknown(key: str) -> ListUnknownError:
    return ListUnknownError(
        f"This workspace has no list {key[:64]!r}, or it is archived: make it, or restore it."
    )


@dataclass(frozen=True, slots=True)
class Count:
    """How many there are; an estimate above what was counted is no more than that."""

    number: int
    is_exact: bool


# Served by contacts_subscription_of_list and the contacts' primary key.
_COUNT = """
SELECT count(*) FROM (
    SELECT FROM contacts_subscription AS s JOIN contacts_contact AS c ON c.id = s.contact_id
    WHERE s.list_id = %(list)s AND s.state = %(state)s AND c.deleted_at IS NULL
    LIMIT %(most)s
) AS first
"""
_ALL = """
SELECT FROM contacts_subscription WHERE list_id = %(list)s AND state = %(state)s
"""


def count(
    workspace_id: int, *, key: str, state: SubscriptionState = SubscriptionState.ACTIVE
) -> Count:
    """How many contacts of a list are in a state; its cost does not grow with the list."""
    [list_id] = ids(workspace_id, [key]).values()
    params = {"list": list_id, "state": state.value, "most": COUNTED + 1}
    [(number,)] = sql.rows(_COUNT, params)
    if number <= COUNTED:
        return Count(number, is_exact=True)
    expected = int(sql.plan(_ALL, params)["Plan Rows"])
    return Count(max(expected, number), is_exact=False)
