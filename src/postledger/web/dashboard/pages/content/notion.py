"""A Notion page as the email that would be made of it."""

from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from postledger.accounts.people.roles import Permission
from postledger.campaigns.drafts import preview
from postledger.content import notion_pages
from postledger.content.notion_pages import NotionNotSetUpError
from postledger.content.rendering.mail_preview import MailPreview
from postledger.lib.errors import RefusedError
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components.finding_words import describe_refusal
from postledger.web.dashboard.editor import readings
from postledger.web.dashboard.editor.readings import WrongFieldError
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.letter_frame import show_in_frame
from postledger.web.dashboard.parameters import read_text
from postledger.web.shared import throttle
from postledger.web.shared.throttle import RateExceededError

_SHOWN = ("desktop", "phone", "text")
_LONGEST = 500
_LOOKS = "120/hour"  # of a workspace; the page and its frame are two


@dataclass(frozen=True, slots=True)
class Rendered:
    """The email, or why there is none."""

    preview: MailPreview | None = None
    trouble: str = ""


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    page, shown = read_text(request.GET, "page").strip()[:_LONGEST], request.GET.get("show", "")
    rendered = _render(visitor, page) if page else Rendered()
    values = {
        "title": _("Notion"),
        "page": page,
        "preview": rendered.preview,
        "trouble": rendered.trouble,
        "shown": shown if shown in _SHOWN else "desktop",
        "query": request.GET.urlencode(),
        "is_connected": _is_connected(visitor),
        "may_set_up": visitor.may(Permission.SET_UP),
    }
    return render_page(request, visitor, "dashboard/content/notion.html", values)


@require_safe
def show_letter(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    """The HTML alone, for the frame of the preview."""
    rendered = _render(visitor, read_text(request.GET, "page").strip()[:_LONGEST]).preview
    if rendered is None or rendered.mail is None:
        raise Http404
    return show_in_frame(rendered.mail.html)


def _is_connected(visitor: Visitor) -> bool:
    try:
        notion_pages.require_notion(visitor.workspace.pk)
    except NotionNotSetUpError:
        return False
    return True


def _render(visitor: Visitor, page: str) -> Rendered:
    try:
        page_id = readings.parse_page(page)
        # Reading a large page takes Notion many calls, and meanwhile a thread of ours.
        throttle.count_visit(_LOOKS, "notion preview", str(visitor.workspace.pk))
        return Rendered(preview.preview_page(visitor.workspace.pk, page_id, preview.ANYBODY))
    except RateExceededError as exceeded:
        what = _("Too many looks at Notion.")
        return Rendered(trouble=throttle.describe_wait(what, exceeded.retry_after))
    except WrongFieldError as error:
        return Rendered(trouble=str(error))
    except RefusedError as error:  # also a page that Notion does not show
        return Rendered(trouble=describe_refusal(error))
