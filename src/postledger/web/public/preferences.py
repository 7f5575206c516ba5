"""The page on which people choose what they get, take a break, or leave everything."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.http import HttpResponse, QueryDict
from django.urls import reverse

from postledger.contacts import actions
from postledger.contacts.consent import Origin
from postledger.contacts.states import SubscriptionState
from postledger.contacts.unsubscribe import Wish
from postledger.web.public import door, people, signed
from postledger.web.public.door import Visit
from postledger.web.public.people import Choice
from postledger.web.public.signed import Recipient
from postledger.web.public.wording import Words

_PAUSES = {"week": timedelta(days=7), "month": timedelta(days=30)}


@dataclass(frozen=True, slots=True)
class _Change:
    """Who changes something, from where, and when."""

    found: Recipient
    origin: Origin
    now: datetime


@door.door
def show(visit: Visit) -> HttpResponse:
    found = signed.recipient(visit.token)
    visit.limit(settings.PUBLIC_RATE if visit.is_post else settings.ONE_CLICK_RATE)
    now = datetime.now(UTC)
    if visit.is_post:
        origin = Origin("preferences page", "recipient", ip=visit.ip)
        _save(_Change(found, origin, now), visit.form())
    return _page(visit, found, now=now)


def _save(change: _Change, form: QueryDict) -> None:
    found, origin, now = change.found, change.origin, change.now
    everything = Wish(found.address)
    has_left = people.has_left(found.workspace_id, address=found.address)
    match form.get("do"):
        case "leave":
            actions.unsubscribe(found.workspace_id, wish=everything, origin=origin, now=now)
        case "return":
            actions.undo(found.workspace_id, wish=everything, origin=origin, now=now)
        case "save" if not has_left:
            _choose(change, shown=form.getlist("shown"), ticked=form.getlist("list"))
            _snooze(change, form.get("snooze", ""))
        case _:
            pass  # an old page was sent, of somebody who has left since


def _choose(change: _Change, *, shown: Collection[str], ticked: Collection[str]) -> None:
    """Changes only what was on the page: a list that came since is not left by it."""
    for choice in _choices(change.found):
        if choice.key not in shown:
            continue
        if choice.key in ticked and (choice.is_pending or not choice.is_on):
            _join(change, choice.key)
        elif choice.key not in ticked and choice.is_on:
            wish = Wish(change.found.address, choice.key)
            actions.unsubscribe(
                change.found.workspace_id, wish=wish, origin=change.origin, now=change.now
            )


def _join(change: _Change, list_key: str) -> None:
    """Asks and confirms at once: the link to this page was mailed to the address itself."""
    workspace_id, origin, now = change.found.workspace_id, change.origin, change.now
    contact_id = people.known_or_new(workspace_id, address=change.found.address)
    try:
        state = actions.subscribe(
            workspace_id, contact_id=contact_id, list_key=list_key, origin=origin, now=now
        )
    except actions.SubscriptionSuppressedError:
        return  # kept back by others; the page goes on showing it without a tick
    if state is SubscriptionState.PENDING:
        actions.confirm(
            workspace_id, contact_id=contact_id, list_key=list_key, origin=origin, now=now
        )


def _snooze(change: _Change, wanted: str) -> None:
    if wanted not in {*_PAUSES, "off"}:
        return
    contact_id = people.contact_id(change.found.workspace_id, address=change.found.address)
    until = change.now + _PAUSES[wanted] if wanted in _PAUSES else None
    for choice in _choices(change.found):
        if contact_id is not None and choice.is_on:
            actions.snooze(
                change.found.workspace_id,
                contact_id=contact_id,
                list_key=choice.key,
                until=until,
                origin=change.origin,
                now=change.now,
            )


def _choices(found: Recipient) -> list[Choice]:
    contact_id = people.contact_id(found.workspace_id, address=found.address)
    return people.choices(found.workspace_id, contact_id=contact_id)


def _page(visit: Visit, found: Recipient, *, now: datetime) -> HttpResponse:
    choices = _choices(found)
    organisation = people.organisation(found.workspace_id)
    words = visit.words(
        org=organisation.name, email=found.address, date=_last_snooze(choices, now=now)
    )
    return door.page(
        visit,
        "preferences.html",
        title=words["preferences"]["title"],
        words=words,
        organisation=organisation,
        choices=choices,
        pauses=_pauses(words, is_snoozed=bool(_last_snooze(choices, now=now))),
        has_left=people.has_left(found.workspace_id, address=found.address),
        is_saved=visit.is_post,
        urls={"preferences": visit.url(reverse("preferences"), token=found.token)},
    )


def _last_snooze(choices: Sequence[Choice], *, now: datetime) -> str:
    """The day on which a break ends, as it is written everywhere; empty without one."""
    ends = [one.snooze_until for one in choices if one.is_on and one.snooze_until]
    last = max(ends, default=now)
    return f"{last:%Y-%m-%d}" if last > now else ""


def _pauses(words: Words, *, is_snoozed: bool) -> list[dict[str, str]]:
    """The first one is chosen: what is so now."""
    keys = [*(["keep"] if is_snoozed else []), "off", *_PAUSES]
    return [{"key": key, "label": words["preferences"][f"snooze_{key}"]} for key in keys]
