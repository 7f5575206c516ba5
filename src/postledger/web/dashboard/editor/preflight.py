"""What is checked of a draft before its launch: whom it reaches, its email, and when it ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from postledger.accounts import integrations
from postledger.accounts import queries as accounts
from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.models import Sender
from postledger.accounts.people.roles import Permission
from postledger.accounts.queries import Organisation, SenderArchivedError
from postledger.campaigns.drafts import drafts, forecasts, recipients
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.drafts.recipients import RecipientCounts
from postledger.campaigns.launches import waves
from postledger.contacts import audience, lists
from postledger.contacts.filters import parsing
from postledger.contacts.models import List
from postledger.content import link_reports, list_headers, pictures
from postledger.content.link_checks import LinkReport
from postledger.deliveries import queries, sender_setup
from postledger.deliveries.entries import Hold
from postledger.dispatch import heartbeat
from postledger.lib import loopback
from postledger.mailing.chunks import Exclusion
from postledger.pacing.outlook import Outlook
from postledger.providers.headers import InvalidHeaderError
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components import finding_words
from postledger.web.dashboard.editor import (
    content_checks,
    footer_checks,
    people,
    sender_checks,
    time_checks,
)
from postledger.web.dashboard.editor.checks import OK, PROBLEM, WARNING, Check
from postledger.web.dashboard.editor.turns import Turns
from postledger.web.dashboard.runs import words
from postledger.web.dashboard.runs.words import Word
from postledger.web.shared.sentences import translate

TURNS = Turns()
# For all its searches among the recipients together; each of them has less.
_PATIENCE, _LEAST = timedelta(seconds=8), timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Preflight:
    campaign: CampaignFacts
    counts: RecipientCounts
    outlook: Outlook
    checks: Sequence[Check]
    at: datetime
    dns_url: str = ""  # looks up what was not looked up yet
    links_url: str = ""  # asks the links that were not asked yet
    hold: Hold | None = None  # of the sender: the one that ends last
    spellings: Sequence[str] = ()  # of conditions whose text nobody has, as sentences
    is_scheduled: bool = False  # nobody is due yet

    @property
    def pace(self) -> Word:
        """What sets it for the longest time; empty if nobody would get an email."""
        return words.BINDINGS[self.outlook.binding] if self.outlook.binding else ""

    @property
    def problems(self) -> int:
        return len(self.list_problems())

    def list_problems(self) -> list[Check]:
        """What keeps the campaign from being launched here."""
        return [check for check in self.checks if check.level == PROBLEM]

    @property
    def warnings(self) -> int:
        return sum(check.level == WARNING for check in self.checks)

    @property
    def passed(self) -> int:
        return sum(check.level == OK for check in self.checks)


def run_preflight(
    visitor: Visitor,
    campaign: CampaignFacts,
    *,
    now: datetime,
    patience: timedelta = _PATIENCE,
    asked_links: Sequence[LinkReport] | None = None,
) -> Preflight:
    """What is looked for among the recipients after `patience` is left out.

    Raises TurnTakenError while another draft of the workspace is checked: a preflight searches long
    among many contacts, and pages of others wait for the same few threads. Without `asked_links`
    the links are told as they were asked some minutes ago.
    """
    with TURNS.take(visitor.workspace.pk):
        return _check_draft(visitor, campaign, asked_links, now=now, patience=patience)


def _check_draft(
    visitor: Visitor,
    campaign: CampaignFacts,
    asked_links: Sequence[LinkReport] | None,
    *,
    now: datetime,
    patience: timedelta,
) -> Preflight:
    workspace_id, ends = visitor.workspace.pk, monotonic() + patience.total_seconds()
    counts = recipients.count_recipients(
        workspace_id, campaign, now=now, patience=_wait_until(ends)
    )
    spellings = people.describe_spellings(
        workspace_id, parsing.parse(dict(campaign.audience), now=now), patience=_wait_until(ends)
    )
    outlook = forecasts.forecast_campaign(
        workspace_id,
        campaign.id,
        worker_count=heartbeat.count_alive(),
        member_id=visitor.member.pk,
        recipient_count=counts.number,
        now=now,
    )
    sender = accounts.find_sender(workspace_id, address=campaign.sender)
    hold = next(iter(queries.find_sender_holds([sender.pk]).get(sender.pk, ())), None)
    content = content_checks.check_content(
        workspace_id, campaign, now=now, patience=_wait_until(ends)
    )
    reports = asked_links
    if reports is None:
        reports = link_reports.recall_reports(workspace_id, content.links)
    checks = [
        *_check_list(campaign),
        *_check_parts(workspace_id, campaign, now=now),
        *_check_people(counts, may_grow=_may_grow(workspace_id)),
        *_check_spellings(spellings),
        *_check_consent(counts),
        *_check_left_out(counts),
        *_check_languages(counts),
        *content.lines,
        *content_checks.describe_links(reports or (), recipient_count=counts.number),
        *content_checks.check_values(
            workspace_id, campaign, counts, now=now, patience=_wait_until(ends, searches=2)
        ),
        *_check_footer(visitor, sender),
        *footer_checks.check_language(workspace_id, campaign.content),
        *_check_pictures(sender, has_own_pictures=content.has_own_pictures),
        *time_checks.check_time(campaign, now=now),
        *time_checks.check_local_time(
            workspace_id, campaign, counts, now=now, patience=_wait_until(ends)
        ),
        *sender_checks.check_hold(sender, hold),
        *sender_checks.check_answer(sender),
        *time_checks.check_hours(campaign),
        *sender_checks.check_quota(sender, counts),
        *sender_checks.check_dns(sender, now=now),
    ]
    checks.sort(key=lambda check: [PROBLEM, WARNING, OK].index(check.level))
    return Preflight(
        campaign,
        counts,
        outlook,
        checks,
        now,
        dns_url=sender_checks.find_dns_url(sender, now=now),
        links_url=reverse("campaign_links", args=[workspace_id, campaign.id])
        if reports is None
        else "",
        hold=hold,
        spellings=spellings,
        is_scheduled=all(
            wave.due_at for wave in waves.split_waves(workspace_id, campaign.timing, None, now=now)
        ),
    )


def _wait_until(ends: float, *, searches: int = 1) -> timedelta:
    """How long each of so many searches may take of all that the preflight may; never nothing."""
    most_time = timedelta(seconds=ends - monotonic()) / searches
    return max(_LEAST, min(audience.PATIENCE, most_time))


def _may_grow(workspace_id: int) -> bool:
    """Whether a launch looks for people first: Supabase may know some."""
    return workspace_id in integrations.workspaces(IntegrationKind.SUPABASE)


def _check_parts(workspace_id: int, campaign: CampaignFacts, *, now: datetime) -> Iterator[Check]:
    """What became wrong since it was saved, as when the list was archived."""
    titles = {
        "list_key": (_("The list cannot be used"), "#audience"),
        "audience": (_("The conditions cannot be used"), "#audience"),
        "sender": (_("The sender cannot be used"), "#sender"),
        "timing": (_("The time cannot be used"), "#sender"),
    }
    archived = _find_archived_list(workspace_id, campaign)
    for part, refusal in drafts.list_flaws(workspace_id, campaign, now=now).items():
        if part == "list_key" and archived:
            title = _("The list %(name)s is archived") % {"name": formats.isolate(archived.name)}
            text = _("Choose another list, or take this one into use again under Lists.")
            yield Check(PROBLEM, title, text, "#audience")
            continue
        title, url = titles[part]
        if isinstance(refusal, SenderArchivedError):
            sender = accounts.find_sender(workspace_id, address=campaign.sender)
            url = reverse("sender", args=[workspace_id, sender.pk])
        yield Check(PROBLEM, title, translate(refusal), url)


def _check_list(campaign: CampaignFacts) -> Iterator[Check]:
    if campaign.lacks_list:
        text = _("Choose whom it is for: one of your lists, or all contacts.")
        yield Check(PROBLEM, _("No list is chosen"), text, "#audience")


def _find_archived_list(workspace_id: int, campaign: CampaignFacts) -> List | None:
    return (
        lists.list_all(workspace_id)
        .filter(key=campaign.list_key, archived_at__isnull=False)
        .first()
    )


def _check_people(counts: RecipientCounts, *, may_grow: bool) -> Iterator[Check]:
    if not counts.is_exact:
        text = _("Counting took too long. Narrow the audience to get the exact number.")
        yield Check(WARNING, _("The number of recipients is an estimate"), text, "#audience")
    elif not counts.number:
        text = _("No contact matches, or all that do are left out.")
        level = WARNING if may_grow else PROBLEM
        yield Check(level, _("Nobody would get it"), text, "#audience")


def _check_spellings(spellings: Sequence[str]) -> Iterator[Check]:
    text = _("Conditions compare texts with their capitals. Write it as your contacts have it.")
    for spelling in spellings:
        yield Check(WARNING, spelling, text, "#audience")


def _check_consent(counts: RecipientCounts) -> Iterator[Check]:
    if sentence := people.describe_on_no_list(counts):
        text = _(
            "They were imported or added without one, or never confirmed it. Choose a list to mail"
            " only those who are on it."
        )
        yield Check(WARNING, sentence, text, "#audience", remark=sentence)


def _check_left_out(counts: RecipientCounts) -> Iterator[Check]:
    left_out = counts.total - counts.number
    if counts.number and left_out > counts.number:
        reason, number = max(counts.excluded.items(), key=lambda one: one[1])
        title = _("Most of these people are left out: %(number)s of %(total)s") % {
            "number": formats.count(left_out),
            "total": formats.count(counts.total),
        }
        text = _(
            "The most frequent reason: %(reason)s (%(number)s). The audience of the draft lists"
            " them."
        )
        values = {"reason": words.describe_exclusion(reason), "number": formats.count(number)}
        yield Check(WARNING, title, text % values, "#audience")


def _check_languages(counts: RecipientCounts) -> Iterator[Check]:
    if number := counts.excluded.get(Exclusion.MISSING_LOCALE, 0):
        title = ngettext(
            "%(number)s person gets no email: the template has no text in their language",
            "%(number)s people get no email: the template has no text in their language",
            number,
        ) % {"number": formats.count(number)}
        text = _(
            "Add their language to the template, or choose in it a language for everybody else."
        )
        yield Check(WARNING, title, text, "#audience")


def _check_footer(visitor: Visitor, sender: Sender) -> Iterator[Check]:
    organisation = accounts.organisation(visitor.workspace.pk)
    lacking, url = _find_lacking(visitor, organisation)
    if lacking:
        title = _("The footer of your emails is not complete")
        yield Check(PROBLEM, title, lacking, url)
        return
    try:
        list_headers.write_unsubscribe(organisation.unsubscribe_page)
    except InvalidHeaderError as error:
        yield Check(PROBLEM, _("One-click unsubscribe is not possible"), translate(error))
        return
    if loopback.is_loopback(organisation.unsubscribe_page):
        yield _tell_unsubscribe_page(visitor, sender, organisation)
        return
    if not organisation.unsubscribe_page.startswith("https://"):
        text = _("Mail programs follow one-click links only if they begin with https://.")
        yield Check(WARNING, _("The unsubscribe page has no https:// address"), text)
        return
    yield Check(
        OK,
        _("One-click unsubscribe header, and a footer with your postal address"),
        f"{organisation.name}, {organisation.address}",
    )


def _tell_unsubscribe_page(visitor: Visitor, sender: Sender, organisation: Organisation) -> Check:
    title, page = _("Readers cannot open the unsubscribe link"), organisation.unsubscribe_base_url
    if not page:
        return Check(_rate_reach(sender), title, _tell_setting("PUBLIC_URL", settings.PUBLIC_URL))
    text = _(
        "Its address in the settings is %(url)s, which leads readers elsewhere to their own"
        " machine. Enter one that they can reach."
    )
    may_change = visitor.may(Permission.MANAGE_MEMBERS)
    url = reverse("settings", args=[visitor.workspace.pk]) if may_change else ""
    return Check(_rate_reach(sender), title, text % {"url": page}, url)


def _check_pictures(sender: Sender, *, has_own_pictures: bool) -> Iterator[Check]:
    if has_own_pictures and loopback.is_loopback(pictures.find_base_url()):
        name = "PICTURES_URL" if settings.PICTURES_URL else "PUBLIC_URL"
        text = _tell_setting(name, getattr(settings, name))
        yield Check(_rate_reach(sender), _("Readers cannot see the uploaded pictures"), text)


def _rate_reach(sender: Sender) -> str:
    """The sandbox has no readers: it can be tried on one machine."""
    return PROBLEM if sender_setup.reaches_people(sender) else WARNING


def _tell_setting(name: str, url: str) -> str:
    text = _(
        "The setting %(name)s is %(url)s, which leads readers elsewhere to their own machine. The"
        " operator sets it to an address that they can reach, such as https://mail.example.com, and"
        " starts Postledger again."
    )
    return text % {"name": name, "url": url}


def _find_lacking(visitor: Visitor, organisation: Organisation) -> tuple[str, str]:
    """What the footer lacks, and where the visitor changes it; empty if it lacks nothing."""
    workspace_id = visitor.workspace.pk
    if not (organisation.name.strip() and organisation.address.strip()):
        text = _("Enter your organisation and its postal address under Branding.")
        return text, reverse("branding", args=[workspace_id])
    if not organisation.unsubscribe_page:
        may_change = visitor.may(Permission.MANAGE_MEMBERS)
        text = _(
            "Enter the address of the unsubscribe page in the settings, or let the operator set"
            " PUBLIC_URL: then it is a page of this installation."
        )
        return text, reverse("settings", args=[workspace_id]) if may_change else ""
    return ("", "") if settings.UNSUBSCRIBE_SECRET else (str(finding_words.NO_SECRET), "")
