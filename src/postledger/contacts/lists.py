"""A workspace's lists and topics: created, changed, archived, looked up and counted."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import LiteralString

from django.db.models import QuerySet
from django.db.models.functions import Now

from postledger.accounts import constraints, trail
from postledger.contacts import sql
from postledger.contacts.models import List
from postledger.contacts.states import ListKind, SubscriptionState
from postledger.contacts.unsubscribe_links import GENERAL
from postledger.lib.errors import ConflictError, RefusedError

# Up to so many contacts are counted, in some milliseconds; above, the number is an estimate.
COUNTED = 10_000

_KEY = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


class ListUnknownError(RefusedError):
    code = "list_unknown"


class ListExistsError(ConflictError):
    code = "list_exists"


class InvalidListKeyError(RefusedError):
    code = "invalid_list_key"


def is_key(text: str) -> bool:
    """Whether a list may have this key; `general` stands for all lists."""
    return _KEY.fullmatch(text) is not None and text != GENERAL


def create_list(  # noqa: PLR0913  each attribute by its name
    workspace_id: int,
    *,
    key: str,
    name: str,
    kind: ListKind = ListKind.LIST,
    is_public: bool = False,
    actor: str,
) -> int:
    """Creates a list. Its key never changes, because links in sent mail contain it."""
    constraints.check_name("a list", name)
    exists = ListExistsError(
        f"The list {key[:64]!r} exists already. Use it, unarchive it, or choose another key."
    )
    invalid = InvalidListKeyError(
        f"{key[:64]!r} cannot be the key of a list: use up to 64 lowercase letters, digits and"
        f" hyphens, not beginning with a hyphen, and not {GENERAL!r}, which stands for all lists."
    )
    with constraints.refusing(contacts_list_once=exists, contacts_list_key=invalid):
        created = List.objects.create(
            workspace_id=workspace_id, key=key, name=name, kind=kind.value, is_public=is_public
        )
        _note(workspace_id, "list.created", key, actor=actor)
    return created.pk


def update_list(
    workspace_id: int,
    *,
    key: str,
    name: str | None = None,
    is_public: bool | None = None,
    actor: str,
) -> None:
    """Changes the attributes that are not None; an archived list is refused."""
    if name is not None:
        constraints.check_name("a list", name)
    given = {"name": name, "is_public": is_public}
    fields = {column: value for column, value in given.items() if value is not None}
    with constraints.refusing():
        # Without a change, the list must exist all the same.
        if not _active(workspace_id, key).update(**(fields or {"key": key})):
            raise list_not_found(key)
        _note(workspace_id, "list.changed", key, actor=actor, fields=[*fields])


def archive_list(workspace_id: int, *, key: str, actor: str) -> None:
    """Ends new subscriptions to a list. Those who left it stay unsubscribed."""
    with constraints.refusing():
        if not _active(workspace_id, key).update(archived_at=Now()):
            raise list_not_found(key)
        _note(workspace_id, "list.archived", key, actor=actor)


def unarchive_list(workspace_id: int, *, key: str, actor: str) -> None:
    archived = List.objects.filter(workspace_id=workspace_id, key=key, archived_at__isnull=False)
    with constraints.refusing():
        if not archived.update(archived_at=None):
            raise ListUnknownError(f"There is no archived list {key[:64]!r}.")
        _note(workspace_id, "list.unarchived", key, actor=actor)


def _note(
    workspace_id: int, action: str, key: str, *, actor: str, fields: list[str] | None = None
) -> None:
    data: dict[str, trail.Fact] = {} if fields is None else {"fields": fields}
    trail.note(workspace_id, actor=actor, action=action, subject=f"list {key}", data=data)


def list_all(workspace_id: int) -> QuerySet[List]:
    """All lists by key, archived ones too."""
    return List.objects.filter(workspace_id=workspace_id).order_by("key")


def list_public(workspace_id: int) -> QuerySet[List]:
    """The lists that recipients may find and subscribe to, by key."""
    return list_all(workspace_id).filter(is_public=True, archived_at=None)


def get_active_id(workspace_id: int, key: str) -> int:
    """The id of a list that is not archived."""
    list_id = _active(workspace_id, key).values_list("pk", flat=True).first()
    if list_id is None:
        raise list_not_found(key)
    return list_id


def _active(workspace_id: int, key: str) -> QuerySet[List]:
    return List.objects.filter(workspace_id=workspace_id, key=key, archived_at=None)


def list_not_found(key: str) -> ListUnknownError:
    return ListUnknownError(
        f"There is no list {key[:64]!r}, or it is archived. Create it, or unarchive it."
    )


def get_ids(workspace_id: int, keys: Collection[str]) -> Mapping[str, int]:
    """The ids of lists by key, archived or not; an unknown key is refused."""
    if not keys:
        return {}
    ids = dict(list_all(workspace_id).filter(key__in=keys).values_list("key", "pk"))
    for key in sorted(keys):
        if key not in ids:
            raise ListUnknownError(
                f"There is no list {key[:64]!r}. Use the key of an existing list, or create it."
            )
    return ids


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


def count_contacts(
    workspace_id: int, *, key: str, state: SubscriptionState = SubscriptionState.ACTIVE
) -> ContactCount:
    """How many contacts of a list are in a state; the cost does not grow with the list."""
    [list_id] = get_ids(workspace_id, [key]).values()
    params = {"list": list_id, "state": state.value, "most": COUNTED + 1}
    [(number,)] = sql.rows(_COUNT, params)
    if number <= COUNTED:
        return ContactCount(number, is_exact=True)
    estimate = int(sql.explain(_SUBSCRIPTIONS, params)["Plan Rows"])
    return ContactCount(max(estimate, number), is_exact=False)
