"""A workspace's lists and topics: created, changed, archived and looked up."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import chain, count

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from postledger.accounts import constraints, trail
from postledger.contacts.models import List
from postledger.contacts.states import ListKind
from postledger.contacts.unsubscribe_links import GENERAL
from postledger.lib.errors import ConflictError, RefusedError
from postledger.lib.keys import make_key
from postledger.lib.sentences import say
from postledger.lib.values import KEY_PATTERN


class ListUnknownError(RefusedError):
    code = "list_unknown"


class ListExistsError(ConflictError):
    code = "list_exists"


class InvalidListKeyError(RefusedError):
    code = "invalid_list_key"


def is_key(text: str) -> bool:
    """Whether a list may have this key; `general` stands for all lists."""
    return re.fullmatch(KEY_PATTERN, text) is not None and text != GENERAL


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
        say(
            "The list '%(key)s' exists already. Use it, restore it, or choose another key.",
            key=key[:64],
        )
    )
    invalid = InvalidListKeyError(
        say(
            "'%(key)s' cannot be the key of a list: use up to 64 lowercase letters, digits"
            " and hyphens, not beginning with a hyphen, and not '%(general)s', which stands"
            " for all lists.",
            key=key[:64],
            general=GENERAL,
        )
    )
    with constraints.refusing(contacts_list_once=exists, contacts_list_key=invalid):
        created = List.objects.create(
            workspace_id=workspace_id, key=key, name=name, kind=kind.value, is_public=is_public
        )
        _note(workspace_id, "list.created", key, actor=actor)
    return created.pk


def find_free_key(workspace_id: int, name: str) -> str:
    """A key for a new list of this name, which no other list has."""
    base = make_key(name, longest=56) or "list"
    keys = list_all(workspace_id).filter(key__startswith=base).values_list("key", flat=True)
    taken = {GENERAL, *keys}
    numbered = (f"{base}-{number}" for number in count(2))
    return next(key for key in chain([base], numbered) if key not in taken)


def refuse_taken_name(workspace_id: int, name: str) -> None:
    """Refuses a name that another list has, whatever its capitals: nobody could tell them apart."""
    same = list_all(workspace_id).filter(name__iexact=name.strip()).order_by("-archived_at").first()
    if same is None:
        return
    if same.archived_at is None:
        text = say(
            "There is a list '%(name)s' already. Choose it, or give the new one another name.",
            name=same.name[:100],
        )
    else:
        text = say(
            "There is an archived list '%(name)s'. Restore it, or give the new one another name.",
            name=same.name[:100],
        )
    raise ListExistsError(text)


def name_apart(chosen: Iterable[List]) -> list[tuple[str, str]]:
    """The key and the name of each; the key stands behind a name that two of them have."""
    chosen = list(chosen)
    numbers = Counter(row.name.casefold() for row in chosen)
    return [
        (row.key, f"{row.name} ({row.key})" if numbers[row.name.casefold()] > 1 else row.name)
        for row in chosen
    ]


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
    with transaction.atomic():
        lists = _active(workspace_id, key)
        if not (lists.update(**fields) if fields else lists.exists()):
            raise unknown_list_error(key)
        if fields:
            _note(workspace_id, "list.changed", key, actor=actor, fields=[*fields])


def lock_list(workspace_id: int, key: str) -> List:
    """The row of a list that is not archived; the caller is in a transaction."""
    locked = _active(workspace_id, key).select_for_update(no_key=True).first()
    if locked is None:
        raise unknown_list_error(key)
    return locked


def archive_list(workspace_id: int, *, key: str, actor: str) -> None:
    """Ends new subscriptions to a list. Those who left it stay unsubscribed."""
    with transaction.atomic():
        if not _active(workspace_id, key).update(archived_at=Now()):
            raise unknown_list_error(key)
        _note(workspace_id, "list.archived", key, actor=actor)


def restore_list(workspace_id: int, *, key: str, actor: str) -> None:
    archived = List.objects.filter(workspace_id=workspace_id, key=key, archived_at__isnull=False)
    with transaction.atomic():
        if not archived.update(archived_at=None):
            raise ListUnknownError(say("There is no archived list '%(key)s'.", key=key[:64]))
        _note(workspace_id, "list.restored", key, actor=actor)


def _note(
    workspace_id: int,
    action: trail.Action,
    key: str,
    *,
    actor: str,
    fields: list[str] | None = None,
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
        raise unknown_list_error(key)
    return list_id


def _active(workspace_id: int, key: str) -> QuerySet[List]:
    return List.objects.filter(workspace_id=workspace_id, key=key, archived_at=None)


def unknown_list_error(key: str) -> ListUnknownError:
    return ListUnknownError(
        say(
            "There is no list '%(key)s', or it is archived. Create it, or restore it.", key=key[:64]
        )
    )


def get_ids(workspace_id: int, keys: Collection[str]) -> Mapping[str, int]:
    """The ids of lists by key, archived or not; an unknown key is refused."""
    if not keys:
        return {}
    ids = dict(list_all(workspace_id).filter(key__in=keys).values_list("key", "pk"))
    for key in sorted(keys):
        if key not in ids:
            raise ListUnknownError(
                say(
                    "There is no list '%(key)s'. Use the key of an existing list, or create it.",
                    key=key[:64],
                )
            )
    return ids
