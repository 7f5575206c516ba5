"""The one story of a contact: campaigns, single emails, notifications and consent, newest first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.accounts import trail
from postledger.accounts.models import AuditEntry
from postledger.campaigns.planning import exclusions
from postledger.contacts import queries
from postledger.contacts.models import ConsentEvent, Contact
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.figures import messages
from postledger.deliveries.figures.message_sources import Message, MessageFilters
from postledger.deliveries.states import State
from postledger.notifications.events import contact_notifications
from postledger.notifications.events.contact_notifications import ContactNotification
from postledger.notifications.fan_out import skip_texts
from postledger.web.dashboard.audience import former_addresses, words
from postledger.web.dashboard.components import actor_names
from postledger.web.dashboard.components.badges import Badge
from postledger.web.dashboard.runs.words import describe_exclusion, describe_stop

ON_A_PAGE = 50
_ONE_MINUTE = timedelta(minutes=1)  # which the moments of a story are told in
_MOST_CHANGES = 1_000  # of consent, which are read at once


class Part(StrEnum):
    """Of the story; a contact's page shows all of them or one."""

    CAMPAIGNS = "campaigns"
    SINGLE = "single"
    NOTIFICATIONS = "notifications"
    CONSENT = "consent"


TITLES: Mapping[Part, Promise | str] = {
    Part.CAMPAIGNS: gettext_lazy("Campaigns"),
    Part.SINGLE: gettext_lazy("Single emails"),
    Part.NOTIFICATIONS: gettext_lazy("Notifications"),
    Part.CONSENT: gettext_lazy("Consent"),
}
_KINDS: Mapping[Part | None, StreamKind] = {
    Part.CAMPAIGNS: StreamKind.CAMPAIGN,
    Part.SINGLE: StreamKind.TRANSACTIONAL,
}


@dataclass(frozen=True, slots=True)
class Entry:
    at: datetime
    icon: str
    text: str
    url: str = ""
    badge: Badge | None = None
    note: str = ""
    tone: str = ""
    result_at: datetime | None = None  # of an email, where it came later than the entry's moment
    starts_day: bool = False


@dataclass(frozen=True, slots=True)
class StoryPage:
    entries: Sequence[Entry]
    older: datetime | None  # the older entries are before this moment; None: there are none


def read_story(
    workspace_id: int, contact: Contact, *, part: Part | None, until: datetime
) -> StoryPage:
    """The newest entries before a moment, of one part or of all."""
    entries: list[Entry] = []
    if part in {None, Part.CAMPAIGNS, Part.SINGLE}:
        entries += _read_mails(workspace_id, contact, part, until)
    if part in {None, Part.CAMPAIGNS}:
        entries += _read_missed(workspace_id, contact, until)
    if part in {None, Part.NOTIFICATIONS}:
        entries += _read_notifications(workspace_id, contact, until)
    if part in {None, Part.CONSENT}:
        entries += _read_changes(workspace_id, contact, until)
    return cut_page(entries)


def cut_page(entries: Iterable[Entry], *, limit: int = ON_A_PAGE) -> StoryPage:
    """The newest of some entries; those of one moment stay on one page. Pure."""
    newest = sorted(entries, key=lambda entry: entry.at, reverse=True)
    shown = newest[:limit]
    if len(newest) == len(shown):
        return StoryPage(list(_mark_days(shown)), None)
    last = shown[-1].at
    shown += [entry for entry in newest[limit:] if entry.at == last]
    return StoryPage(list(_mark_days(shown)), last if len(newest) > len(shown) else None)


def _mark_days(entries: Iterable[Entry]) -> Iterator[Entry]:
    day = None
    for entry in entries:
        own_day = timezone.localtime(entry.at).date()
        yield replace(entry, starts_day=own_day != day)
        day = own_day


def _read_mails(
    workspace_id: int, contact: Contact, part: Part | None, until: datetime
) -> Iterator[Entry]:
    """Campaigns and single emails to every address that the contact had."""
    wanted = MessageFilters(address=contact.address, kind=_KINDS.get(part), until=until)
    page = messages.search_messages(workspace_id, wanted, limit=ON_A_PAGE + 1)
    yield from (_tell_mail(workspace_id, message) for message in page.messages)
    former = former_addresses.list_mail(workspace_id, contact, wanted, limit=ON_A_PAGE + 1)
    for message in former:
        text = _("to a former address, %(address)s") % {"address": message.address}
        yield _tell_mail(workspace_id, message, whereto=text)


