"""The door for lists and topics: make them, change them, and see how many are on them."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.http import Http404, HttpRequest
from ninja import Path, Router
from ninja.responses import Status

from postledger.accounts.keys import Scope
from postledger.contacts import actions, lists
from postledger.contacts.lists import ListFacts, ListUnknownError
from postledger.contacts.states import SubscriptionState
from postledger.web.api import lists_forms
from postledger.web.api.incoming import ListKey
from postledger.web.api.lists_forms import ListChangeIn, ListList, ListOut, NewListIn, WholeList
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["lists"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CONTACTS_READ)
_writer = auth.ApiKey(Scope.CONTACTS_WRITE)

Key = Path[ListKey]


@router.get(
    "",
    auth=_reader,
    response={200: ListList, _PROBLEMS: Problem},
    operation_id="listLists",
    summary="List lists and topics",
)
def listing(request: HttpRequest) -> ListList:
    """All of the workspace's by key, archived ones too."""
    found = lists.shown(auth.caller(request).workspace_id)
    return ListList(lists=[lists_forms.list_(facts) for facts in found])


@router.post(
    "",
    auth=_writer,
    response={201: ListOut, _PROBLEMS: Problem},
    operation_id="createList",
    summary="Create a list or a topic",
)
def create(request: HttpRequest, payload: NewListIn) -> Status[ListOut]:
    """Its key stays its own for good, since links in sent mail name it."""
    caller = auth.caller(request)
    actions.create_list(caller.workspace_id, **dict(payload), actor=caller.actor)
    return Status(201, _shown(caller.workspace_id, payload.key))


@router.get(
    "/{key}",
    auth=_reader,
    response={200: WholeList, _PROBLEMS: Problem},
    operation_id="getList",
    summary="Look at a list",
)
def look(request: HttpRequest, key: Key) -> WholeList:
    """The list, and how many contacts stand how to it."""
    workspace_id = auth.caller(request).workspace_id
    return lists_forms.whole(
        known(workspace_id, key),
        {state: lists.count(workspace_id, key=key, state=state) for state in SubscriptionState},
    )


@router.patch(
    "/{key}",
    auth=_writer,
    response={200: ListOut, _PROBLEMS: Problem},
    operation_id="changeList",
    summary="Change how a list is shown",
)
def change(request: HttpRequest, key: Key, payload: ListChangeIn) -> ListOut:
    """Changes what is named; an archived list is restored first."""
    caller = auth.caller(request)
    with in_address():
        actions.update_list(caller.workspace_id, key=key, **payload.given(), actor=caller.actor)
    return _shown(caller.workspace_id, key)


@router.post(
    "/{key}/archive",
    auth=_writer,
    response={200: ListOut, _PROBLEMS: Problem},
    operation_id="archiveList",
    summary="Take a list out of use",
)
def archive(request: HttpRequest, key: Key) -> ListOut:
    """Nobody joins it any more; who left it has still left, and its links still work."""
    caller = auth.caller(request)
    with in_address():
        actions.archive_list(caller.workspace_id, key=key, actor=caller.actor)
    return _shown(caller.workspace_id, key)


@router.post(
    "/{key}/restore",
    auth=_writer,
    response={200: ListOut, _PROBLEMS: Problem},
    operation_id="restoreList",
    summary="Take a list into use again",
)
def restore(request: HttpRequest, key: Key) -> ListOut:
    """Ends what archiving began."""
    caller = auth.caller(request)
    with in_address():
        actions.unarchive_list(caller.workspace_id, key=key, actor=caller.actor)
    return _shown(caller.workspace_id, key)


@contextmanager
def in_address() -> Iterator[None]:
    """A list that is named by the address, and is not there, makes it lead nowhere.

    Everywhere else it is a value that is refused, with its name.
    """
    try:
        yield
    except ListUnknownError:
        raise Http404 from None


def known(workspace_id: int, key: str) -> ListFacts:
    """The list that an address of the API names, archived or not."""
    for facts in lists.shown(workspace_id):
        if facts.key == key:
            return facts
    raise Http404


def _shown(workspace_id: int, key: str) -> ListOut:
    return lists_forms.list_(known(workspace_id, key))
