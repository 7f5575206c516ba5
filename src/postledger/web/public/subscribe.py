"""The form by which people ask for a list, and the mail that asks them to confirm it.

The answer is the same for every address, so that nobody learns who is known here.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings
from django.http import Http404, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse

from postledger.accounts import queries as accounts
from postledger.accounts.queries import Organisation
from postledger.contacts import actions, lists
from postledger.contacts.consent import Origin
from postledger.contacts.details import Details
from postledger.providers import addresses
from postledger.transactional import actions as transactional
from postledger.transactional.values import MailRequest
from postledger.web.public import door, people, signed, visitors, wording
from postledger.web.public.door import Visit
from postledger.web.public.signed import Confirmation
from postledger.web.public.wording import Words
from postledger.web.shared import request_ids
from postledger.web.shared.throttle import RateExceededError

# Whoever types another's address again and again fills no mailbox with it.
_MAILS_TO_ONE = "3/day"
_LONGEST_NAME = 100
_LONGEST_ID = 18
_LONGEST_IN_SUBJECT = 100
# Of the sentence that is agreed to; a new one when its words change.
_TEXT_VERSION = "subscribe-form 1"


@dataclass(frozen=True, slots=True)
class _Offer:
    """A list that people may subscribe to, and who sends it."""

    workspace_id: int
    list_key: str
    list_name: str
    organisation: Organisation
    sender: str


@door.door
def show(visit: Visit, workspace: str, list_key: str) -> HttpResponse:
    visit.limit(settings.PUBLIC_RATE)
    offer = _offer(workspace, list_key)
    if not visit.is_post:
        return _form(visit, offer)
    form = visit.form()
    email, name = form.get("email", "").strip(), form.get("name", "").strip()
    has_email, has_name = _is_address(email), len(name) <= _LONGEST_NAME and name.isprintable()
    if not has_email or not has_name:
        return _form(visit, offer, email, name, wrong_email=not has_email, wrong_name=not has_name)
    if not form.get("website"):
        _ask(visit, offer, addresses.canonical(email), name)
    return _sent(visit, offer)


def _offer(workspace: str, list_key: str) -> _Offer:
    """Without a public address no link can be made, so there is no form either."""
    workspace_id = _workspace(workspace)
    if workspace_id is None or not settings.PUBLIC_URL:
        raise Http404
    shown = {one.key: one.name for one in lists.shown(workspace_id, only_public=True)}
    senders = accounts.senders(workspace_id)
    if list_key not in shown or not senders:
        raise Http404
    first = min(senders, key=lambda sender: sender.id)
    organisation = people.organisation(workspace_id)
    return _Offer(workspace_id, list_key, shown[list_key], organisation, first.address)


def _workspace(named: str) -> int | None:
    if named.isascii() and named.isdecimal() and len(named) <= _LONGEST_ID:
        known = {found.id for found in accounts.workspaces()}
        return int(named) if int(named) in known else None
    found = accounts.workspace_named(named) if "\0" not in named else None
    return found.id if found else None


def _is_address(text: str) -> bool:
    try:
        addresses.canonical(text)
    except addresses.InvalidAddressError:
        return False
    return True


def _ask(visit: Visit, offer: _Offer, address: str, name: str) -> None:
    now = datetime.now(UTC)
    details = Details(name=name, locale=visit.language)
    contact_id = people.known_or_new(
        offer.workspace_id, address=address, details=details, is_unconfirmed=True
    )
    origin = Origin("subscribe form", "recipient", f"{_TEXT_VERSION} {visit.language}", visit.ip)
    try:
        actions.subscribe(
            offer.workspace_id,
            contact_id=contact_id,
            list_key=offer.list_key,
            origin=origin,
            now=now,
        )
        visitors.take(
            _MAILS_TO_ONE, "mail", str(offer.workspace_id), offer.list_key, address.lower()
        )
    except (actions.SubscriptionSuppressedError, RateExceededError):
        return
    transactional.accept(
        offer.workspace_id,
        mails=[
            _mail(
                visit, offer, Confirmation(offer.workspace_id, contact_id, address, offer.list_key)
            )
        ],
        request_id=request_ids.of(visit.request),
        now=now,
    )


def _mail(visit: Visit, offer: _Offer, asked: Confirmation) -> MailRequest:
    """Nothing that was typed into the form but the address: strangers write through no form."""
    path = visit.url(reverse("confirm"), token=signed.confirmation_token(asked))
    words = _words(visit, offer)["mail"]
    values = {
        "language": visit.language,
        "words": words,
        "url": settings.PUBLIC_URL.rstrip("/") + path,
        "org": offer.organisation.name,
        "org_address": offer.organisation.address,
    }
    short = wording.filled(
        wording.words(visit.language), list=offer.list_name[:_LONGEST_IN_SUBJECT]
    )
    return MailRequest(
        to=asked.address,
        subject=short["mail"]["subject"],
        html=render_to_string("mail.html", values),
        text=render_to_string("mail.txt", values),
        sender=offer.sender,
        tags=("confirmation",),
    )


def _form(
    visit: Visit,
    offer: _Offer,
    email: str = "",
    name: str = "",
    **wrong: bool,
) -> HttpResponse:
    words = _words(visit, offer)
    return door.page(
        visit,
        "subscribe.html",
        title=words["subscribe"]["title"],
        words=words,
        organisation=offer.organisation,
        status=422 if wrong else 200,
        action=visit.url(reverse("subscribe", args=[offer.workspace_id, offer.list_key])),
        email=email,
        name=name,
        **wrong,
    )


def _sent(visit: Visit, offer: _Offer) -> HttpResponse:
    words = _words(visit, offer)
    told = words["subscribe"]
    return door.page(
        visit,
        "page.html",
        title=told["sent_title"],
        words=words,
        organisation=offer.organisation,
        lines=[told["sent"], told["sent_note"]],
    )


def _words(visit: Visit, offer: _Offer) -> Words:
    return visit.words(org=offer.organisation.name, list=offer.list_name)
