"""The door for contacts: make them, find them, change them, and see what they agreed to."""

from datetime import UTC, datetime
from typing import Annotated

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Path, Query, Router
from ninja.responses import Status

from postledger.accounts.keys import Scope
from postledger.contacts import actions, paging, profiles, queries
from postledger.contacts.actions import contacts as unknowns
from postledger.web.api import contact_forms, contacts_looking, looking
from postledger.web.api.contact_forms import (
    ContactChangeIn,
    ContactPage,
    HistoryPage,
    NewContactIn,
    WholeContact,
)
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["contacts"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CONTACTS_READ)
_writer = auth.ApiKey(Scope.CONTACTS_WRITE)

ContactId = Annotated[int, Path(ge=1, le=2**63 - 1)]


@router.get(
    "",
    auth=_reader,
    response={200: ContactPage, _PROBLEMS: Problem},
    operation_id="listContacts",
    summary="List contacts",
)
def listing(request: HttpRequest, question: Query[contacts_looking.Contacts]) -> ContactPage:
    """Those that meet everything asked for, by address, a page at a time."""
    looking.refuse_unknown(request.GET, contacts_looking.Contacts)
    found = paging.page(
        auth.caller(request).workspace_id,
        audience=question.audience(datetime.now(UTC)),
        address=question.address,
        external_id=question.external_id,
        after=question.cursor or "",
        limit=question.limit + 1,
    )
    return contact_forms.page(found, limit=question.limit)


@router.post(
    "",
    auth=_writer,
    response={201: WholeContact, _PROBLEMS: Problem},
    operation_id="createContact",
    summary="Create a contact",
)
def create(request: HttpRequest, payload: NewContactIn) -> Status[WholeContact]:
    """Makes a contact and subscribes it: all of it or nothing; who left before has still left."""
    caller, now = auth.caller(request), datetime.now(UTC)
    with transaction.atomic():
        contact_id = actions.create_contact(
            caller.workspace_id,
            address=payload.address,
            external_id=payload.external_id,
            details=payload.details(),
            is_unconfirmed=bool(payload.lists) and not payload.is_confirmed,
            actor=caller.actor,
        )
        for list_key in payload.lists:
            actions.subscribe(
                caller.workspace_id,
                contact_id=contact_id,
                list_key=list_key,
                is_confirmed=payload.is_confirmed,
                origin=payload.consent.origin(caller.actor),
                now=now,
            )
    return Status(201, whole(caller.workspace_id, contact_id))


@router.get(
    "/{int:contact_id}",
    auth=_reader,
    response={200: WholeContact, _PROBLEMS: Problem},
    operation_id="getContact",
    summary="Look at a contact",
)
def look(request: HttpRequest, contact_id: ContactId) -> WholeContact:
    """What is known of it, and how it stands to each list."""
    return whole(auth.caller(request).workspace_id, contact_id)


@router.patch(
    "/{int:contact_id}",
    auth=_writer,
    response={200: WholeContact, _PROBLEMS: Problem},
    operation_id="changeContact",
    summary="Change a contact",
)
def change(request: HttpRequest, contact_id: ContactId, payload: ContactChangeIn) -> WholeContact:
    """Changes what is named; a new address takes over what keeps it back, and lifts nothing."""
    caller = auth.caller(request)
    actions.update_contact(
        caller.workspace_id,
        contact_id=contact_id,
        changes=payload.changes(),
        actor=caller.actor,
        now=datetime.now(UTC),
    )
    return whole(caller.workspace_id, contact_id)


@router.delete(
    "/{int:contact_id}",
    auth=_writer,
    response={204: None, _PROBLEMS: Problem},
    operation_id="deleteContact",
    summary="Delete a contact",
)
def delete(request: HttpRequest, contact_id: ContactId) -> HttpResponse:
    """It is mailed no more; its address becomes free. To forget a person, erase them."""
    caller = auth.caller(request)
    actions.delete_contact(
        caller.workspace_id, contact_id=contact_id, actor=caller.actor, now=datetime.now(UTC)
    )
    return HttpResponse(status=204)


@router.get(
    "/{int:contact_id}/history",
    auth=_reader,
    response={200: HistoryPage, _PROBLEMS: Problem},
    operation_id="listConsents",
    summary="See what a contact agreed to",
)
def history(
    request: HttpRequest, contact_id: ContactId, question: Query[contacts_looking.History]
) -> HistoryPage:
    """Every change of its consent, with who, when and from where; a page at a time."""
    looking.refuse_unknown(request.GET, contacts_looking.History)
    workspace_id = auth.caller(request).workspace_id
    known(workspace_id, contact_id)
    found = profiles.history(
        workspace_id,
        contact_id=contact_id,
        before=question.before(),
        limit=question.limit + 1,
    )
    return contact_forms.history(found, limit=question.limit)


def known(workspace_id: int, contact_id: int) -> queries.Known:
    """The contact that an address of the API names."""
    found = queries.find(workspace_id, contact_id=contact_id)
    if found is None:
        raise unknowns.unknown(contact_id)
    return found


def whole(workspace_id: int, contact_id: int) -> WholeContact:
    profile = profiles.find(workspace_id, contact_id=contact_id)
    if profile is None:
        raise unknowns.unknown(contact_id)
    return contact_forms.whole(profile)
