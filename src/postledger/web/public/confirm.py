"""The page on which the owner of an address says yes to a list; opening it says nothing."""

from datetime import UTC, datetime

from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from django.urls import reverse

from postledger.contacts import actions, queries, unsubscribe
from postledger.contacts.consent import Origin
from postledger.contacts.states import SubscriptionState
from postledger.contacts.unsubscribe import Wish
from postledger.web.public import door, people, signed
from postledger.web.public.door import Visit
from postledger.web.public.signed import Confirmation, StaleLinkError


@door.door
def show(visit: Visit) -> HttpResponse:
    asked = signed.confirmation(visit.token)
    visit.limit(settings.PUBLIC_RATE if visit.is_post else settings.ONE_CLICK_RATE)
    state = _state(asked)
    if visit.is_post and state is SubscriptionState.PENDING:
        _confirm(asked, Origin("confirmation page", "recipient", ip=visit.ip))
        state = _state(asked)
    if state is None:
        raise StaleLinkError("The list was left or is gone: subscribe again.")
    return _page(visit, asked, is_done=state is not SubscriptionState.PENDING)


def _state(asked: Confirmation) -> SubscriptionState | None:
    """How the subscription stands; None when there is nothing left to confirm.

    Who had left everything is asked again, however the subscription stands.
    """
    known = queries.find(asked.workspace_id, contact_id=asked.contact_id)
    if known is None or known.address.lower() != asked.address.lower():
        return None
    choices = people.choices(asked.workspace_id, contact_id=asked.contact_id)
    own = next((one for one in choices if one.key == asked.list_key and one.is_on), None)
    if own is not None and people.has_left(asked.workspace_id, address=asked.address):
        return SubscriptionState.PENDING
    return own.state if own else None


def _confirm(asked: Confirmation, origin: Origin) -> None:
    """Who had left everything, and was on this list then, comes back for this list alone."""
    workspace_id, contact_id, list_key = asked.workspace_id, asked.contact_id, asked.list_key
    now = datetime.now(UTC)
    with transaction.atomic():
        is_new = actions.confirm(
            workspace_id, contact_id=contact_id, list_key=list_key, origin=origin, now=now
        )
        if not is_new and people.has_left(workspace_id, address=asked.address):
            wish = Wish(asked.address, list_key)
            actions.unsubscribe(workspace_id, wish=wish, origin=origin, now=now)
            actions.subscribe(
                workspace_id, contact_id=contact_id, list_key=list_key, origin=origin, now=now
            )
            actions.confirm(
                workspace_id, contact_id=contact_id, list_key=list_key, origin=origin, now=now
            )


def _page(visit: Visit, asked: Confirmation, *, is_done: bool) -> HttpResponse:
    organisation = people.organisation(asked.workspace_id)
    words = visit.words(
        org=organisation.name,
        email=asked.address,
        list=people.list_name(asked.workspace_id, key=asked.list_key),
    )
    return door.page(
        visit,
        "confirm.html",
        title=words["confirm"]["done_title" if is_done else "title"],
        words=words,
        organisation=organisation,
        is_done=is_done,
        action=visit.url(reverse("confirm"), token=visit.token),
        preferences_url=_preferences_url(visit, asked, is_default=organisation.is_default),
    )


def _preferences_url(visit: Visit, asked: Confirmation, *, is_default: bool) -> str:
    """The way to one's own choices; there is none where no such link can be signed."""
    secret = settings.UNSUBSCRIBE_SECRET.encode()
    if not secret:
        return ""
    wish = Wish(
        asked.address, asked.list_key, workspace_id=None if is_default else asked.workspace_id
    )
    return visit.url(reverse("preferences"), token=unsubscribe.token(wish, secret=secret))
