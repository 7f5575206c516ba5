"""What is checked of the email of a draft: its content, size, links, and the values it needs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from postledger.accounts.queries import SenderArchivedError
from postledger.campaigns.drafts import preview, recipients
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.drafts.preview import AudienceCheck, PreviewRecipient
from postledger.campaigns.drafts.recipients import RecipientCounts
from postledger.contacts.audience import FilterTooCostlyError
from postledger.content import link_checks, pictures, versions
from postledger.content.link_checks import LinkReport, LinkState
from postledger.content.picture_types import ENDINGS
from postledger.content.rendering import links
from postledger.content.rendering.html.checks import MAX_HTML_BYTES, Finding
from postledger.content.rendering.mail_preview import CLIPPED_BYTES, MailPreview
from postledger.content.rendering.source import Format
from postledger.lib.errors import RefusedError
from postledger.mailing.content_source import (
    ArticleSource,
    ContentSource,
    InlineSource,
    TemplateSource,
)
from postledger.mailing.missing_values import MissingValue
from postledger.web.dashboard import formats
from postledger.web.dashboard.components import finding_words
from postledger.web.dashboard.editor import choices, merge_tags
from postledger.web.dashboard.editor.checks import OK, PROBLEM, WARNING, Check

_ABOUT_LINKS = frozenset({"link_unreachable", "link_empty", "alt_missing"})
# Told in the lines about the size, the footer and the parts.
_TOLD_ELSEWHERE = frozenset(
    {"html_clipped", "footer_missing", "footer_env_missing", SenderArchivedError.code}
)
_MOST_TAGS = 5  # of other tools, that are named
_MISSING_VALUE = "template_missing_variable"
# A title, and what to do; a link that turns programs away is no fault.
_LINK_FAULTS: Mapping[LinkState, tuple[Promise, Promise]] = {
    LinkState.GONE: (
        gettext_lazy("A link is broken"),
        gettext_lazy("%(url)s answers %(status)s: there is no page at this address."),
    ),
    LinkState.FAILS: (
        gettext_lazy("A link leads to an error"),
        gettext_lazy("%(url)s answers with the error %(status)s. Tell whoever runs the site."),
    ),
    LinkState.REDIRECT_LOOP: (
        gettext_lazy("A link is redirected too often"),
        gettext_lazy("Browsers give up on %(url)s. Use the address to which it leads in the end."),
    ),
    LinkState.BAD_REDIRECT: (
        gettext_lazy("A link is redirected to no web page"),
        gettext_lazy(
            "%(url)s redirects to something other than a web address. Open it in a browser to see"
            " where it leads."
        ),
    ),
    LinkState.NO_HOST: (
        gettext_lazy("A link leads to a host that is not known"),
        gettext_lazy("The host of %(url)s does not exist, or its name cannot be looked up."),
    ),
    LinkState.PRIVATE: (
        gettext_lazy("A link leads inside a network"),
        gettext_lazy("Readers elsewhere cannot open %(url)s, so it was not checked."),
    ),
    LinkState.SILENT: (
        gettext_lazy("A link does not answer"),
        gettext_lazy("%(url)s gave no answer. Open it in a browser, or try again later."),
    ),
    LinkState.UNSAFE: (
        gettext_lazy("A link is not safe"),
        gettext_lazy("Browsers warn before they open %(url)s: its certificate is not accepted."),
    ),
}

_PICTURE_FAULTS: Mapping[LinkState, Promise] = {
    LinkState.GONE: gettext_lazy("A picture is not there"),
    LinkState.FAILS: gettext_lazy("A picture leads to an error"),
    LinkState.REDIRECT_LOOP: gettext_lazy("A picture is redirected too often"),
    LinkState.BAD_REDIRECT: gettext_lazy("A picture is redirected to no web page"),
    LinkState.NO_HOST: gettext_lazy("A picture is on a host that is not known"),
    LinkState.PRIVATE: gettext_lazy("A picture is inside a network"),
    LinkState.SILENT: gettext_lazy("A picture does not answer"),
    LinkState.UNSAFE: gettext_lazy("A picture is not safe"),
}
_PICTURES = tuple(f".{ending}" for ending in (*ENDINGS.values(), "jpeg", "svg"))


@dataclass(frozen=True, slots=True)
class ContentChecks:
    lines: Sequence[Check]
    links: Sequence[str]  # to check: they are the same for every reader
    has_own_pictures: bool = False  # that this installation serves


def check_content(
    workspace_id: int, campaign: CampaignFacts, *, now: datetime, patience: timedelta
) -> ContentChecks:
    """As the first recipient would get it."""
    try:
        reader = _find_reader(workspace_id, campaign, now=now, patience=patience)
        mail = preview.render_preview(workspace_id, campaign, reader, now=now).mail
        lines = list(_check_mail(workspace_id, campaign, reader, mail, now=now))
        lines += _check_foreign_tags(campaign.content, mail)
        lines += _check_html_shown(campaign.content, mail)
        lines += _check_descriptions(campaign.content)
    except RefusedError as error:
        text = finding_words.describe_refusal(error)
        return ContentChecks(
            [Check(PROBLEM, _("The content cannot be read"), text, "#content")], ()
        )
    former = pictures.list_former_urls(workspace_id, _list_links(mail))
    lines += map(_tell_former_picture, former)
    others = [link for link in _list_links(mail) if link not in former]
    return ContentChecks(lines, link_checks.list_to_check(others), _has_pictures(mail))


def _tell_former_picture(url: str) -> Check:
    title = _("A picture of yours still has its former address")
    text = _(
        "%(url)s was its address before that of this installation was set, and readers may not"
        " see it. Insert it again from Earlier pictures."
    )
    return Check(WARNING, title, text % {"url": url}, "#content")


def list_links(
    workspace_id: int, campaign: CampaignFacts, *, now: datetime, patience: timedelta
) -> Sequence[str]:
    """Those that the preflight asks; none of content that cannot be read."""
    return check_content(workspace_id, campaign, now=now, patience=patience).links


def _list_links(mail: MailPreview) -> Sequence[str]:
    return links.list_links(mail.script.html) if mail.script else ()


def _has_pictures(mail: MailPreview) -> bool:
    base_url = pictures.find_base_url()
    return bool(base_url) and any(link.startswith(f"{base_url}/") for link in _list_links(mail))


def _check_mail(
    workspace_id: int,
    campaign: CampaignFacts,
    reader: PreviewRecipient,
    mail: MailPreview,
    *,
    now: datetime,
) -> Iterator[Check]:
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


def _check_foreign_tags(content: ContentSource, mail: MailPreview) -> Iterator[Check]:
    texts: Sequence[str] = ()
    if isinstance(content, InlineSource):
        texts = (content.subject, content.preheader, content.body, content.text)
    elif mail.script:
        texts = (mail.script.subject, mail.script.text)
    tags = merge_tags.find_foreign_tags("\n".join(texts))
    others = [tag for tag in tags if merge_tags.stands_for_no_value(tag)]
    values = [tag for tag in tags if tag not in others]
    title = _("%(tags)s would be sent as it stands")
    if values:
        text = _(
            "Other tools show a value of the reader there. Write it as %(example)s, or leave it if"
            " it is no such place."
        ) % {"example": '{{ first_name | default: "there" }}'}
        yield Check(WARNING, title % {"tags": ", ".join(values[:_MOST_TAGS])}, text, "#content")
    if others:
        text = _(
            "Other tools put a link or an address there. Delete it: the footer has the link to"
            " unsubscribe and your postal address."
        )
        yield Check(WARNING, title % {"tags": ", ".join(others[:_MOST_TAGS])}, text, "#content")


def _check_html_shown(content: ContentSource, mail: MailPreview) -> Iterator[Check]:
    """HTML that an author pasted into Markdown; in HTML it shows what its author escaped."""
    is_html = isinstance(content, InlineSource) and content.format is not Format.MARKDOWN
    tag = merge_tags.find_html_shown(mail.script.html) if mail.script and not is_html else ""
    if tag:
        title = _("HTML tags in the text, as %(tag)s …>, would be read as text") % {"tag": tag}
        text = _("Write a link as %(example)s, or choose HTML in place of Markdown.")
        example = f"[{_('Book now')}](https://…)"
        yield Check(WARNING, title, text % {"example": example}, "#content")


def _check_descriptions(content: ContentSource) -> Iterator[Check]:
    if not isinstance(content, InlineSource) or content.format is not Format.MARKDOWN:
        return
    if "![](" in content.body:
        title = _("A picture has no description")
        text = _("Who sees no pictures reads nothing in its place. Write it between the brackets.")
        yield Check(WARNING, title, text, "#content")


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


def check_values(
    workspace_id: int,
    campaign: CampaignFacts,
    counts: RecipientCounts,
    *,
    now: datetime,
    patience: timedelta,
) -> Iterator[Check]:
    """Searches twice for `patience` if all recipients cannot be checked in time."""
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
    attributes = choices.list_attributes(workspace_id) if audience.missing_values else ()
    for missing in audience.missing_values or ():
        remedy = _tell_other_case(attributes, missing.variable)
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
        title = _tell_count(missing, counts)
        text = _(
            "Their email would fail. Say what stands there if the value is empty, let it be empty,"
            " or leave these people out."
        )
        if is_template:
            text = _(
                "Their email would fail. Make it optional in a new version of the template, or"
                " leave these people out."
            )
        yield Check(WARNING, title, remedy or text, url, missing.contacts, _tell_loss(missing))


def _tell_count(missing: MissingValue, counts: RecipientCounts) -> str:
    values = {"number": formats.count(missing.count), "variable": missing.variable}
    if counts.is_exact and 2 * missing.count > counts.number:
        title = _("Most recipients would fail: %(number)s of %(total)s have no %(variable)s")
        return title % {**values, "total": formats.count(counts.number)}
    title = ngettext(
        "%(number)s recipient has no %(variable)s",
        "%(number)s recipients have no %(variable)s",
        missing.count,
    )
    return title % values


def _tell_loss(missing: MissingValue) -> str:
    return ngettext(
        "%(number)s of them would fail: no %(variable)s",
        "%(number)s of them would fail: no %(variable)s",
        missing.count,
    ) % {"number": formats.count(missing.count), "variable": missing.variable}


def _find_declaring_url(workspace_id: int, content: ContentSource) -> str:
    """Where it is said that a variable may be empty."""
    if not isinstance(content, TemplateSource):
        return "#variables"
    if content.key in versions.builtin_templates():
        return "#content"  # nobody writes a version of it: another template is chosen
    return reverse("template_write", args=[workspace_id, content.key])


def _tell_other_case(attributes: Sequence[str], variable: str) -> str:
    """Names the attribute that differs by its capitals alone; empty if there is none."""
    for key in attributes:
        if key != variable and key.casefold() == variable.casefold():
            text = _("Contacts have %(key)s, and capitals count. Write %(key)s in the text.")
            return text % {"key": key}
    return ""


def describe_links(
    reports: Sequence[LinkReport], *, recipient_count: int | None
) -> Iterator[Check]:
    """The faults, each with its link; the links that answer are one line.

    Without a number of recipients it is not said how many may open a slow link.
    """
    answering = sum(report.state is LinkState.WORKS for report in reports)
    for report in reports:
        if report.state in _LINK_FAULTS:
            title, fault = _LINK_FAULTS[report.state]
            if _is_picture(report.url):
                title = _PICTURE_FAULTS[report.state]
            values = {"url": report.url, "status": report.status}
            yield Check(WARNING, str(title), str(fault) % values, "#content")
        elif report.is_slow:
            yield _tell_slow(report, recipient_count)
    if answering:
        text = ngettext(
            "%(number)s link or picture answers", "%(number)s links and pictures answer", answering
        )
        yield Check(OK, text % {"number": formats.count(answering)})


def _is_picture(url: str) -> bool:
    """By the end of its address: what a server sends is not looked at."""
    return url.lower().partition("?")[0].endswith(_PICTURES)


def _tell_slow(report: LinkReport, recipient_count: int | None) -> Check:
    is_picture = _is_picture(report.url)
    title = _("A picture loads slowly") if is_picture else _("A link answers slowly")
    values = {"url": report.url}
    values["time"] = formats.span(report.seconds)
    if recipient_count is None:
        return Check(WARNING, title, _("%(url)s took %(time)s.") % values, "#content")
    text = ngettext(
        "%(url)s took %(time)s. %(number)s person may open it.",
        "%(url)s took %(time)s. %(number)s people may open it.",
        recipient_count,
    )
    values["number"] = formats.count(recipient_count)
    return Check(WARNING, title, text % values, "#content")
