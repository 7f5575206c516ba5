"""Entries of the audit trail as sentences, for people who know no codes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from postledger.accounts.models import AuditEntry
from postledger.accounts.trail import Action
from postledger.web.dashboard import formats
from postledger.web.dashboard.people.roles import ROLE_NAMES
from postledger.web.dashboard.settings.things import Thing

_ROLES: Final = {role.value: name for role, name in ROLE_NAMES.items()}
_WHAT: Final = "\0"  # stands in a sentence where the name of the thing will
# Facts that sentences say.
_SAID: Final = {"contacts", "count", "from", "requeued", "to", "version", "waiting", "zone"}
# What a fact is, its name says: others may be what people wrote, and look like anything.
_MOMENTS: Final = {"begins", "until", "works_until"}
_ROLE_FACTS: Final = {"role", "from", "to"}

# `who` did it, `what` is the name of the thing, and `number` how many there were. Other places are
# facts of the entry; a plural names the fact that it depends on.
SENTENCES: Final[Mapping[Action, Promise | str]] = {
    "account.created": gettext_lazy("%(who)s added the provider account %(what)s."),
    "account.updated": gettext_lazy(
        "%(who)s changed the settings of the provider account %(what)s."
    ),
    "account.rate_set": gettext_lazy("%(who)s changed the rate of the provider account %(what)s."),
    "account.archived": gettext_lazy("%(who)s archived the provider account %(what)s."),
    "account.restored": gettext_lazy("%(who)s restored the provider account %(what)s."),
    "account.resealed": gettext_lazy(
        "%(who)s sealed the settings of the provider account %(what)s with a new secret."
    ),
    "account.quota_source_set": gettext_lazy(
        "%(who)s set where the quota of the provider account %(what)s is read."
    ),
    "account.quota_source_removed": gettext_lazy(
        "%(who)s removed the source of the quota of the provider account %(what)s."
    ),
    "address.suppressed": gettext_lazy("%(who)s suppressed the address %(what)s."),
    "address.restored": gettext_lazy("%(who)s lifted the suppression of the address %(what)s."),
    "article.created": gettext_lazy("%(who)s created the article %(what)s."),
    "article.updated": gettext_lazy("%(who)s renamed the article %(what)s."),
    "article.deleted": gettext_lazy("%(who)s deleted the article %(what)s."),
    "branding.changed": gettext_lazy("%(who)s changed the branding."),
    "campaign.created": gettext_lazy("%(who)s created the campaign %(what)s."),
    "campaign.changed": gettext_lazy("%(who)s changed the draft of the campaign %(what)s."),
    "campaign.deleted": gettext_lazy("%(who)s deleted the draft of the campaign %(what)s."),
    "campaign.launched": gettext_lazy("%(who)s launched the campaign %(what)s."),
    "campaign.tested": gettext_lazy("%(who)s sent a test of the campaign %(what)s."),
    "campaign.paused": gettext_lazy("%(who)s paused the campaign %(what)s."),
    "campaign.resumed": gettext_lazy("%(who)s resumed the campaign %(what)s."),
    "campaign.cancelled": gettext_lazy("%(who)s cancelled the campaign %(what)s."),
    "campaign.retried": ngettext_lazy(
        "%(who)s retried %(number)s failed email of the campaign %(what)s.",
        "%(who)s retried %(number)s failed emails of the campaign %(what)s.",
        "requeued",
    ),
    "campaign.closed": gettext_lazy("%(who)s closed the campaign %(what)s with its failures."),
    "campaign.report_downloaded": gettext_lazy(
        "%(who)s downloaded the report of the campaign %(what)s, with its addresses."
    ),
    "campaign.sent": gettext_lazy("The campaign %(what)s ended: every email has a result."),
    "contact.created": gettext_lazy("%(who)s added the contact %(what)s."),
    "contact.changed": gettext_lazy("%(who)s changed the contact %(what)s."),
    "contact.deleted": gettext_lazy("%(who)s deleted the contact %(what)s."),
    "contact.restored": gettext_lazy("%(who)s restored the contact %(what)s."),
    "contact.erased": gettext_lazy("%(who)s erased everything about a person."),
    "contact.unconfirmed": gettext_lazy(
        "%(who)s removed a contact who did not confirm within 30 days."
    ),
    "contacts.subscribed": ngettext_lazy(
        "%(who)s added %(number)s contact to the list %(what)s.",
        "%(who)s added %(number)s contacts to the list %(what)s.",
        "contacts",
    ),
    "contacts.unsubscribed": ngettext_lazy(
        "%(who)s removed %(number)s contact from the list %(what)s.",
        "%(who)s removed %(number)s contacts from the list %(what)s.",
        "contacts",
    ),
    "contacts.exported": gettext_lazy("%(who)s exported contacts."),
    "contacts.suppressed": ngettext_lazy(
        "%(who)s suppressed %(number)s contact.",
        "%(who)s suppressed %(number)s contacts.",
        "contacts",
    ),
    "doubt.count_as_sent": ngettext_lazy(
        "%(who)s counted %(number)s email in doubt as sent: %(what)s.",
        "%(who)s counted %(number)s emails in doubt as sent: %(what)s.",
        "count",
    ),
    "doubt.count_as_not_sent": ngettext_lazy(
        "%(who)s counted %(number)s email in doubt as not sent: %(what)s.",
        "%(who)s counted %(number)s emails in doubt as not sent: %(what)s.",
        "count",
    ),
    "doubt.send_again": ngettext_lazy(
        "%(who)s let %(number)s email in doubt be sent again: %(what)s.",
        "%(who)s let %(number)s emails in doubt be sent again: %(what)s.",
        "count",
    ),
    "failure.requeued": ngettext_lazy(
        "%(who)s requeued %(number)s failed email: %(what)s.",
        "%(who)s requeued %(number)s failed emails: %(what)s.",
        "count",
    ),
    "failure.discarded": ngettext_lazy(
        "%(who)s discarded %(number)s failed email: %(what)s.",
        "%(who)s discarded %(number)s failed emails: %(what)s.",
        "count",
    ),
    "form.blocked": gettext_lazy("%(what)s asked for no more letters from sign-up forms."),
    "import.uploaded": gettext_lazy("%(who)s uploaded the file %(what)s for an import."),
    "import.started": gettext_lazy("%(who)s started the import of the file %(what)s."),
    "import.finished": gettext_lazy("The import of the file %(what)s ended."),
    "import.abandoned": gettext_lazy("%(who)s gave up the import of the file %(what)s."),
    "integration.set": gettext_lazy("%(who)s set up the integration %(what)s."),
    "integration.removed": gettext_lazy("%(who)s disconnected the integration %(what)s."),
    "integration.filled": gettext_lazy(
        "%(who)s filled in the settings of the integration %(what)s from the environment."
    ),
    "integration.resealed": gettext_lazy(
        "%(who)s sealed the settings of the integration %(what)s with a new secret."
    ),
    "key.created": gettext_lazy("%(who)s created the API key %(what)s."),
    "key.rotated": gettext_lazy("%(who)s replaced the API key %(what)s by a new one."),
    "key.revoked": gettext_lazy("%(who)s revoked the API key %(what)s."),
    "list.created": gettext_lazy("%(who)s created the list %(what)s."),
    "list.changed": gettext_lazy("%(who)s changed the list %(what)s."),
    "list.archived": gettext_lazy("%(who)s archived the list %(what)s."),
    "list.restored": gettext_lazy("%(who)s restored the list %(what)s."),
    "member.added": gettext_lazy("%(who)s added the member %(what)s."),
    "member.invited": gettext_lazy("%(who)s invited %(what)s."),
    "member.joined": gettext_lazy("%(what)s joined the workspace."),
    "member.role_changed": gettext_lazy(
        "%(who)s changed the role of %(what)s from %(from)s to %(to)s."
    ),
    "member.limit_changed": gettext_lazy("%(who)s changed the daily limit of %(what)s."),
    "member.removed": gettext_lazy("%(who)s removed the member %(what)s."),
    "member.address_changed": gettext_lazy(
        "%(who)s changed the address of %(what)s from %(from)s to %(to)s."
    ),
    "member.reset_link": gettext_lazy(
        "%(who)s made a link with which %(what)s chooses a new password."
    ),
    "picture.added": gettext_lazy("%(who)s uploaded a picture."),
    "segment.created": gettext_lazy("%(who)s saved the segment %(what)s."),
    "segment.renamed": gettext_lazy("%(who)s renamed the segment %(what)s."),
    "segment.changed": gettext_lazy("%(who)s changed the conditions of the segment %(what)s."),
    "segment.deleted": gettext_lazy("%(who)s deleted the segment %(what)s."),
    "sender.created": gettext_lazy("%(who)s added the sender %(what)s."),
    "sender.renamed": gettext_lazy("%(who)s changed the name of the sender %(what)s."),
    "sender.attached": gettext_lazy("%(who)s changed the provider account of the sender %(what)s."),
    "sender.limits_changed": gettext_lazy("%(who)s changed the limits of the sender %(what)s."),
    "sender.hours_changed": gettext_lazy(
        "%(who)s changed the working hours of the sender %(what)s."
    ),
    "sender.made_default": gettext_lazy("%(who)s made %(what)s the default sender."),
    "sender.archived": gettext_lazy("%(who)s archived the sender %(what)s."),
    "sender.restored": gettext_lazy("%(who)s restored the sender %(what)s."),
    "sender.held": gettext_lazy("%(who)s held all email of the sender %(what)s."),
    "sender.released": gettext_lazy("%(who)s released the sender %(what)s."),
    "slice.added": gettext_lazy("%(who)s added a slice to the article %(what)s."),
    "slice.changed": gettext_lazy("%(who)s changed a slice of the article %(what)s."),
    "slice.deleted": gettext_lazy("%(who)s deleted a slice of the article %(what)s."),
    "source.created": gettext_lazy("%(who)s added the source of events %(what)s."),
    "source.changed": gettext_lazy("%(who)s changed the source of events %(what)s."),
    "source.archived": gettext_lazy("%(who)s archived the source of events %(what)s."),
    "stream.held": gettext_lazy("%(who)s held the emails of %(what)s."),
    "stream.released": gettext_lazy("%(who)s released the emails of %(what)s."),
    "stream.stopped": gettext_lazy("%(who)s stopped the emails of %(what)s."),
    "stream.cancelled": ngettext_lazy(
        "%(who)s cancelled %(number)s waiting email of %(what)s.",
        "%(who)s cancelled %(number)s waiting emails of %(what)s.",
        "waiting",
    ),
    "template.created": gettext_lazy("%(who)s created the template %(what)s."),
    "template.version_added": gettext_lazy(
        "%(who)s added version %(version)s to the template %(what)s."
    ),
    "template.archived": gettext_lazy("%(who)s archived the template %(what)s."),
    "template.restored": gettext_lazy("%(who)s restored the template %(what)s."),
    "topic.created": gettext_lazy("%(who)s created the topic %(what)s."),
    "topic.changed": gettext_lazy("%(who)s changed the topic %(what)s."),
    "topic.registered": gettext_lazy(
        "%(who)s connected the reports of the provider account %(what)s."
    ),
    "topic.removed": gettext_lazy(
        "%(who)s disconnected the reports of the provider account %(what)s."
    ),
    "webhook_key.registered": gettext_lazy(
        "%(who)s connected the reports of the provider account %(what)s."
    ),
    "webhook_key.removed": gettext_lazy(
        "%(who)s disconnected the reports of the provider account %(what)s."
    ),
    "workspace.created": gettext_lazy("%(who)s created the workspace %(what)s."),
    "workspace.renamed": gettext_lazy("%(who)s renamed the workspace to %(what)s."),
    "workspace.organisation_changed": gettext_lazy(
        "%(who)s changed the organisation and postal address of footers."
    ),
    "workspace.unsubscribe_page_changed": gettext_lazy("%(who)s changed the unsubscribe page."),
    "workspace.tests_changed": gettext_lazy("%(who)s changed the recipients of tests."),
    "workspace.zone_changed": gettext_lazy(
        "%(who)s set the time zone of the workspace to %(zone)s."
    ),
    "workspace.hours_changed": gettext_lazy("%(who)s changed the working hours of the workspace."),
}


@dataclass(frozen=True, slots=True)
class Deed:
    """A sentence around the name of a thing, and the facts that it leaves out."""

    before: str
    what: str  # empty: the sentence names nothing
    url: str  # of the thing; empty: none that the visitor may open
    after: str
    facts: list[tuple[str, str]]


def describe_deed(entry: AuditEntry, *, name: str, thing: Thing | None) -> Deed:
    """`name` is that of the person or key who did it, `thing` what it was about if that exists."""
    values = {fact: _write_fact(fact, value) for fact, value in entry.data.items()}
    numbers = [value for value in entry.data.values() if type(value) is int]
    places = {
        **values,
        "who": _describe_actor(entry.actor, name),
        "what": _WHAT,
        "number": formats.count(numbers[0]) if numbers else "",
    }
    try:
        sentence = _find_sentence(entry) % places
    except KeyError:  # an action, or its facts, as another release wrote them
        sentence = _("%(who)s: %(action)s, %(what)s.") % {**places, "action": entry.action}
    before, mark, after = str(sentence).partition(_WHAT)
    about = thing or Thing(_name_the_gone(entry))
    unsaid = [
        (fact, str(value))
        for fact, value in values.items()
        if fact not in _SAID and value not in (None, False, "", about.name)
    ]
    return Deed(before, about.name if mark else "", about.url, after, unsaid)


def _find_sentence(entry: AuditEntry) -> Promise | str:
    if entry.action == "campaign.launched" and entry.data.get("begins"):
        return _("%(who)s scheduled the campaign %(what)s.")
    return SENTENCES[cast("Action", entry.action)]


def find_subject(entry: AuditEntry) -> str:
    """What the sentence names: of a slice, its article."""
    is_slice = entry.action.startswith("slice.")
    return f"article {entry.data.get('article', '')}" if is_slice else entry.subject


def _describe_actor(actor: str, name: str) -> str:
    return _("The API key %(name)s") % {"name": name} if actor.startswith("key ") else name


def _name_the_gone(entry: AuditEntry) -> str:
    """As the entry has it, where nothing else knows the name any more."""
    names = [entry.data.get(fact) for fact in ("name", "title", "email")]
    kind, _space, key = find_subject(entry).partition(" ")
    return next((str(name) for name in names if name), key or kind)


def _write_fact(fact: str, value: object) -> object:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if fact in _MOMENTS and isinstance(value, str):
        return _write_moment(value)
    return _ROLES.get(value, value) if fact in _ROLE_FACTS and isinstance(value, str) else value


def _write_moment(text: str) -> str:
    """In the zone that is active; a text that is no moment of it as it is: entries never change."""
    try:
        moment = datetime.fromisoformat(text)
        return f"{timezone.localtime(moment):%Y-%m-%d %H:%M} {formats.zone(moment)}"
    except (ValueError, OverflowError):
        return text
