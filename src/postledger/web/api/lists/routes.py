"""Routes for lists and topics."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from django.http import Http404
from ninja import Path

from postledger.accounts.keys import Scope
from postledger.contacts import counts, lists
from postledger.contacts.lists import ListUnknownError
from postledger.contacts.models import List
from postledger.contacts.states import SubscriptionState
from postledger.web.api.common.fields import ListKey
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.lists.schemas import (
    ListChangeIn,
    ListList,
    ListOut,
    ListWithCounts,
    NewListIn,
)

routes = Routes("lists", read=Scope.CONTACTS_READ, write=Scope.CONTACTS_WRITE)

KeyInPath = Annotated[ListKey, Path(description="The key of the list or topic.")]


@routes.get("", ListList)
def list_lists(call: Call) -> dict[str, object]:
    """All lists of the workspace by key, archived ones included."""
    return {"lists": lists.list_all(call.workspace_id)}


@routes.post("", ListOut, status=201, shown_with=None)
def create_list(call: Call, payload: NewListIn) -> List:
    """Creates a list. Its key stays taken for good, because links in sent mail contain it."""
    lists.create_list(call.workspace_id, **dict(payload), actor=call.actor)
    return find_list(call, payload.key)


@routes.get("/{key}", ListWithCounts)
def get_list(call: Call, key: KeyInPath) -> dict[str, object]:
    """The list with the number of its subscriptions by state."""
    found = find_list(call, key)
    shown = ListOut.model_validate(found)
    numbers = counts.count_lists([found.pk], SubscriptionState)
    subscriptions = {state: numbers[found.pk, state] for state in SubscriptionState}
    return {**dict(shown), "subscriptions": subscriptions}


@routes.patch("/{key}", ListOut)
def change_list(call: Call, key: KeyInPath, payload: ListChangeIn) -> List:
    """Changes the fields that are sent. An archived list must be restored first."""
    with list_in_path():
        lists.update_list(call.workspace_id, key=key, **payload.changes(), actor=call.actor)
    return find_list(call, key)


@routes.post("/{key}/archive", ListOut)
def archive_list(call: Call, key: KeyInPath) -> List:
    """Closes the list to new subscribers. Unsubscriptions stay, and its links still work."""
    with list_in_path():
        lists.archive_list(call.workspace_id, key=key, actor=call.actor)
    return find_list(call, key)


@routes.post("/{key}/restore", ListOut)
def restore_list(call: Call, key: KeyInPath) -> List:
    """Takes an archived list into use again."""
    with list_in_path():
        lists.restore_list(call.workspace_id, key=key, actor=call.actor)
    return find_list(call, key)


@contextmanager
def list_in_path() -> Iterator[None]:
    """Answers 404 for an unknown list in the path; elsewhere it is an invalid value (422)."""
    try:
        yield
    except ListUnknownError:
        raise Http404 from None


def find_list(call: Call, key: str) -> List:
    """The list of a path, archived or not."""
    row = lists.list_all(call.workspace_id).filter(key=key).first()
    if row is None:
        raise Http404
    return row
