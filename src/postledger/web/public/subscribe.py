"""Double opt-in: the subscribe form, and the mail that asks for confirmation.

The form answers the same for every address, and stores nothing but the mail: nobody learns which
addresses are known, and no stranger creates contacts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import gettext

from postledger.accounts import queries as accounts
from postledger.contacts import form_blocks, lists
from postledger.content.brandings import find_branding
from postledger.notifications.topics import topics
from postledger.providers import addresses
from postledger.transactional import actions as transactional
from postledger.transactional.requests import MailRequest
from postledger.web.public import confirmation_mail, links, pages, recipients
from postledger.web.public.links import Confirmation
from postledger.web.public.pages import MATCH_PREFIX, Visit
from postledger.web.shared import page_frame, requests, throttle
from postledger.web.shared.throttle import RateExceededError

_MAILS_PER_MAILBOX = "3/day"
_MAILS_OF_ALL_WORKSPACES = "10/day"
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_LONGEST_NAME = 100
_LONGEST_ID = 18
_LONGEST_VALUE = 60  # of a match field: all of them are in the link of the mail
# Of the consent text; raise it when the text changes.
_TEXT_VERSION = "subscribe-form 1"


@dataclass(frozen=True, slots=True)
class _Offer:
    """A list that people may subscribe to, and its sender."""

    workspace_id: int
    list_key: str
    list_name: str
    sender: str
    match_fields: Sequence[str] = ()  # of a topic: by which people choose


@dataclass(frozen=True, slots=True)
class _Typed:
    """What a visitor filled in."""

    match: Mapping[str, str]  # without what was left empty
    email: str = ""
    name: str = ""

    def list_wrong(self) -> Iterator[str]:
        """The names of the fields to mend, in the order of the page."""
        if not addresses.is_valid(self.email) or addresses.is_routed(self.address):
            yield "email"
        if len(self.name) > _LONGEST_NAME or not self.name.isprintable():
            yield "name"
        for field, value in self.match.items():
            if len(value) > _LONGEST_VALUE or not value.isprintable():
                yield f"{MATCH_PREFIX}{field}"

    @property
    def address(self) -> str:
        return addresses.canonical(self.email)


@pages.public_page
def subscribe_page(visit: Visit, workspace: str, list_key: str) -> HttpResponse:
    visit.limit(settings.PUBLIC_RATE)
    offer = _find_offer(workspace, list_key)
    if not visit.is_post:
        return _render_form(visit, offer, _Typed(_read_match(offer, visit.request.GET)))
    form = visit.form()
    email, name = form.get("email", "").strip(), form.get("name", "").strip()
    typed = _Typed(_read_match(offer, form), email, name)
    wrong = list(typed.list_wrong())
    if wrong:
        return _render_form(visit, offer, typed, wrong)
    # Only a bot fills in the hidden field.
    if not form.get("website"):
        _request_confirmation(visit, offer, typed)
    return _render_sent(visit, offer)


def _read_match(offer: _Offer, form: QueryDict) -> dict[str, str]:
    """What the events are to be about; a field that is left empty matches all."""
    given = {field: form.get(f"{MATCH_PREFIX}{field}", "").strip() for field in offer.match_fields}
    return {field: value for field, value in given.items() if value}


def _find_offer(workspace: str, list_key: str) -> _Offer:
    """Without PUBLIC_URL no link can be made, so there is no form either."""
    workspace_id = _find_workspace(workspace)
    if workspace_id is None or not settings.PUBLIC_URL:
        raise Http404
    public = {item.key: item.name for item in lists.list_public(workspace_id)}
    sender = accounts.default_sender(workspace_id)
    if list_key not in public or sender is None:
        raise Http404
    topic = topics.find_topic(workspace_id, list_key)
    return _Offer(
        workspace_id,
        list_key,
        public[list_key],
        sender.address,
        match_fields=() if topic is None else tuple(topic.match_fields),
    )


def _find_workspace(name_or_id: str) -> int | None:
    if name_or_id.isascii() and name_or_id.isdecimal() and len(name_or_id) <= _LONGEST_ID:
        ids = {workspace.id for workspace in accounts.workspaces()}
        return int(name_or_id) if int(name_or_id) in ids else None
    workspace = accounts.workspace_named(name_or_id) if "\0" not in name_or_id else None
    return workspace.id if workspace else None


def _request_confirmation(visit: Visit, offer: _Offer, typed: _Typed) -> None:
    """No mail where the mailbox had enough of them; where the forms did, the visitor is told."""
    try:
        _count_mail(offer, typed.address)
    except RateExceededError:
        return
    # Last: whoever sends the same address again and again uses up nothing of others.
    throttle.count_visit(settings.FORM_MAILS_OF_ONE, "forms", throttle.network_of(visit.ip))
    throttle.count_visit(settings.SUBSCRIBE_RATE, "forms", str(offer.workspace_id))
    confirmation = Confirmation(
        workspace_id=offer.workspace_id,
        address=typed.address,
        list_key=offer.list_key,
        name=typed.name,
        language=_find_locale(visit),
        text_version=f"{_TEXT_VERSION} {visit.language}",
        ip=visit.ip,
        asked_at=datetime.now(UTC),
        match=typed.match,
    )
    _mail_unless_blocked(visit, offer, confirmation)


def _has_chosen_language(visit: Visit) -> bool:
    requested = visit.request.GET.get("lang", "")
    return page_frame.is_offered(requested, offered=page_frame.READER_LANGUAGES)


def _find_locale(visit: Visit) -> str:
    """That of the contact: the language that was chosen, else the first one of the browser, which
    may be one that no page has.
    """
    first = page_frame.find_first_language(visit.request.headers.get("Accept-Language", ""))
    if _has_chosen_language(visit) or not _LANGUAGE.fullmatch(first):
        return visit.language
    return first


def _mail_unless_blocked(visit: Visit, offer: _Offer, confirmation: Confirmation) -> None:
    """The same statements for every address: whether its owner is known, has left or is blocked
    shows neither in the answer nor in its time.
    """
    # The outer transaction always commits: a rollback would not wait for the disk.
    with transaction.atomic(), transaction.atomic():
        transactional.accept(
            offer.workspace_id,
            mails=[_confirmation_mail(visit, offer, confirmation)],
            request_id=requests.id_of(visit.request),
            now=confirmation.asked_at,
        )
        is_blocked = form_blocks.is_blocked(
            offer.workspace_id, address=confirmation.address, list_key=offer.list_key
        )
        transaction.set_rollback(is_blocked)


def _count_mail(offer: _Offer, address: str) -> None:
    """Somebody who submits another person's address again and again does not fill that mailbox."""
    mailbox, workspace = addresses.mailbox_of(address), str(offer.workspace_id)
    throttle.count_visit(_MAILS_PER_MAILBOX, "mail", workspace, mailbox)
    throttle.count_visit(_MAILS_OF_ALL_WORKSPACES, "mail", mailbox)


