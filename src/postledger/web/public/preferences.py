"""The page on which people choose lists, take a break, or unsubscribe from everything."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from babel.dates import format_date
from django.conf import settings
from django.db import transaction
from django.http import HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import get_language, gettext

from postledger.contacts import link_unsubscribes
from postledger.contacts.actions import restoration, subscriptions, suppression
from postledger.contacts.consent import Origin
from postledger.contacts.states import SubscriptionState
from postledger.contacts.unsubscribe_links import LinkOwner, UnsubscribeRequest
from postledger.notifications.subscriptions import early_departures
from postledger.notifications.topics import topics
from postledger.web.public import links, pages, recipients, topic_choices
from postledger.web.public.pages import Visit
from postledger.web.public.recipients import ListChoice
from postledger.web.public.topic_choices import BREAKS


@dataclass(frozen=True, slots=True)
class _Change:
    """Who changes something, from where, and when."""

    recipient: LinkOwner
    origin: Origin
    now: datetime

    @property
    def workspace_id(self) -> int:
        return self.recipient.workspace_id

    def unsubscribe(self, request: UnsubscribeRequest) -> None:
        suppression.unsubscribe(
            self.workspace_id, request=request, origin=self.origin, now=self.now
        )


@pages.public_page
def preferences_page(visit: Visit) -> HttpResponse:
    recipient = links.read_unsubscribe_link(visit.token)
    visit.limit(settings.PUBLIC_RATE if visit.is_post else settings.ONE_CLICK_RATE)
    now = datetime.now(UTC)
    if visit.is_post:
        origin = Origin(link_unsubscribes.PREFERENCES_PAGE, "recipient", ip=visit.ip)
        _save(_Change(recipient, origin, now), visit.form())
    return _render(visit, recipient, now=now)


def _save(change: _Change, form: QueryDict) -> None:
    address = change.recipient.address
    everything = UnsubscribeRequest(address)
    has_left = recipients.has_left(change.workspace_id, address=address)
    match form.get("do"):
        case "leave":
            change.unsubscribe(everything)
        case "return":
            restoration.undo(
                change.workspace_id, request=everything, origin=change.origin, now=change.now
            )
        case "save" if not has_left:
            _choose_lists(change, shown=form.getlist("shown"), ticked=form.getlist("list"))
            _snooze(change, form.get("snooze", ""))
        case "topic-save" | "topic-pause" | "topic-resume" | "topic-end" if not has_left:
            topic_choices.change(
                change.workspace_id,
                contact_id=recipients.find_contact_id(change.workspace_id, address=address),
                form=form,
                origin=change.origin,
                now=change.now,
            )
        case _:
            pass  # an old page of a person who has unsubscribed since


def _choose_lists(change: _Change, *, shown: Collection[str], ticked: Collection[str]) -> None:
    """Changes only the lists of the submitted page, not those that were added since."""
    for choice in _list_choices(change.recipient):
        if choice.key not in shown:
            continue
        if choice.key in ticked and (choice.is_pending or not choice.is_on):
            _subscribe(change, choice.key)
        elif choice.key not in ticked and choice.is_on:
            change.unsubscribe(UnsubscribeRequest(change.recipient.address, choice.key))


def _subscribe(change: _Change, list_key: str) -> None:
    """Subscribes and confirms at once: the link to this page was mailed to the address."""
    workspace_id, origin, now = change.workspace_id, change.origin, change.now
    contact_id = recipients.find_or_create_contact(workspace_id, address=change.recipient.address)
    try:
        state = subscriptions.subscribe(
            workspace_id, contact_id=contact_id, list_key=list_key, origin=origin, now=now
        )
    except subscriptions.SubscriptionSuppressedError:
        return  # the workspace suppressed it; the page goes on showing it without a tick
    if state is SubscriptionState.PENDING:
        subscriptions.confirm(
            workspace_id, contact_id=contact_id, list_key=list_key, origin=origin, now=now
        )
    topic_choices.subscribe_to_all(
        workspace_id, contact_id=contact_id, list_key=list_key, origin=origin, now=now
    )


def _snooze(change: _Change, length: str) -> None:
    if length not in {*BREAKS, "off"}:
        return
    workspace_id = change.workspace_id
    contact_id = recipients.find_contact_id(workspace_id, address=change.recipient.address)
    until = change.now + BREAKS[length] if length in BREAKS else None
    if contact_id is None:
        return
    with transaction.atomic():
        for choice in _list_choices(change.recipient):
            if choice.is_on:
                subscriptions.snooze(
                    workspace_id,
                    contact_id=contact_id,
                    list_key=choice.key,
                    until=until,
                    origin=change.origin,
                    now=change.now,
                )
        early_departures.bring_forward(workspace_id, contact_id=contact_id)


def _list_choices(recipient: LinkOwner) -> list[ListChoice]:
    workspace_id = recipient.workspace_id
    contact_id = recipients.find_contact_id(workspace_id, address=recipient.address)
    # Of a topic with a match one is told only what one chose on its own form.
    hidden = topics.list_keys_with_match(workspace_id)
    choices = recipients.list_choices(workspace_id, contact_id=contact_id)
    return [choice for choice in choices if choice.state is not None or choice.key not in hidden]


def _render(visit: Visit, recipient: LinkOwner, *, now: datetime) -> HttpResponse:
    workspace_id = recipient.workspace_id
    choices = _list_choices(recipient)
    break_end = _break_end(choices, now=now)
    contact_id = recipients.find_contact_id(workspace_id, address=recipient.address)
    return pages.render_page(
        visit,
        "preferences.html",
        title=gettext("Your mail"),
        workspace_id=workspace_id,
        email=recipient.address,
        choices=choices,
        pauses=_break_options(break_end),
        topics=[
            {"choice": choice, "pauses": _break_options(choice.break_end)}
            for choice in topic_choices.list_choices(workspace_id, contact_id=contact_id, now=now)
        ],
        has_left=recipients.has_left(workspace_id, address=recipient.address),
        is_saved=visit.is_post,
        urls={"preferences": visit.url(reverse("preferences"), token=recipient.token)},
    )


def _break_end(choices: Sequence[ListChoice], *, now: datetime) -> datetime | None:
    """When the longest break ends; None without one."""
    ends = [choice.snooze_until for choice in choices if choice.is_on and choice.snooze_until]
    last = max(ends, default=now)
    return last if last > now else None


def _break_options(break_end: datetime | None) -> list[dict[str, str]]:
    """The first option keeps the current state; the page preselects it."""
    day = break_end and format_date(break_end, "long", locale=get_language())
    labels = {
        "keep": gettext("On a break until %(date)s") % {"date": day},
        "off": gettext("No break"),
        "week": gettext("A week without mail"),
        "month": gettext("A month without mail"),
    }
    keys = [*(["keep"] if break_end else []), "off", *BREAKS]
    return [{"key": key, "label": labels[key]} for key in keys]