def _tell_mail(workspace_id: int, message: Message, *, whereto: str = "") -> Entry:
    is_single = message.kind is StreamKind.TRANSACTIONAL
    kind = _("Single email") if is_single else _("Campaign")
    why = str(describe_stop(message.state, message.code)) or message.code
    return Entry(
        message.planned_at,
        "mail" if is_single else "send",
        (message.subject if is_single else "") or message.stream_title,
        url=reverse("message", args=[workspace_id, message.id]),
        badge=words.make_mail_badge(message.state),
        note=" · ".join(filter(None, (kind, whereto, why))),
        tone=_find_tone(message.state),
        result_at=_find_result(message),
    )


def _find_result(message: Message) -> datetime | None:
    """Pages are cut by the moment of planning, so the result may stand beside another one."""
    settled_at = message.settled_at
    is_later = settled_at and settled_at - message.planned_at >= _ONE_MINUTE
    return settled_at if is_later else None


def _find_tone(state: State) -> str:
    match state:
        case State.WAITING:
            return "wait"
        case State.IN_DOUBT:
            return "person"
        case _:
            return ""


def _read_missed(workspace_id: int, contact: Contact, until: datetime) -> Iterator[Entry]:
    for run in exclusions.list_missed_runs(
        workspace_id, contact.pk, until=until, limit=ON_A_PAGE + 1
    ):
        yield Entry(
            run.launched_at,
            "skip",
            run.campaign_name,
            url=reverse("run", args=[workspace_id, run.run_id]),
            badge=Badge("skipped", "skip", _("Left out")),
            note=f"{_('Campaign')} · {describe_exclusion(run.reason)}",
        )


def _read_notifications(workspace_id: int, contact: Contact, until: datetime) -> Iterator[Entry]:
    for told in contact_notifications.list_notifications(
        workspace_id, contact.pk, until=until, limit=ON_A_PAGE + 1
    ):
        yield Entry(
            told.created_at,
            "bell",
            told.topic_name,
            url=_find_url(workspace_id, told),
            badge=words.make_mail_badge(told.state),
            note=" · ".join(
                filter(None, (_("Notification"), skip_texts.explain_code(told.code) or told.code))
            ),
            tone=_find_tone(told.state),
        )


def _find_url(workspace_id: int, told: ContactNotification) -> str:
    if told.mail is not None:
        return reverse("message", args=[workspace_id, told.mail.uuid()])
    return reverse("event", args=[workspace_id, told.topic_key, told.event_id])


def _read_changes(workspace_id: int, contact: Contact, until: datetime) -> Iterator[Entry]:
    changes = queries.list_history(workspace_id, contact_id=contact.pk, limit=_MOST_CHANGES)
    corrections = _list_corrections(workspace_id, contact)
    actors = {*(event.actor for event in changes), *(entry.actor for entry in corrections)}
    names = actor_names.name_actors(workspace_id, actors)
    yield from (_tell_change(event, names) for event in changes if event.at < until)
    for entry in corrections:
        if entry.at < until:
            note = names.get(entry.actor, entry.actor)
            yield Entry(entry.at, "at", _("The address was changed."), note=note)
    if contact.created_at < until:
        yield Entry(contact.created_at, "person", _("Became a contact."))


def _list_corrections(workspace_id: int, contact: Contact) -> list[AuditEntry]:
    """The changes of its address by hand or by a program."""
    if not contact.former_addresses:
        return []
    entries = trail.list_contact_changes(workspace_id, contact.pk, limit=_MOST_CHANGES)
    return [entry for entry in entries if "address" in entry.data.get("fields", ())]


def _tell_change(event: ConsentEvent, names: Mapping[str, str]) -> Entry:
    sentence, icon, tone = words.describe_change(event)
    return Entry(event.at, icon, sentence, note=words.describe_origin(event, names), tone=tone)
