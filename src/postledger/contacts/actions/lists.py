"""Makes, changes and archives a workspace's lists and topics."""

import re

from django.db.models.functions import Now

from postledger.accounts import constraints, names, trail
from postledger.contacts import lists
from postledger.contacts.models import List
from postledger.contacts.states import ListKind
from postledger.contacts.unsubscribe import GENERAL
from postledger.lib.errors import RefusedError

_KEY = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


class ListExistsError(RefusedError):
    code = "list_exists"


class InvalidListKeyError(RefusedError):
    code = "invalid_list_key"


def is_key(text: str) -> bool:
    """Whether a list may have this key; `general` is no list."""
    return _KEY.fullmatch(text) is not None and text != GENERAL


def create_list(  # noqa: PLR0913  what a list is, each part by its name
    workspace_id: int,
    *,
    key: str,
    name: str,
    kind: ListKind = ListKind.LIST,
    is_public: bool = False,
    actor: str,
) -> int:
    """Makes a list; its key stays its own for good, since links in sent mail name it."""
    names.check("a list", name)
    taken = ListExistsError(
        f"This workspace has a list {key[:64]!r} already: use it, restore it if it is archived,"
        " or choose another key."
    )
    wrong = InvalidListKeyError(
        f"{key[:64]!r} cannot be the key of a list: write up to 64 small letters, digits and"
        f" hyphens, no hyphen first, and not {GENERAL!r}, which means all mail."
    )
    with constraints.kept(contacts_list_once=taken, contacts_list_key=wrong):
        made = List.objects.create(
            workspace_id=workspace_id, key=key, name=name, kind=kind.value, is_public=is_public
        )
        _note(workspace_id, "list.created", key, actor=actor)
    return made.pk


def update_list(
    workspace_id: int,
    *,
    key: str,
    name: str | None = None,
    is_public: bool | None = None,
    actor: str,
) -> None:
    """Changes how a list is shown; None leaves a thing as it is."""
    if name is not None:
        names.check("a list", name)
    given = {"name": name, "is_public": is_public}
    fields = {column: value for column, value in given.items() if value is not None}
    there = List.objects.filter(workspace_id=workspace_id, key=key, archived_at=None)
    with constraints.kept():
        # Nothing to change is a change of nothing, of a list that must be there all the same.
        if not there.update(**(fields or {"key": key})):
            raise lists.unknown(key)
        _note(workspace_id, "list.changed", key, actor=actor, fields=[*fields])


def archive_list(workspace_id: int, *, key: str, actor: str) -> None:
    """Takes a list out of use: nobody joins it any more, and who left it has still left."""
    there = List.objects.filter(workspace_id=workspace_id, key=key, archived_at=None)
    with constraints.kept():
        if not there.update(archived_at=Now()):
            raise lists.unknown(key)
        _note(workspace_id, "list.archived", key, actor=actor)


def unarchive_list(workspace_id: int, *, key: str, actor: str) -> None:
    there = List.objects.filter(workspace_id=workspace_id, key=key, archived_at__isnull=False)
    with constraints.kept():
        if not there.update(archived_at=None):
            raise lists.ListUnknownError(f"This workspace has no archived list {key[:64]!r}.")
        _note(workspace_id, "list.unarchived", key, actor=actor)


def _note(
    workspace_id: int, action: str, key: str, *, actor: str, fields: list[str] | None = None
) -> None:
    data: dict[str, trail.Fact] = {} if fields is None else {"fields": fields}
    trail.note(workspace_id, actor=actor, action=action, subject=f"list {key}", data=data)
