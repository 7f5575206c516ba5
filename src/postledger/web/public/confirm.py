"""The pages that a confirmation mail leads to: confirm the subscription, or never again."""

from datetime import UTC, datetime
from functools import partial

from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from postledger.accounts import queries as accounts
from postledger.accounts import trail
from postledger.contacts import form_blocks, lists, queries, sql, unsubscribe_links
from postledger.contacts.actions import subscriptions, suppression
from postledger.contacts.actions.subscriptions import SubscriptionSuppressedError
from postledger.contacts.consent import Origin
from postledger.contacts.details import Details
from postledger.contacts.lists import ListUnknownError
from postledger.contacts.states import SubscriptionState
from postledger.contacts.unsubscribe_links import UnsubscribeRequest
from postledger.notifications.subscriptions import subscriptions as topic_subscriptions
from postledger.notifications.subscriptions.subscriptions import (
    InvalidMatchError,
    TooManySubscriptionsError,
)
from postledger.notifications.topics import topics
from postledger.notifications.topics.topics import TopicArchivedError
from postledger.observability import masking
from postledger.web.public import links, pages, recipients
from postledger.web.public.links import Confirmation, StaleLinkError
from postledger.web.public.pages import Visit

_GETS_MAIL = frozenset({SubscriptionState.ACTIVE, SubscriptionState.PAUSED})


@pages.public_page
def confirm_page(visit: Visit) -> HttpResponse:
    """Confirms by POST; opening the page changes nothing."""
    now = datetime.now(UTC)
    confirmation = links.read_confirmation_link(visit.token, now=now)
    visit.limit(settings.PUBLIC_RATE if visit.is_post else settings.ONE_CLICK_RATE)
    try:
        is_done = _is_confirmed(confirmation)
        if visit.is_post and not is_done:
            _confirm(confirmation, Origin("confirmation page", "recipient", ip=visit.ip), now)
            is_done = True
    except (
        ListUnknownError,
        SubscriptionSuppressedError,
        InvalidMatchError,
        TooManySubscriptionsError,
        TopicArchivedError,
    ):
        raise StaleLinkError("The list cannot be subscribed to any more.") from None
    return _render_confirmation(visit, confirmation, is_done=is_done)


def _is_confirmed(confirmation: Confirmation) -> bool:
    """Whether there is nothing left to confirm; refuses a link that its owner has left since."""
    workspace_id, address = confirmation.workspace_id, confirmation.address
    list_id = lists.get_active_id(workspace_id, confirmation.list_key)
    if queries.has_left_since(
        workspace_id, address=address, list_id=list_id, since=confirmation.asked_at
    ):
        raise StaleLinkError("The owner of the address has left since. Subscribe again.")
    contact_id = recipients.find_contact_id(workspace_id, address=address)
    states = {
        choice.key: choice.state
        for choice in recipients.list_choices(workspace_id, contact_id=contact_id)
    }
    is_on = states.get(confirmation.list_key) in _GETS_MAIL
    # Who left everything before confirms, whatever the subscription says.
    if not is_on or recipients.has_left(workspace_id, address=address):
        return False
    topic = topics.find_topic(workspace_id, confirmation.list_key)
    return topic is None or (
        contact_id is not None
        and topic_subscriptions.find_same(topic, contact_id=contact_id, match=confirmation.match)
    )


