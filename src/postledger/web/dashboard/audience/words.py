"""The words of contacts: their states, subscriptions and suppressions, and changes of consent."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from postledger.contacts.actions.contacts import CORRECTION, NEW_ADDRESS
from postledger.contacts.filters.expressions import Standing
from postledger.contacts.models import ConsentEvent, Contact, Suppression
from postledger.contacts.states import (
    STOPS_EVERYTHING,
    ConsentAction,
    ContactState,
    SubscriptionState,
    SuppressionReason,
)
from postledger.deliveries.states import State
from postledger.web.dashboard.components import badges
from postledger.web.dashboard.components.badges import Badge

type Word = Promise | str

CONTACT_STATES: Mapping[ContactState, tuple[Word, str]] = {
    ContactState.ACTIVE: (pgettext_lazy("a contact", "Active"), "check"),
    ContactState.UNSUBSCRIBED: (gettext_lazy("Unsubscribed"), "ban"),
    ContactState.BOUNCED: (gettext_lazy("Bounced"), "x"),
}
# As the badges of contacts say it.
SEARCHED_STATES: Mapping[Standing | ContactState, Word] = {
    Standing.MAILABLE: CONTACT_STATES[ContactState.ACTIVE][0],
    Standing.UNCONFIRMED: gettext_lazy("Not confirmed"),
    Standing.SUPPRESSED: gettext_lazy("Suppressed"),
    ContactState.UNSUBSCRIBED: CONTACT_STATES[ContactState.UNSUBSCRIBED][0],
    ContactState.BOUNCED: CONTACT_STATES[ContactState.BOUNCED][0],
}
SUBSCRIPTION_STATES: Mapping[SubscriptionState, tuple[Word, str]] = {
    SubscriptionState.ACTIVE: (gettext_lazy("Active"), "check"),
    SubscriptionState.PENDING: (gettext_lazy("Not confirmed yet"), "clock"),
    SubscriptionState.PAUSED: (gettext_lazy("Paused"), "pause"),
    SubscriptionState.UNSUBSCRIBED: (gettext_lazy("Unsubscribed"), "ban"),
    SubscriptionState.SUPPRESSED: (gettext_lazy("Suppressed"), "ban"),
}
REASONS: Mapping[SuppressionReason, Word] = {
    SuppressionReason.UNSUBSCRIBED: gettext_lazy("They unsubscribed"),
    SuppressionReason.BY_HAND: gettext_lazy("Suppressed by hand"),
    SuppressionReason.COMPLAINED: gettext_lazy("They reported an email as spam"),
    SuppressionReason.BOUNCED: gettext_lazy("Email to them bounced for good"),
}
_CHANGES: Mapping[ConsentAction, tuple[Word, str, str]] = {
    ConsentAction.SUBSCRIBED: (gettext_lazy("Asked for %(list)s."), "person", ""),
    ConsentAction.CONFIRMED: (gettext_lazy("Confirmed %(list)s."), "check", "good"),
    ConsentAction.IMPORTED: (gettext_lazy("Was imported for %(list)s."), "upload", ""),
    ConsentAction.PREFERENCES_CHANGED: (
        gettext_lazy("Changed what they want of %(list)s."),
        "tune",
        "",
    ),
    ConsentAction.PAUSED: (gettext_lazy("Paused %(list)s."), "pause", "wait"),
    ConsentAction.RESUMED: (gettext_lazy("Resumed %(list)s."), "play", "good"),
    ConsentAction.UNSUBSCRIBED: (gettext_lazy("Unsubscribed from %(list)s."), "ban", ""),
    ConsentAction.UNDONE: (gettext_lazy("Took the unsubscribe from %(list)s back."), "again", ""),
    ConsentAction.RESTORED: (gettext_lazy("Was restored for %(list)s."), "again", "good"),
    ConsentAction.BOUNCED: (gettext_lazy("An email to them bounced."), "x", ""),
    ConsentAction.COMPLAINED: (gettext_lazy("Reported an email as spam."), "alert", "person"),
    ConsentAction.SUPPRESSED: (gettext_lazy("Was suppressed for %(list)s."), "ban", ""),
}

# Where a consent was given or ended; what people wrote themselves stays as it is.
_SOURCES: Mapping[str, Word] = {
    "one-click": gettext_lazy("Unsubscribe button of their mail program"),
    "unsubscribe page": gettext_lazy("Unsubscribe page"),
    "preferences page": gettext_lazy("Preferences page"),
    "subscribe form": gettext_lazy("Subscribe form"),
    "confirmation page": gettext_lazy("Confirmation page"),
    "contact page": gettext_lazy("Page of the contact"),
    "contacts page": gettext_lazy("Page of the contacts"),
    "provider event": gettext_lazy("Report of the provider"),
    "refusal": gettext_lazy("Refusal by the provider"),
    NEW_ADDRESS: gettext_lazy("Change of the address"),
    CORRECTION: gettext_lazy("The address was corrected"),
    "access log": gettext_lazy("Log of the web server"),
    "suppression": gettext_lazy("Suppression by hand"),
    "operator": gettext_lazy("Restored by hand"),
    "supabase": "Supabase",
}
_IMPORT = "import "
# What a change of preferences names in the history.
_PREFERENCES: Mapping[str, Word] = {
    "notify_on": gettext_lazy("what they are told of"),
    "max_notifications": gettext_lazy("how many notifications they get"),
    "window_from": gettext_lazy("the hours for email"),
    "window_until": gettext_lazy("the hours for email"),
    "snooze_until": gettext_lazy("a break"),
    "locale": gettext_lazy("the language"),
    "subscribed": gettext_lazy("a new subscription to the topic"),
}


def make_contact_badge(contact: Contact, reason: SuppressionReason | None) -> Badge:
    """Whether the contact may be mailed; a suppression by hand shows in no state."""
    if reason in STOPS_EVERYTHING and contact.state == ContactState.ACTIVE:
        return Badge("suppressed", "ban", _("Suppressed"))
    if contact.is_unconfirmed and contact.state == ContactState.ACTIVE:
        return Badge("pending", "clock", _("Not confirmed"))
    label, icon = CONTACT_STATES[ContactState(contact.state)]
    return Badge(contact.state, icon, label)


def make_mail_badge(state: State) -> Badge:
    """What became of an email to a contact, who would take a bare "Cancelled" for one they got."""
    badge = badges.badge_of(state)
    if state is State.CANCELLED:
        return replace(badge, label=_("Cancelled before it was sent"))
    return badge


def make_subscription_badge(state: str) -> Badge:
    label, icon = SUBSCRIPTION_STATES[SubscriptionState(state)]
    return Badge(state, icon, label)


def name_scope(name: str | None) -> str:
    """The list that something is about, or all email."""
    return _("all email") if name is None else name


def name_news() -> str:
    """What somebody does not get who unsubscribed from everything."""
    return _("campaigns and notifications")


def name_suppressed(kept: Suppression) -> str:
    """What an address gets no more; who unsubscribed still gets a receipt."""
    if kept.list is not None:
        return kept.list.name
    stops_everything = kept.reason in STOPS_EVERYTHING
    return name_scope(None) if stops_everything else name_news()


def name_reason(kept: Suppression) -> str:
    """Why an address gets nothing more; an erasure keeps it as if its owner had unsubscribed."""
    if is_of_erasure(kept) and kept.reason == SuppressionReason.UNSUBSCRIBED:
        return _("Erased on request")
    return str(REASONS[SuppressionReason(kept.reason)])


def is_of_erasure(kept: Suppression) -> bool:
    """Whether an erasure wrote it, perhaps under a stronger reason."""
    return kept.address is None and kept.list_id is None


def describe_suppression(kept: Suppression) -> str:
    """What is kept from an address, and why."""
    return f"{name_suppressed(kept)}: {name_reason(kept)}"


def describe_change(event: ConsentEvent) -> tuple[str, str, str]:
    """A change of consent: the sentence, its glyph and its tone."""
    if event.action == ConsentAction.IMPORTED and event.after == Standing.UNCONFIRMED:
        return (
            _(
                "An import brought them as not confirmed. No campaign reaches them before they"
                " confirm, or are subscribed."
            ),
            "upload",
            "wait",
        )
    sentence, icon, tone = _CHANGES[ConsentAction(event.action)]
    if _ends_all_mail(event):
        return _("An import or a sync said that they get no mail."), "ban", ""
    name = name_scope(event.list.name if event.list else None)
    if event.action == ConsentAction.RESTORED and event.after == ContactState.UNSUBSCRIBED:
        sentence = _(
            "A suppression was lifted for %(list)s. They stay unsubscribed: they had left before."
        )
        tone = ""
    return str(sentence) % {"list": name}, icon, tone


def _ends_all_mail(event: ConsentEvent) -> bool:
    """Whether it was imported that the owner of the address left, or that it takes no mail."""
    is_import = event.action == ConsentAction.IMPORTED and event.list is None
    return is_import and event.after != ContactState.ACTIVE


def name_source(source: str) -> str:
    """Where a change came from."""
    number, of, file_name = source.removeprefix(_IMPORT).partition(" of ")
    if source.startswith(_IMPORT) and of and number.isdecimal():
        return _("Import %(number)s of %(file)s") % {"number": number, "file": file_name}
    return str(_SOURCES.get(source, source))


def describe_origin(event: ConsentEvent, names: Mapping[str, str]) -> str:
    """Where a change came from, as far as it is known: the proof of a consent."""
    parts: Iterable[Any] = (
        name_source(event.source),
        names.get(event.actor, event.actor),
        _describe_detail(event),
        event.text_version and _("text %(version)s") % {"version": event.text_version},
        event.ip,
    )
    return " · ".join(dict.fromkeys(str(part) for part in parts if part))


def _describe_detail(event: ConsentEvent) -> str:
    """What people wrote stays as it is; of preferences, which of them changed and how."""
    if event.action != ConsentAction.PREFERENCES_CHANGED:
        return event.detail
    what = event.detail.rpartition(": ")[2]  # behind the topic subscription, if it is of one
    if all(state in set(SubscriptionState) for state in what.split(" → ")):
        states = (SUBSCRIPTION_STATES[SubscriptionState(state)][0] for state in what.split(" → "))
        return " → ".join(map(str, states))
    names = (str(_PREFERENCES.get(name, name)) for name in what.split(", "))
    return ", ".join(dict.fromkeys(names))
