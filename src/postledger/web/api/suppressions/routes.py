"""Routes for suppressed addresses."""

from ninja import Query

from postledger.accounts.keys import Scope
from postledger.contacts import lists, suppressions
from postledger.contacts.actions import restoration, suppression
from postledger.contacts.models import Suppression
from postledger.contacts.states import SuppressionStatus
from postledger.contacts.unsubscribe_links import GENERAL
from postledger.providers import addresses
from postledger.web.api.common.pagination import cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.suppressions.schemas import (
    NewSuppressionIn,
    RestoreAddressIn,
    RestoredAddress,
    RestoreIn,
    SuppressionOut,
    SuppressionPage,
    SuppressionsQuery,
)

routes = Routes("suppressions", read=Scope.CONTACTS_READ, write=Scope.CONTACTS_WRITE)


@routes.get("", SuppressionPage)
def list_suppressions(call: Call, query: Query[SuppressionsQuery]) -> dict[str, object]:
    """All suppressions, or those of one address."""
    if query.address is not None:
        rows = suppressions.list_of_address(call.workspace_id, address=query.address)
        return {"suppressions": rows, "next": None}
    page = suppressions.list_page(call.workspace_id, before=query.before, limit=query.limit + 1)
    return cut_page("suppressions", list(page), query.limit, lambda row: row.pk)


@routes.post("", SuppressionOut, status=201)
def create_suppression(call: Call, payload: NewSuppressionIn) -> Suppression | None:
    """Suppresses an address for all mail or for one list. The strongest reason stays."""
    suppression.suppress(
        call.workspace_id,
        address=payload.address,
        list_key=payload.list,
        reason=payload.reason,
        actor=call.actor,
    )
    return _find_suppression(call, payload.address, payload.list)


@routes.post("/restore", RestoredAddress)
def restore_address(call: Call, payload: RestoreAddressIn) -> dict[str, object]:
    """Lifts the suppression. If the owner had unsubscribed too, that takes a second call.

    Send `expected_reason` if a call may be repeated, as after a timeout.
    """
    is_restored = lift_suppression(call, payload.address, payload)
    remaining = _find_suppression(call, payload.address, payload.list)
    return {"is_restored": is_restored, "suppression": remaining}


def lift_suppression(call: Call, address: str, payload: RestoreIn) -> bool:
    """Returns whether there was one. An unknown list is refused, because it may be misspelt."""
    lists.get_ids(call.workspace_id, [payload.list] if payload.list else [])
    return restoration.restore(
        call.workspace_id,
        address=address,
        list_key=payload.list or GENERAL,
        reason=payload.reason,
        actor=call.actor,
        now=call.now,
        expected=SuppressionStatus(payload.expected_reason) if payload.expected_reason else None,
    )


def _find_suppression(call: Call, address: str, list_key: str | None) -> Suppression | None:
    rows = suppressions.list_of_address(call.workspace_id, address=addresses.canonical(address))
    return next((row for row in rows if (row.list and row.list.key) == list_key), None)
