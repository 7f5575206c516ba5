"""Double opt-in: the subscribe form, the mail that asks for confirmation, and its page.

The form answers the same for every address, so that nobody learns which addresses are known.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse

from postledger.accounts import queries as accounts
from postledger.accounts.queries import Organisation
from postledger.contacts import lists, queries, unsubscribe_links
from postledger.contacts.actions import subscriptions, suppression
from postledger.contacts.consent import Origin
from postledger.contacts.details import Details
from postledger.contacts.states import SubscriptionState
from postledger.contacts.unsubscribe_links import UnsubscribeRequest
from postledger.providers import addresses
from postledger.transactional import actions as transactional
from postledger.transactional.requests import MailRequest
from postledger.web.public import links, pages, recipients
from postledger.web.public.links import Confirmation, StaleLinkError
from postledger.web.public.pages import Texts, Visit
from postledger.web.shared import requests, throttle
from postledger.web.shared.throttle import RateExceededError

# Somebody who submits another person's address again and again does not fill that mailbox.
_MAILS_PER_ADDRESS = "3/day"
_LONGEST_NAME = 100
_LONGEST_ID = 18
_LONGEST_IN_SUBJECT = 100
# Of the consent text; raise it when the text changes.
_TEXT_VERSION = "subscribe-form 1"


@dataclass(frozen=True, slots=True)
class _Offer:
    """A list that people may subscribe to, and its sender."""

    workspace_id: int
    list_key: str
    list_name: str
    organisation: Organisation
    sender: str


@pages.public_page
def subscribe_page(visit: Visit, workspace: str, list_key: str) -> HttpResponse:
    visit.limit(settings.PUBLIC_RATE)
    offer = _find_offer(workspace, list_key)
    if not visit.is_post:
        return _render_form(visit, offer)
    form = visit.form()
    email, name = form.get("email", "").strip(), form.get("name", "").strip()
    has_email, has_name = (
        addresses.is_valid(email),
        len(name) <= _LONGEST_NAME and name.isprintable(),
    )
    if not has_email or not has_name:
        return _render_form(
            visit, offer, email, name, wrong_email=not has_email, wrong_name=not has_name
        )
    # Only a bot fills in the hidden field.
    if not form.get("website"):
        _request_confirmation(visit, offer, addresses.canonical(email), name)
    return _render_sent(visit, offer)


def _find_offer(workspace: str, list_key: str) -> _Offer:
    """Without PUBLIC_URL no link can be made, so there is no form either."""
    workspace_id = _find_workspace(workspace)
    if workspace_id is None or not settings.PUBLIC_URL:
        raise Http404
    public = {item.key: item.name for item in lists.list_public(workspace_id)}
    senders = accounts.senders(workspace_id)
    if list_key not in public or not senders:
        raise Http404
    first = min(senders, key=lambda sender: sender.id)
    organisation = recipients.find_organisation(workspace_id)
    return _Offer(workspace_id, list_key, public[list_key], organisation, first.address)


def _find_workspace(name_or_id: str) -> int | None:
    if name_or_id.isascii() and name_or_id.isdecimal() and len(name_or_id) <= _LONGEST_ID:
        ids = {workspace.id for workspace in accounts.workspaces()}
        return int(name_or_id) if int(name_or_id) in ids else None
    workspace = accounts.workspace_named(name_or_id) if "\0" not in name_or_id else None
    return workspace.id if workspace else None


def _request_confirmation(visit: Visit, offer: _Offer, address: str, name: str) -> None:
    now = datetime.now(UTC)
    details = Details(name=name, locale=visit.language)
    contact_id = recipients.find_or_create_contact(
        offer.workspace_id, address=address, details=details, is_unconfirmed=True
    )
    origin = Origin("subscribe form", "recipient", f"{_TEXT_VERSION} {visit.language}", visit.ip)
    confirmation = Confirmation(offer.workspace_id, contact_id, address, offer.list_key)
    try:
        subscriptions.subscribe(
            offer.workspace_id,
            contact_id=contact_id,
            list_key=offer.list_key,
            origin=origin,
            now=now,
        )
        throttle.count_visit(
            _MAILS_PER_ADDRESS, "mail", str(offer.workspace_id), offer.list_key, address.lower()
        )
    except (subscriptions.SubscriptionSuppressedError, RateExceededError):
        return
    transactional.accept(
        offer.workspace_id,
        mails=[_confirmation_mail(visit, offer, confirmation)],
        request_id=requests.id_of(visit.request),
        now=now,
    )


def _confirmation_mail(visit: Visit, offer: _Offer, confirmation: Confirmation) -> MailRequest:
    """Contains only the address of the form: strangers cannot send their texts through it."""
    path = visit.url(reverse("confirm"), token=links.sign_confirmation(confirmation))
    values = {
        "language": visit.language,
        "texts": _offer_texts(visit, offer)["mail"],
        "url": settings.PUBLIC_URL.rstrip("/") + path,
        "org": offer.organisation.name,
        "org_address": offer.organisation.address,
    }
    short = visit.texts(list=offer.list_name[:_LONGEST_IN_SUBJECT])
    return MailRequest(
        to=confirmation.address,
        subject=short["mail"]["subject"],
        html=render_to_string("mail.html", values),
        text=render_to_string("mail.txt", values),
        sender=offer.sender,
        tags=("confirmation",),
    )


def _render_form(
    visit: Visit, offer: _Offer, email: str = "", name: str = "", **wrong: bool
) -> HttpResponse:
    texts = _offer_texts(visit, offer)
    return pages.render_page(
        visit,
        "subscribe.html",
        title=texts["subscribe"]["title"],
        texts=texts,
        organisation=offer.organisation,
        status=422 if wrong else 200,
        action=visit.url(reverse("subscribe", args=[offer.workspace_id, offer.list_key])),
        email=email,
        name=name,
        **wrong,
    )


def _render_sent(visit: Visit, offer: _Offer) -> HttpResponse:
    texts = _offer_texts(visit, offer)
    return pages.render_page(
        visit,
        "page.html",
        title=texts["subscribe"]["sent_title"],
        texts=texts,
        organisation=offer.organisation,
        lines=[texts["subscribe"]["sent"], texts["subscribe"]["sent_note"]],
    )


def _offer_texts(visit: Visit, offer: _Offer) -> Texts:
    return visit.texts(org=offer.organisation.name, list=offer.list_name)


@pages.public_page
def confirm_page(visit: Visit) -> HttpResponse:
    """Confirms by POST; opening the page changes nothing."""
    confirmation = links.read_confirmation_link(visit.token)
    visit.limit(settings.PUBLIC_RATE if visit.is_post else settings.ONE_CLICK_RATE)
    state = _find_state(confirmation)
    if visit.is_post and state is SubscriptionState.PENDING:
        _confirm(confirmation, Origin("confirmation page", "recipient", ip=visit.ip))
        state = _find_state(confirmation)
    if state is None:
        raise StaleLinkError("The subscription no longer exists. Subscribe again.")
    return _render_confirmation(visit, confirmation, is_done=state is not SubscriptionState.PENDING)


def _find_state(confirmation: Confirmation) -> SubscriptionState | None:
    """The state of the subscription; None if there is nothing left to confirm.

    Pending for a person who unsubscribed from everything, whatever the subscription says.
    """
    workspace_id, contact_id = confirmation.workspace_id, confirmation.contact_id
    contact = queries.find_contact(workspace_id, contact_id=contact_id)
    if contact is None or contact.address.lower() != confirmation.address.lower():
        return None
    for choice in recipients.list_choices(workspace_id, contact_id=contact_id):
        if choice.key == confirmation.list_key and choice.is_on:
            has_left = recipients.has_left(workspace_id, address=confirmation.address)
            return SubscriptionState.PENDING if has_left else choice.state
    return None


def _confirm(confirmation: Confirmation, origin: Origin) -> None:
    """A person who had unsubscribed from everything comes back for this list alone."""
    workspace_id, list_key = confirmation.workspace_id, confirmation.list_key
    contact_id, now = confirmation.contact_id, datetime.now(UTC)
    with transaction.atomic():
        is_new = subscriptions.confirm(
            workspace_id, contact_id=contact_id, list_key=list_key, origin=origin, now=now
        )
        if not is_new and recipients.has_left(workspace_id, address=confirmation.address):
            request = UnsubscribeRequest(confirmation.address, list_key)
            suppression.unsubscribe(workspace_id, request=request, origin=origin, now=now)
            subscriptions.subscribe(
                workspace_id, contact_id=contact_id, list_key=list_key, origin=origin, now=now
            )
            subscriptions.confirm(
                workspace_id, contact_id=contact_id, list_key=list_key, origin=origin, now=now
            )


def _render_confirmation(
    visit: Visit, confirmation: Confirmation, *, is_done: bool
) -> HttpResponse:
    workspace_id = confirmation.workspace_id
    organisation = recipients.find_organisation(workspace_id)
    texts = visit.texts(
        org=organisation.name,
        email=confirmation.address,
        list=recipients.find_list_name(workspace_id, key=confirmation.list_key),
    )
    return pages.render_page(
        visit,
        "confirm.html",
        title=texts["confirm"]["done_title" if is_done else "title"],
        texts=texts,
        organisation=organisation,
        is_done=is_done,
        action=visit.url(reverse("confirm"), token=visit.token),
        preferences_url=_preferences_url(visit, confirmation, organisation),
    )


def _preferences_url(visit: Visit, confirmation: Confirmation, organisation: Organisation) -> str:
    """Empty if there is no secret to sign the link with."""
    secret = settings.UNSUBSCRIBE_SECRET.encode()
    if not secret:
        return ""
    request = UnsubscribeRequest(
        confirmation.address,
        confirmation.list_key,
        workspace_id=None if organisation.is_first else confirmation.workspace_id,
    )
    return visit.url(
        reverse("preferences"), token=unsubscribe_links.sign_token(request, secret=secret)
    )
