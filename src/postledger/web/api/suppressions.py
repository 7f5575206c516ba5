"""The door for addresses that must not be mailed: see them, add some, and restore them."""

from datetime import UTC, datetime

from django.http import HttpRequest
from ninja import Query, Router
from ninja.responses import Status

from postledger.accounts.keys import Caller, Scope
from postledger.contacts import actions, lists, suppressions
from postledger.contacts.suppressions import Suppressed
from postledger.contacts.unsubscribe import GENERAL
from postledger.providers import addresses
from postledger.web.api import looking, suppressions_forms
from postledger.web.api.suppressions_forms import (
    NewSuppressionIn,
    Question,
    RestoredAddress,
    RestoringAddressIn,
    SuppressionOut,
    SuppressionPage,
)
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["suppressions"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CONTACTS_READ)
_writer = auth.ApiKey(Scope.CONTACTS_WRITE)


@router.get(
    "",
    auth=_reader,
    response={200: SuppressionPage, _PROBLEMS: Problem},
    operation_id="listSuppressions",
    summary="List suppressed addresses",
)
def listing(request: HttpRequest, question: Query[Question]) -> SuppressionPage:
    """All of them, a page at a time, or what keeps one address back."""
    looking.refuse_unknown(request.GET, Question)
    workspace_id = auth.caller(request).workspace_id
    if question.address is not None:
        found = suppressions.of_address(workspace_id, address=question.address)
        return suppressions_forms.page(found, limit=len(found))
    found = suppressions.page(workspace_id, after=question.after(), limit=question.limit + 1)
    return suppressions_forms.page(found, limit=question.limit)


@router.post(
    "",
    auth=_writer,
    response={201: SuppressionOut, _PROBLEMS: Problem},
    operation_id="createSuppression",
    summary="Suppress an address",
)
def create(request: HttpRequest, payload: NewSuppressionIn) -> Status[SuppressionOut]:
    """Keeps an address from all mail, or from one list; of several reasons the strongest stays."""
    caller = auth.caller(request)
    actions.suppress(
        caller.workspace_id,
        address=payload.address,
        list_key=payload.list,
        reason=payload.reason,
        actor=caller.actor,
    )
    [found] = _kept(caller.workspace_id, payload.address, payload.list)
    return Status(201, suppressions_forms.suppression(found))


@router.post(
    "/restore",
    auth=_writer,
    response={200: RestoredAddress, _PROBLEMS: Problem},
    operation_id="restoreAddress",
    summary="Let an address be mailed again",
)
def restore(request: HttpRequest, payload: RestoringAddressIn) -> RestoredAddress:
    """Lifts what keeps it back; where its owner had also left, that stays for a second time."""
    caller = auth.caller(request)
    has_changed = lift(caller, payload.address, payload.list, payload.reason)
    left = _kept(caller.workspace_id, payload.address, payload.list)
    still = [suppressions_forms.suppression(one) for one in left]
    return RestoredAddress(is_restored=has_changed, suppression=next(iter(still), None))


def lift(caller: Caller, address: str, list_key: str | None, reason: str) -> bool:
    """Restores an address; a list that is not there is refused, as a typing error."""
    lists.ids(caller.workspace_id, [list_key] if list_key else [])
    return actions.restore(
        caller.workspace_id,
        address=address,
        list_key=list_key or GENERAL,
        reason=reason,
        actor=caller.actor,
        now=datetime.now(UTC),
    )


def _kept(workspace_id: int, address: str, list_key: str | None) -> list[Suppressed]:
    """One or none: an address is kept once from all mail, and once from each list."""
    found = suppressions.of_address(workspace_id, address=addresses.canonical(address))
    return [one for one in found if one.list_key == list_key]
