"""Stores what a contact's form says, by the services of the API, and says what hinders it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from postledger.contacts import queries, suppressions
from postledger.contacts.actions import contacts, desired_state, subscriptions
from postledger.contacts.actions.desired_state import DesiredState
from postledger.contacts.actions.subscriptions import SubscriptionSuppressedError
from postledger.contacts.consent import Origin
from postledger.contacts.details import Changes, Details, Value
from postledger.contacts.models import Contact, Suppression
from postledger.contacts.states import SubscriptionState
from postledger.providers import addresses
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import words
from postledger.web.dashboard.audience.contact_form import ContactForm, write_version

_PAGE = "contact page"  # the source of a consent that ends there


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a contact cannot be stored as it stands, and where that is settled."""

    text: str
    url: str = ""
    action: str = ""
    can_be_accepted: bool = False


class ObstacleError(Exception):
    def __init__(self, obstacle: Obstacle) -> None:
        super().__init__(obstacle.text)
        self.obstacle = obstacle


def add_contact(visitor: Visitor, form: ContactForm, *, now: datetime) -> tuple[int, list[str]]:
    """Creates the contact and its subscriptions, all or nothing.

    Returns its id, and the lists that it must confirm first. Raises ObstacleError.
    """
    cleaned, workspace_id = form.cleaned_data, visitor.workspace.pk
    _check_address(visitor, form, None)
    details = Details(
        name=cleaned["name"],
        locale=cleaned["locale"],
        time_zone=cleaned["time_zone"],
        ocd_ids=cleaned["ocd_ids"],
        attributes=_without_removed(form.attribute_changes),
    )
    try:
        with transaction.atomic():
            contact_id = contacts.create_contact(
                workspace_id, address=cleaned["address"], details=details, actor=visitor.actor
            )
            return contact_id, _subscribe(visitor, form, contact_id, now)
    except contacts.ContactExistsError as error:
        raise ObstacleError(_describe_existing(visitor, form)) from error


def change_contact(
    visitor: Visitor, contact: Contact, form: ContactForm, *, now: datetime
) -> list[str]:
    """Stores what differs, all or nothing; returns the lists that must be confirmed first.

    Raises ObstacleError, also when somebody else was faster.
    """
    try:
        with transaction.atomic():
            is_moving = form.cleaned_data["address"] != contact.address
            locked = contacts.lock_contact(
                visitor.workspace.pk,
                contact_id=contact.pk,
                ends_consent=bool(form.left) or is_moving,
            )
            _check_version(visitor, form, locked)
            _check_address(visitor, form, locked)
            changes = _build_changes(locked, form)
            if changes != Changes():
                contacts.update_contact(
                    visitor.workspace.pk,
                    contact_id=contact.pk,
                    changes=changes,
                    actor=visitor.actor,
                    now=now,
                )
            _unsubscribe(visitor, form.left, contact, now)
            return _subscribe(visitor, form, contact.pk, now)
    except contacts.ContactExistsError as error:
        raise ObstacleError(_describe_existing(visitor, form)) from error


def _check_version(visitor: Visitor, form: ContactForm, contact: Contact) -> None:
    """Whether the locked contact is as it was when the form was shown."""
    if form.cleaned_data["seen"] != write_version(contact.updated_at):
        form.show_again(contact)
        text = _("This contact was changed meanwhile. Saving again replaces that by what is here.")
        raise ObstacleError(Obstacle(text, _find_url(visitor, contact), _("See it as it is")))


def _build_changes(contact: Contact, form: ContactForm) -> Changes:
    cleaned = form.cleaned_data
    stored = {
        "address": contact.address,
        "name": contact.name.strip(),  # as the form reads it
        "locale": contact.locale or "",
        "time_zone": contact.time_zone or "",
        "ocd_ids": list(contact.ocd_ids),
    }
    changed = {name: cleaned[name] for name, value in stored.items() if cleaned[name] != value}
    return Changes(**changed, attributes=form.attribute_changes or None)


def _subscribe(visitor: Visitor, form: ContactForm, contact_id: int, now: datetime) -> list[str]:
    pending = []
    for key in form.joined:
        try:
            state = subscriptions.subscribe(
                visitor.workspace.pk,
                contact_id=contact_id,
                list_key=key,
                is_confirmed=True,
                origin=Origin(form.cleaned_data["source"], visitor.actor),
                now=now,
            )
        except SubscriptionSuppressedError as error:
            text = _("The address is suppressed for %(list)s. Lift that first, or leave it out.")
            url = _find_suppressions(visitor, form)
            raise ObstacleError(
                Obstacle(text % {"list": form.names[key]}, url, _("See the suppression"))
            ) from error
        if state is SubscriptionState.PENDING:
            pending.append(form.names[key])
    return pending


def _unsubscribe(visitor: Visitor, keys: Iterable[str], contact: Contact, now: datetime) -> None:
    for key in keys:
        desired_state.update_subscription(
            visitor.workspace.pk,
            contact_id=contact.pk,
            list_key=key,
            state=DesiredState.UNSUBSCRIBED,
            origin=Origin(_PAGE, visitor.actor),
            now=now,
        )


def _check_address(visitor: Visitor, form: ContactForm, contact: Contact | None) -> None:
    """Before anything is stored: a new address that another has, that is suppressed or mistyped."""
    address: str = form.cleaned_data["address"]
    if contact is not None and address.lower() == contact.address.lower():
        return
    if queries.find_contacts(visitor.workspace.pk, [address]):
        raise ObstacleError(_describe_existing(visitor, form))
    if form.cleaned_data["accepts_address"]:
        return
    doubts, url, action = [], "", ""
    if addresses.is_internal(address):
        doubts.append(
            _(
                "The domain of this address has no ending such as .com: look whether a part is"
                " missing. Only a mail server of your own network takes email to it."
            )
        )
    stop = find_stop(visitor.workspace.pk, address)
    if stop is not None:
        doubts.append(describe_stop(stop))
        url, action = _find_suppressions(visitor, form), _("See the suppression")
    if doubts:
        raise ObstacleError(Obstacle(" ".join(doubts), url, action, can_be_accepted=True))


def find_stop(workspace_id: int, address: str) -> Suppression | None:
    """What keeps all email from an address, if anything."""
    kept = suppressions.list_of_address(workspace_id, address=address)
    return next((suppression for suppression in kept if suppression.list is None), None)


def describe_stop(stop: Suppression) -> str:
    text = _("This address is suppressed, and gets no campaign: %(reason)s.")
    return text % {"reason": words.name_reason(stop)}


def _describe_existing(visitor: Visitor, form: ContactForm) -> Obstacle:
    address: str = form.cleaned_data["address"]
    others = queries.find_contacts(visitor.workspace.pk, [address])
    text = _("Another contact has this address.")
    for other in others.values():
        return Obstacle(text, _find_url(visitor, other), _("Open that contact"))
    return Obstacle(text)  # it was deleted meanwhile; saving again succeeds


def _without_removed(changes: Mapping[str, Value | None]) -> dict[str, Value]:
    return {key: value for key, value in changes.items() if value is not None}


def _find_url(visitor: Visitor, contact: Contact) -> str:
    return reverse("contact", args=[visitor.workspace.pk, contact.pk])


def _find_suppressions(visitor: Visitor, form: ContactForm) -> str:
    url = reverse("suppressions", args=[visitor.workspace.pk])
    return f"{url}?{urlencode({'q': form.cleaned_data['address']})}"
