"""What is checked of a draft before its launch: whom it reaches, its email, and when it ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from postledger.accounts import integrations, sender_dns, sending_limits
from postledger.accounts import queries as accounts
from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.models import Sender
from postledger.accounts.people.roles import Permission
from postledger.accounts.queries import Organisation, SenderArchivedError
from postledger.campaigns.drafts import drafts, forecasts, preview, recipients
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.drafts.preview import AudienceCheck, PreviewRecipient
from postledger.campaigns.drafts.recipients import RecipientCounts
from postledger.contacts import audience, lists
from postledger.contacts.audience import FilterTooCostlyError
from postledger.contacts.models import List
from postledger.content import list_headers, versions
from postledger.content.rendering.html.checks import MAX_HTML_BYTES, Finding
from postledger.content.rendering.mail_preview import CLIPPED_BYTES
from postledger.dispatch import heartbeat
from postledger.lib.errors import RefusedError
from postledger.mailing import send_times
from postledger.mailing.content_source import ArticleSource, ContentSource, TemplateSource
from postledger.mailing.missing_values import LackingContact
from postledger.pacing.outlook import Outlook
from postledger.providers.headers import InvalidHeaderError
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components import finding_words
from postledger.web.dashboard.editor import choices
from postledger.web.dashboard.senders import dns_words
from postledger.web.shared.sentences import translate

OK, WARNING, PROBLEM = "", "warning", "problem"
_ABOUT_LINKS = frozenset({"link_unreachable", "alt_missing"})
# Told in the lines about the size, the footer and the parts.
_TOLD_ELSEWHERE = frozenset(
    {"html_clipped", "footer_missing", "footer_env_missing", SenderArchivedError.code}
)
_MISSING_VALUE = "template_missing_variable"


@dataclass(frozen=True, slots=True)
class Check:
    level: str
    title: str
    text: str = ""
    url: str = ""  # of the step where it is mended
    people: Sequence[LackingContact] = ()

    @property
    def icon(self) -> str:
        return "alert" if self.level else "check"


@dataclass(frozen=True, slots=True)
class Preflight:
    campaign: CampaignFacts
    counts: RecipientCounts
    outlook: Outlook
    checks: Sequence[Check]
    at: datetime
    dns_url: str = ""  # looks up what was not looked up yet

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
    patience: timedelta = audience.PATIENCE,
) -> Preflight:
    """What is looked for among the recipients and takes longer than `patience` is left out."""
    workspace_id = visitor.workspace.pk
    counts = recipients.count_recipients(workspace_id, campaign, now=now, patience=patience)
    outlook = forecasts.forecast_campaign(
        workspace_id,
        campaign.id,
        worker_count=heartbeat.count_alive(),
        member_id=visitor.member.pk,
        recipient_count=counts.number,
        now=now,
    )
    sender = accounts.find_sender(workspace_id, address=campaign.sender)
    checks = [
        *_check_parts(workspace_id, campaign, now=now),
        *_check_people(counts, may_grow=_may_grow(workspace_id)),
        *_check_content(workspace_id, campaign, now=now, patience=patience),
        *_check_values(workspace_id, campaign, counts, now=now, patience=patience),
        *_check_footer(visitor),
        *_check_time(campaign, now=now),
        *_check_quota(sender, counts),
        *_check_dns(sender, now=now),
    ]
    checks.sort(key=lambda check: [PROBLEM, WARNING, OK].index(check.level))
    return Preflight(campaign, counts, outlook, checks, now, _find_dns_url(sender, now=now))


def _check_dns(sender: Sender, *, now: datetime) -> Iterator[Check]:
    """What was looked up some minutes ago: the page waits for nobody.

    A wrong record is a warning here: mail is sent all the same, and receivers decide.
    """
    report = sender_dns.recall_report(sender, now=now)
    url = reverse("sender", args=[sender.workspace_id, sender.pk])
    for line in dns_words.describe_verdicts(sender, report.verdicts) if report else ():
        level = WARNING if line.level else OK
        yield Check(level, line.title, url=f"{url}#dns" if level else "")


def _find_dns_url(sender: Sender, *, now: datetime) -> str:
    if not sender_dns.is_looked_up(sender) or sender_dns.recall_report(sender, now=now):
        return ""
    return reverse("sender_dns", args=[sender.workspace_id, sender.pk])


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
            title = _("The list %(name)s is archived") % {"name": archived.name}
            text = _("Choose another list, or take this one into use again under Lists.")
            yield Check(PROBLEM, title, text, "#audience")
            continue
        title, url = titles[part]
        yield Check(PROBLEM, title, translate(refusal), url)


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


def _check_content(
    workspace_id: int, campaign: CampaignFacts, *, now: datetime, patience: timedelta
) -> Iterator[Check]:
    """As the first recipient would get it."""
    try:
        reader = _find_reader(workspace_id, campaign, now=now, patience=patience)
        mail = preview.render_preview(workspace_id, campaign, reader, now=now).mail
    except RefusedError as error:
        text = finding_words.describe_refusal(error)
        yield Check(PROBLEM, _("The content cannot be read"), text, "#content")
        return
    findings = [finding for finding in mail.findings if finding.code not in _TOLD_ELSEWHERE]
    of_everybody = findings
    if mail.mail is None and reader != preview.ANYBODY:
        stand_in = replace(preview.ANYBODY, locale=reader.locale, ocd_ids=reader.ocd_ids)
        of_everybody = list(
            preview.render_preview(workspace_id, campaign, stand_in, now=now).mail.findings
        )
    if isinstance(campaign.content, ArticleSource):
        findings, of_everybody = map(
            list, map(finding_words.name_for_slices, (findings, of_everybody))
        )
    for finding in findings:
        yield from _tell_finding(finding, is_of_everybody=finding in of_everybody)
    if mail.mail is None:
        return
    if not any(finding.code in _ABOUT_LINKS for finding in findings):
        yield Check(OK, _("Links and pictures are written as mail programs need them"))
    yield _check_size(len(mail.mail.html.encode()))


def _find_reader(
    workspace_id: int, campaign: CampaignFacts, *, now: datetime, patience: timedelta
) -> PreviewRecipient:
    """The first recipient; anybody if there is none, or if finding one takes too long."""
    try:
        readers = recipients.list_people(
            workspace_id, campaign, reason=None, limit=1, now=now, patience=patience
        )
    except FilterTooCostlyError:
        readers = ()
    if not readers:
        return preview.ANYBODY
    return preview.find_recipient(workspace_id, readers[0].contact_id, list_key=campaign.list_key)


def _tell_finding(finding: Finding, *, is_of_everybody: bool) -> Iterator[Check]:
    """A fault that one reader's values cause keeps nobody else from getting the mail."""
    if finding.code == _MISSING_VALUE and "." not in finding.place:
        return  # the lines about missing values count who lacks it
    level = PROBLEM if is_of_everybody and not finding.is_warning else WARNING
    title, text = finding_words.place(finding), finding_words.remedy(finding)
    yield Check(level, title, text, "#content")