def _confirm(confirmation: Confirmation, origin: Origin, now: datetime) -> None:
    """Stores what the form asked for, with the proof of both steps; a second press changes nothing.

    A person who had unsubscribed from everything comes back for this list alone.
    """
    workspace_id, list_key = confirmation.workspace_id, confirmation.list_key
    form = Origin("subscribe form", "recipient", confirmation.text_version, confirmation.ip)
    details = Details(name=confirmation.name, locale=confirmation.language)
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        if _is_confirmed(confirmation):
            return
        contact_id = recipients.find_or_create_contact(
            workspace_id, address=confirmation.address, details=details, is_unconfirmed=True
        )
        subscribe = partial(
            subscriptions.subscribe, workspace_id, contact_id=contact_id, list_key=list_key
        )
        confirm = partial(
            subscriptions.confirm, workspace_id, contact_id=contact_id, list_key=list_key
        )
        subscribe(origin=form, now=confirmation.asked_at)
        is_new = confirm(origin=origin, now=now)
        if not is_new and recipients.has_left(workspace_id, address=confirmation.address):
            request = UnsubscribeRequest(confirmation.address, list_key)
            suppression.unsubscribe(workspace_id, request=request, origin=origin, now=now)
            subscribe(origin=origin, now=now)
            confirm(origin=origin, now=now)
        _subscribe_to_topic(confirmation, contact_id, form, now)


def _subscribe_to_topic(
    confirmation: Confirmation, contact_id: int, form: Origin, now: datetime
) -> None:
    """Stores what the events are to be about, if the list is that of a topic."""
    topic = topics.find_topic(confirmation.workspace_id, confirmation.list_key)
    if topic is not None:
        topic_subscriptions.subscribe(
            topic,
            contact_id=contact_id,
            match=confirmation.match,
            locale=confirmation.language,
            origin=form,
            now=now,
        )


def _render_confirmation(
    visit: Visit, confirmation: Confirmation, *, is_done: bool
) -> HttpResponse:
    workspace_id = confirmation.workspace_id
    done, ask = gettext("You are subscribed"), gettext("Confirm your subscription")
    return pages.render_page(
        visit,
        "confirm.html",
        title=done if is_done else ask,
        workspace_id=workspace_id,
        email=confirmation.address,
        list_name=recipients.find_list_name(workspace_id, key=confirmation.list_key),
        match=_name_match(confirmation),
        is_done=is_done,
        action=visit.url(reverse("confirm"), token=visit.token),
        preferences_url=_preferences_url(visit, confirmation),
    )


def _name_match(confirmation: Confirmation) -> list[tuple[str, str]]:
    """What it is about, by the words that people have for the fields; two may have one."""
    key = confirmation.list_key
    titles = topics.find_titles(confirmation.workspace_id, [key] if confirmation.match else [])
    return [(titles.get((key, field), field), value) for field, value in confirmation.match.items()]


def _preferences_url(visit: Visit, confirmation: Confirmation) -> str:
    """Empty if there is no secret to sign the link with."""
    secret = settings.UNSUBSCRIBE_SECRET.encode()
    if not secret:
        return ""
    workspace_id = confirmation.workspace_id
    is_first = accounts.organisation(workspace_id).is_first
    request = UnsubscribeRequest(
        confirmation.address,
        confirmation.list_key,
        workspace_id=None if is_first else workspace_id,
    )
    return visit.url(
        reverse("preferences"), token=unsubscribe_links.sign_token(request, secret=secret)
    )


@pages.public_page
def never_page(visit: Visit) -> HttpResponse:
    """Lets no form of the workspace mail the address again, by POST; the link never expires."""
    confirmation = links.read_old_confirmation_link(visit.token)
    visit.limit(settings.PUBLIC_RATE if visit.is_post else settings.ONE_CLICK_RATE)
    if visit.is_post:
        _block(confirmation)
    return pages.render_page(
        visit,
        "never.html",
        title=gettext("No more such mail"),
        workspace_id=confirmation.workspace_id,
        email=confirmation.address,
        is_done=visit.is_post,
        action=visit.url(reverse("never"), token=visit.token),
    )


def _block(confirmation: Confirmation) -> None:
    workspace_id, address = confirmation.workspace_id, confirmation.address
    with transaction.atomic():
        if form_blocks.block(workspace_id, address=address):
            trail.note(
                workspace_id,
                actor="recipient",
                action="form.blocked",
                subject=masking.mask_text(address),
            )
