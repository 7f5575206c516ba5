"""A draft as one of its readers would get it, in a frame of its own."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from postledger.campaigns.drafts import drafts, preview, recipients
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.drafts.preview import ANYBODY, Preview, PreviewRecipient
from postledger.content import locales
from postledger.content.locales import MissingLocaleError
from postledger.content.versions import Version
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.mailing import content_source
from postledger.mailing.content_source import TemplateSource
from postledger.web.dashboard import formats, language_names
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components.finding_words import describe_refusal
from postledger.web.dashboard.editor import readings
from postledger.web.dashboard.frame import render_fragment, render_page
from postledger.web.dashboard.letter_frame import show_in_frame
from postledger.web.dashboard.parameters import read_text

_OFFERED = 8  # readers
SHOWN = ("desktop", "phone", "text")


@dataclass(frozen=True, slots=True)
class ShownLanguage:
    """In which of a template's languages it is shown, and why in this one."""

    code: str = ""  # empty: it has no text for the reader
    why: str = ""
    others: Sequence[tuple[str, str]] = ()  # with their names


@dataclass(frozen=True, slots=True)
class Rendered:
    """The email, or why there is none."""

    preview: Preview | None
    trouble: str = ""
    reader: PreviewRecipient = ANYBODY
    language: ShownLanguage = ShownLanguage()
    is_left_out: bool = False  # the reader would get nothing


@require_safe
def show(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    campaign = drafts.find_campaign(visitor.workspace.pk, campaign_id)
    reader, shown = read_text(request.GET, "as").strip(), request.GET.get("show", "")
    values = {
        "title": _("Preview of %(name)s") % {"name": formats.isolate(campaign.name)},
        "campaign": campaign,
        "rendered": _render(visitor, campaign, reader, read_text(request.GET, "language")),
        "reader": reader,
        "readers": () if reader else _list_readers(visitor, campaign),
        "shown": shown if shown in SHOWN else "desktop",
        "is_part": "HX-Request" in request.headers,
    }
    if values["is_part"]:
        return render_fragment(request, visitor, "dashboard/editor_preview.html", values)
    return render_page(request, visitor, "dashboard/editor_preview_page.html", values)


@require_safe
def suggest_readers(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """Contacts whose name or address has what somebody types; nothing: first recipients."""
    campaign = drafts.find_campaign(visitor.workspace.pk, campaign_id)
    typed = read_text(request.GET, "as").strip()
    addresses = (
        readings.suggest_addresses(visitor.workspace.pk, typed, most=_OFFERED)
        if typed
        else _list_readers(visitor, campaign)
    )
    return render_fragment(
        request, visitor, "dashboard/editor_readers.html", {"readers": addresses}
    )


@require_safe
def show_letter(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """The HTML alone, for the frame of the preview."""
    campaign = drafts.find_campaign(visitor.workspace.pk, campaign_id)
    reader, language = read_text(request.GET, "as").strip(), read_text(request.GET, "language")
    rendered = _render(visitor, campaign, reader, language).preview
    if rendered is None or rendered.mail.mail is None:
        raise Http404
    return show_in_frame(rendered.mail.mail.html)


def _render(visitor: Visitor, campaign: CampaignFacts, address: str, asked: str) -> Rendered:
    workspace_id = visitor.workspace.pk
    reader = ANYBODY
    try:
        if address:
            contact_id = readings.find_contact_id(workspace_id, address)
            reader = preview.find_recipient(workspace_id, contact_id, list_key=campaign.list_key)
        language = _choose_language(workspace_id, campaign, reader, asked)
        served = replace(reader, locale=language.code or reader.locale)
        now = datetime.now(UTC)
        shown = preview.render_preview(workspace_id, campaign, served, now=now)
        is_left_out = _is_left_out(workspace_id, campaign, reader, now=now)
        return Rendered(shown, reader=reader, language=language, is_left_out=is_left_out)
    except NotFoundError:
        raise
    except RefusedError as error:
        return Rendered(None, describe_refusal(error), reader)


def _is_left_out(
    workspace_id: int, campaign: CampaignFacts, reader: PreviewRecipient, *, now: datetime
) -> bool:
    """False where that takes too long, or where nobody is chosen yet."""
    if not reader.address or campaign.lacks_list:
        return False
    with suppress(RefusedError):
        return not recipients.is_recipient(workspace_id, campaign, reader.address, now=now)
    return False


def _choose_language(
    workspace_id: int, campaign: CampaignFacts, reader: PreviewRecipient, asked: str
) -> ShownLanguage:
    """Nobody in particular sees the first text where readers without a language get no email."""
    if not isinstance(campaign.content, TemplateSource):
        return ShownLanguage()
    version = content_source.find_template(workspace_id, campaign.content)
    codes = version.locales()
    code, why = asked, _("Shown in %(language)s.")
    if asked not in codes:
        code, why = _find_language(version, reader)
    others = [(other, language_names.name_language(other)) for other in codes if other != code]
    return ShownLanguage(code, why % {"language": language_names.name_language(code)}, others)


def _find_language(version: Version, reader: PreviewRecipient) -> tuple[str, str]:
    codes = version.locales()
    with suppress(MissingLocaleError):
        code = locales.choose(reader.locale, available=codes)
        return code, _("Shown in %(language)s, the language of this reader.")
    with suppress(MissingLocaleError):
        code = version.text(reader.locale).locale
        return code, _("Shown in %(language)s, for everybody whose language has no text.")
    if reader == ANYBODY:
        return codes[0], _("Shown in %(language)s, the first of its languages.")
    return "", ""


def _list_readers(visitor: Visitor, campaign: CampaignFacts) -> list[str]:
    try:
        listed = recipients.list_people(
            visitor.workspace.pk, campaign, reason=None, limit=_OFFERED, now=datetime.now(UTC)
        )
    except RefusedError:
        return []
    return [one.address for one in listed]