def _check_size(size: int) -> Check:
    values = {
        "size": formats.count(-(-size // 1024)),
        "most": formats.count(MAX_HTML_BYTES // 1024),
        "clipped": formats.count(CLIPPED_BYTES // 1024),
    }
    if size > CLIPPED_BYTES:
        text = _("Gmail hides everything after %(clipped)s KB. Put the most important first.")
        return Check(WARNING, _("%(size)s KB of %(most)s KB") % values, text % values, "#content")
    return Check(OK, _("%(size)s KB of %(most)s KB; Gmail cuts off above %(clipped)s KB") % values)


def _check_values(
    workspace_id: int,
    campaign: CampaignFacts,
    counts: RecipientCounts,
    *,
    now: datetime,
    patience: timedelta,
) -> Iterator[Check]:
    try:
        audience = preview.check_audience(
            workspace_id, campaign, now=now, patience=patience, patience_for_some=patience
        )
    except RefusedError:
        return  # the content says why it cannot be read
    if audience.missing_values is None:
        title = _("Nobody was checked for missing values")
        yield Check(WARNING, title, _("That took too long. Narrow the audience."), "#audience")
        return
    yield from _tell_missing(workspace_id, campaign.content, audience, counts)
    if not audience.missing_values and counts.number:
        title = _("Every variable has a value, or may be empty, for all %(number)s")
        yield Check(OK, title % {"number": formats.count(counts.number)})


def _tell_missing(
    workspace_id: int, content: ContentSource, audience: AudienceCheck, counts: RecipientCounts
) -> Iterator[Check]:
    """Some who lack a value are a choice; a mail that would fail for all is a mistake."""
    is_template = isinstance(content, TemplateSource)
    url = _find_declaring_url(workspace_id, content)
    for missing in audience.missing_values or ():
        remedy = _tell_other_case(workspace_id, missing.variable)
        if counts.is_exact and missing.count >= counts.number:
            title = _("No recipient has a value for %(variable)s")
            text = _("Every email would fail. Correct the name, or let the value be empty.")
            if is_template:
                text = _(
                    "Every email would fail. Make it optional in a new version of the template."
                )
            title %= {"variable": missing.variable}
            yield Check(PROBLEM, title, remedy or text, url)
            continue
        title = ngettext(
            "%(number)s recipient has no %(variable)s",
            "%(number)s recipients have no %(variable)s",
            missing.count,
        ) % {"number": formats.count(missing.count), "variable": missing.variable}
        text = _("Their email would fail. Let the value be empty, or leave these people out.")
        if is_template:
            text = _(
                "Their email would fail. Make it optional in a new version of the template, or"
                " leave these people out."
            )
        yield Check(WARNING, title, remedy or text, url, missing.contacts)


def _find_declaring_url(workspace_id: int, content: ContentSource) -> str:
    """Where it is said that a variable may be empty."""
    if not isinstance(content, TemplateSource):
        return "#variables"
    if content.key in versions.builtin_templates():
        return "#content"  # nobody writes a version of it: another template is chosen
    return reverse("template_write", args=[workspace_id, content.key])


def _tell_other_case(workspace_id: int, variable: str) -> str:
    """Names the attribute that differs by its capitals alone; empty if there is none."""
    keys = set(choices.list_attributes(workspace_id)) - {variable}
    for key in sorted(keys):
        if key.casefold() == variable.casefold():
            text = _("Contacts have %(key)s, and capitals count. Write %(key)s in the text.")
            return text % {"key": key}
    return ""


def _check_footer(visitor: Visitor) -> Iterator[Check]:
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
    if not organisation.unsubscribe_page.startswith("https://"):
        text = _("Mail programs follow one-click links only if they begin with https://.")
        yield Check(WARNING, _("The unsubscribe page has no https:// address"), text)
        return
    yield Check(
        OK,
        _("One-click unsubscribe header, and a footer with your postal address"),
        f"{organisation.name}, {organisation.address}",
    )


def _find_lacking(visitor: Visitor, organisation: Organisation) -> tuple[str, str]:
    """What the footer lacks, and where the visitor changes it; empty if it lacks nothing."""
    workspace_id = visitor.workspace.pk
    if not (organisation.name.strip() and organisation.address.strip()):
        text = _("Enter your organisation and its postal address under Branding.")
        return text, reverse("branding", args=[workspace_id])
    if not organisation.unsubscribe_page:
        may_change = visitor.may(Permission.MANAGE_MEMBERS)
        text = _("Enter the address of the unsubscribe page in the settings.")
        return text, reverse("settings", args=[workspace_id]) if may_change else ""
    return ("", "") if settings.UNSUBSCRIBE_SECRET else (str(finding_words.NO_SECRET), "")


def _check_time(campaign: CampaignFacts, *, now: datetime) -> Iterator[Check]:
    at = campaign.timing.at
    if at is not None and now - send_times.MAX_DISTANCE <= at <= now:
        text = _("Mail would go at once. Choose a later time, or Now.")
        yield Check(WARNING, _("The chosen time is past"), text, "#sender")


def _check_quota(sender: Sender, counts: RecipientCounts) -> Iterator[Check]:
    if sender.account is None:
        title = _("The sender %(address)s has no provider") % {"address": sender.address}
        text = _("Its emails would wait until somebody connects one.")
        yield Check(WARNING, title, text, "#sender")
        return
    quota = sending_limits.describe(sender).quota
    if quota is None:
        return
    values = {"left": formats.count(quota.remaining), "number": formats.count(counts.number)}
    if quota.remaining < counts.number:
        title = _("The provider takes %(left)s more emails now, and %(number)s are to go")
        text = _("The rest waits until it takes more; the forecast says when.")
        yield Check(WARNING, title % values, text, "#forecast")
    else:
        yield Check(OK, _("The provider takes %(left)s more emails now") % values)