def _confirmation_mail(visit: Visit, offer: _Offer, confirmation: Confirmation) -> MailRequest:
    """Contains only the address of the form: strangers cannot send their texts through it."""
    token, base_url = links.seal_confirmation(confirmation), settings.PUBLIC_URL.rstrip("/")
    mail = confirmation_mail.render(
        visit.language,
        list_name=offer.list_name,
        organisation=recipients.find_organisation(offer.workspace_id),
        branding=find_branding(offer.workspace_id),
        url=base_url + visit.url(reverse("confirm"), token=token),
        never_url=base_url + visit.url(reverse("never"), token=token),
    )
    return MailRequest(
        to=confirmation.address,
        subject=mail.subject,
        html=mail.html,
        text=mail.text,
        sender=offer.sender,
        tags=("confirmation",),
    )


def _render_form(
    visit: Visit, offer: _Offer, typed: _Typed, wrong: Sequence[str] = ()
) -> HttpResponse:
    path = reverse("subscribe", args=[offer.workspace_id, offer.list_key])
    titles = topics.find_titles(offer.workspace_id, [offer.list_key] if offer.match_fields else [])
    return pages.render_page(
        visit,
        "subscribe.html",
        title=gettext("Subscribe to %(list_name)s") % {"list_name": offer.list_name},
        workspace_id=offer.workspace_id,
        list_name=offer.list_name,
        status=422 if wrong else 200,
        # A language that nobody chose is that of the browser again.
        action=visit.url(path) if _has_chosen_language(visit) else path,
        email=typed.email,
        name=typed.name,
        match_fields=[
            {
                "name": f"{MATCH_PREFIX}{field}",
                "label": titles.get((offer.list_key, field), field),
                "value": typed.match.get(field, ""),
            }
            for field in offer.match_fields
        ],
        wrong=wrong,
    )


def _render_sent(visit: Visit, offer: _Offer) -> HttpResponse:
    return pages.render_page(
        visit,
        "page.html",
        title=gettext("Look into your mailbox"),
        workspace_id=offer.workspace_id,
        lines=[
            gettext(
                "If mail can be sent to this address, a message is on its way. Open the link in it"
                " to confirm. It works for 7 days."
            ),
            gettext("Nothing there? Look into the spam folder, or try again."),
        ],
    )
