"""Routes for contacts, their subscriptions, their consent history, and requests for their data."""

from typing import Annotated

from django.db import transaction
from django.http import HttpResponse, StreamingHttpResponse
from ninja import Query

from postledger.accounts.keys import Scope
from postledger.contacts import export, queries, suppressions
from postledger.contacts.actions import contacts, desired_state, subscriptions, suppression
from postledger.contacts.models import Contact, Subscription
from postledger.contacts.unsubscribe_links import UnsubscribeRequest
from postledger.notifications.subscriptions import early_departures
from postledger.privacy import erasure
from postledger.privacy import export as person_export
from postledger.privacy.erasure import Erasure
from postledger.web.api.common.fields import path_id
from postledger.web.api.common.pagination import NewestFirstQuery, cut_page, encode_text_cursor
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.contacts.schemas import (
    ContactChangeIn,
    ContactOut,
    ContactPage,
    ContactsQuery,
    ContactWithConsent,
    Erased,
    EraseIn,
    ExportQuery,
    NewContactIn,
    PersonExport,
)
from postledger.web.api.contacts.subscription_schemas import (
    ConsentIn,
    HistoryPage,
    SubscriptionIn,
    SubscriptionOut,
)
from postledger.web.api.lists.routes import KeyInPath, find_list, list_in_path
from postledger.web.api.suppressions.routes import lift_suppression
from postledger.web.api.suppressions.schemas import RestoreIn
from postledger.web.shared.csv_files import csv_response

routes = Routes("contacts", read=Scope.CONTACTS_READ, write=Scope.CONTACTS_WRITE)
export_routes = Routes("exports", read=Scope.CONTACTS_READ, write=Scope.CONTACTS_WRITE)

ContactId = Annotated[int, path_id("The id of the contact.")]


@routes.get("", ContactPage)
def list_contacts(call: Call, query: Query[ContactsQuery]) -> dict[str, object]:
    """The contacts that match all parameters, by address."""
    page, next_after = queries.list_contacts(
        call.workspace_id,
        audience=query.audience(call.now),
        address=query.address,
        external_id=query.external_id,
        after=query.cursor or "",
        limit=query.limit,
    )
    return {"contacts": page, "next": next_after and encode_text_cursor(next_after)}


@routes.post("", ContactWithConsent, status=201)
def create_contact(call: Call, payload: NewContactIn) -> dict[str, object]:
    """Creates a contact and subscribes it, both or neither. Earlier unsubscriptions stay."""
    with transaction.atomic():
        contact_id = contacts.create_contact(
            call.workspace_id,
            address=payload.address,
            external_id=payload.external_id,
            details=payload.details(),
            is_unconfirmed=bool(payload.lists) and not payload.is_confirmed,
            actor=call.actor,
        )
        for list_key in payload.lists:
            subscriptions.subscribe(
                call.workspace_id,
                contact_id=contact_id,
                list_key=list_key,
                is_confirmed=payload.is_confirmed,
                origin=payload.consent.origin(call.actor),
                now=call.now,
            )
    return _show_contact(call, contact_id)


@routes.get("/{int:contact_id}", ContactWithConsent)
def get_contact(call: Call, contact_id: ContactId) -> dict[str, object]:
    """The contact with its subscriptions."""
    return _show_contact(call, contact_id)


@routes.patch("/{int:contact_id}", ContactWithConsent)
def change_contact(
    call: Call, contact_id: ContactId, payload: ContactChangeIn
) -> dict[str, object]:
    """Changes the fields that are sent.

    After a change of address an unsubscribe or a complaint still counts; a bounce of the old
    address does not.
    """
    contacts.update_contact(
        call.workspace_id,
        contact_id=contact_id,
        changes=payload.changes(),
        actor=call.actor,
        now=call.now,
    )
    return _show_contact(call, contact_id)


@routes.delete("/{int:contact_id}")
def delete_contact(call: Call, contact_id: ContactId) -> None:
    """Deletes the contact; it gets no more mail. To erase a person's data, erase the contact."""
    contacts.delete_contact(
        call.workspace_id, contact_id=contact_id, actor=call.actor, now=call.now
    )


@routes.get("/{int:contact_id}/history", HistoryPage)
def list_consents(
    call: Call, contact_id: ContactId, query: Query[NewestFirstQuery]
) -> dict[str, object]:
    """Every change of the contact's consent: who, when and from where."""
    _get_contact(call, contact_id)
    events = queries.list_history(
        call.workspace_id, contact_id=contact_id, before=query.before, limit=query.limit + 1
    )
    return cut_page("events", events, query.limit, lambda event: event.id)


@routes.put("/{int:contact_id}/subscriptions/{list_key}", SubscriptionOut)
def put_subscription(
    call: Call, contact_id: ContactId, list_key: KeyInPath, payload: SubscriptionIn
) -> Subscription:
    """Subscribes a contact, or changes the subscription.

    Answers with the resulting state, which may differ from the requested one.
    """
    preferences = payload.preferences
    with transaction.atomic(), list_in_path():
        desired_state.update_subscription(
            call.workspace_id,
            contact_id=contact_id,
            list_key=list_key,
            state=payload.state,
            preferences=preferences.preferences() if preferences else None,
            origin=payload.consent.origin(call.actor),
            now=call.now,
        )
        if preferences:
            early_departures.bring_forward(call.workspace_id, contact_id=contact_id)
    return _find_subscription(call, contact_id, list_key)


