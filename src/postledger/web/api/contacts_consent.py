"""The door for what contacts agree to: lists, preferences, leaving, and being restored."""

from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from ninja import Path, Router

from postledger.accounts.keys import Scope
from postledger.contacts import actions, profiles
from postledger.contacts.unsubscribe import Wish
from postledger.web.api import contact_forms_consent, lists, suppressions
from postledger.web.api.contact_forms import WholeContact
from postledger.web.api.contact_forms_consent import (
    ConsentIn,
    RestoringIn,
    SubscriptionIn,
    SubscriptionOut,
)
from postledger.web.api.contacts import ContactId, known, whole
from postledger.web.api.incoming import ListKey
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["contacts"])

_PROBLEMS = frozenset(KINDS)

_writer = auth.ApiKey(Scope.CONTACTS_WRITE)

Key = Path[ListKey]


@router.put(
    "/{int:contact_id}/subscriptions/{list_key}",
    auth=_writer,
    response={200: SubscriptionOut, _PROBLEMS: Problem},
    operation_id="putSubscription",
    summary="Subscribe a contact, or change how",
)
def put(
    request: HttpRequest, contact_id: ContactId, list_key: Key, payload: SubscriptionIn
) -> SubscriptionOut:
    """Answers with how the subscription stands then, which is not always what was asked for."""
    caller, wishes = auth.caller(request), payload.preferences
    with lists.in_address():
        actions.bring(
            caller.workspace_id,
            contact_id=contact_id,
            list_key=list_key,
            wanted=payload.state,
            wishes=wishes.preferences() if wishes else None,
            origin=payload.consent.origin(caller.actor),
            now=datetime.now(UTC),
        )
    return _subscription(caller.workspace_id, contact_id, list_key)


@router.delete(
    "/{int:contact_id}/subscriptions/{list_key}",
    auth=_writer,
    response={204: None, _PROBLEMS: Problem},
    operation_id="deleteSubscription",
    summary="Unsubscribe a contact from a list",
)
def delete(request: HttpRequest, contact_id: ContactId, list_key: Key) -> HttpResponse:
    """Its address is kept from the list, even if it never was on it; its history stays."""
    caller = auth.caller(request)
    contact = known(caller.workspace_id, contact_id)
    lists.known(caller.workspace_id, list_key)
    actions.unsubscribe(
        caller.workspace_id,
        wish=Wish(contact.address, list_key),
        origin=ConsentIn().origin(caller.actor),
        now=datetime.now(UTC),
    )
    return HttpResponse(status=204)


@router.post(
    "/{int:contact_id}/subscriptions/{list_key}/confirm",
    auth=_writer,
    response={200: SubscriptionOut, _PROBLEMS: Problem},
    operation_id="confirmSubscription",
    summary="Record that a contact confirmed",
)
def confirm(
    request: HttpRequest, contact_id: ContactId, list_key: Key, payload: ConsentIn
) -> SubscriptionOut:
    """Only when the owner of the address said yes: pending becomes active, even after leaving."""
    caller = auth.caller(request)
    with lists.in_address():
        actions.confirm(
            caller.workspace_id,
            contact_id=contact_id,
            list_key=list_key,
            origin=payload.origin(caller.actor),
            now=datetime.now(UTC),
        )
    return _subscription(caller.workspace_id, contact_id, list_key)


@router.post(
    "/{int:contact_id}/unsubscribe",
    auth=_writer,
    response={200: WholeContact, _PROBLEMS: Problem},
    operation_id="unsubscribeContact",
    summary="Unsubscribe a contact from everything",
)
def unsubscribe(request: HttpRequest, contact_id: ContactId, payload: ConsentIn) -> WholeContact:
    """It gets nothing more that goes to many; what it needs, such as a receipt, it still gets."""
    caller = auth.caller(request)
    actions.unsubscribe(
        caller.workspace_id,
        wish=Wish(known(caller.workspace_id, contact_id).address),
        origin=payload.origin(caller.actor),
        now=datetime.now(UTC),
    )
    return whole(caller.workspace_id, contact_id)


@router.post(
    "/{int:contact_id}/restore",
    auth=_writer,
    response={200: WholeContact, _PROBLEMS: Problem},
    operation_id="restoreContact",
    summary="Let a contact be mailed again",
)
def restore(request: HttpRequest, contact_id: ContactId, payload: RestoringIn) -> WholeContact:
    """Lifts what keeps it back; of one who had also left, the leaving only the second time."""
    caller = auth.caller(request)
    suppressions.lift(
        caller, known(caller.workspace_id, contact_id).address, payload.list, payload.reason
    )
    return whole(caller.workspace_id, contact_id)


def _subscription(workspace_id: int, contact_id: int, list_key: str) -> SubscriptionOut:
    [found] = profiles.subscriptions(workspace_id, contact_id=contact_id, list_key=list_key)
    return contact_forms_consent.subscription(found)