@routes.delete("/{int:contact_id}/subscriptions/{list_key}")
def delete_subscription(call: Call, contact_id: ContactId, list_key: KeyInPath) -> None:
    """Suppresses the contact's address for the list, even if it was never subscribed."""
    address = _get_contact(call, contact_id).address
    find_list(call, list_key)
    _unsubscribe(call, UnsubscribeRequest(address, list_key), ConsentIn())


@routes.post("/{int:contact_id}/subscriptions/{list_key}/confirm", SubscriptionOut)
def confirm_subscription(
    call: Call, contact_id: ContactId, list_key: KeyInPath, payload: ConsentIn
) -> Subscription:
    """Activates a pending subscription, even after the contact unsubscribed.

    Use it only if the owner of the address confirmed.
    """
    with list_in_path():
        subscriptions.confirm(
            call.workspace_id,
            contact_id=contact_id,
            list_key=list_key,
            origin=payload.origin(call.actor),
            now=call.now,
        )
    return _find_subscription(call, contact_id, list_key)


@routes.post("/{int:contact_id}/unsubscribe", ContactWithConsent)
def unsubscribe_contact(call: Call, contact_id: ContactId, payload: ConsentIn) -> dict[str, object]:
    """Ends all campaigns and notifications to it. Mail such as a receipt is still sent."""
    _unsubscribe(call, UnsubscribeRequest(_get_contact(call, contact_id).address), payload)
    return _show_contact(call, contact_id)


@routes.post("/{int:contact_id}/restore", ContactWithConsent)
def restore_contact(call: Call, contact_id: ContactId, payload: RestoreIn) -> dict[str, object]:
    """Lifts the suppression. If the contact had unsubscribed too, that takes a second call."""
    lift_suppression(call, _get_contact(call, contact_id).address, payload)
    return _show_contact(call, contact_id)


@routes.get(
    "/{int:contact_id}/export",
    PersonExport,
    scopes=[Scope.CONTACTS_READ, Scope.NOTIFICATIONS_READ],
)
def export_contact(call: Call, contact_id: ContactId) -> HttpResponse:
    """A file for the person: all data, every consent, and every mail to the address."""
    address = _get_contact(call, contact_id).address
    document = person_export.export(call.workspace_id, address=address, now=call.now)
    # The file name contains no address, because it may end up in a log.
    headers = {"Content-Disposition": f'attachment; filename="contact-{contact_id}.json"'}
    return HttpResponse(document, content_type="application/json; charset=utf-8", headers=headers)


@routes.post("/{int:contact_id}/erase", Erased, scopes=[Scope.CONTACTS_ERASE])
def erase_contact(call: Call, contact_id: ContactId) -> Erasure:
    """Erases the person for good, also from sent mail. The address stays suppressed."""
    return erasure.erase(
        call.workspace_id,
        address=_get_contact(call, contact_id).address,
        contact_id=contact_id,
        actor=call.actor,
        now=call.now,
    )


@routes.post("/erase", Erased, scopes=[Scope.CONTACTS_ERASE])
def erase_address(call: Call, payload: EraseIn) -> Erasure:
    """Erases the owner of the address for good, with or without a contact."""
    return erasure.erase(call.workspace_id, address=payload.address, actor=call.actor, now=call.now)


@export_routes.get_csv("/contacts.csv")
def export_contacts(call: Call, query: Query[ExportQuery]) -> StreamingHttpResponse:
    """All contacts, or those that match all parameters, in the format that an import reads.

    Safe for spreadsheets: cells that they would execute begin with an apostrophe.
    """
    lines = export.csv_lines(call.workspace_id, query.audience(call.now))
    export.note_export(
        call.workspace_id,
        actor=call.actor,
        list_key=query.list or "",
        has_conditions=query.filter is not None,
    )
    return csv_response(lines, file_name="contacts.csv")


def _unsubscribe(call: Call, request: UnsubscribeRequest, consent: ConsentIn) -> None:
    origin = consent.origin(call.actor)
    suppression.unsubscribe(call.workspace_id, request=request, origin=origin, now=call.now)


def _get_contact(call: Call, contact_id: int) -> Contact:
    return queries.get_contact(call.workspace_id, contact_id=contact_id)


def _show_contact(call: Call, contact_id: int) -> dict[str, object]:
    contact = _get_contact(call, contact_id)
    return {
        **dict(ContactOut.model_validate(contact)),
        "suppression": suppressions.find_status(call.workspace_id, address=contact.address),
        "subscriptions": queries.list_subscriptions(call.workspace_id, contact_id=contact_id),
    }


def _find_subscription(call: Call, contact_id: int, list_key: str) -> Subscription:
    subscriptions = queries.list_subscriptions(call.workspace_id, contact_id=contact_id)
    return subscriptions.get(list__key=list_key)
