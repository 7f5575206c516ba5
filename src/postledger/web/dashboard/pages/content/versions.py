"""A version of a template: its texts, a test render, what changed, and a new version."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from postledger.accounts.people.roles import Permission
from postledger.campaigns.drafts import preview
from postledger.content import previews, templates
from postledger.content.rendering.mail_preview import MailPreview
from postledger.content.rendering.source import Source
from postledger.content.templates import NewerVersionError, TemplateUnknownError
from postledger.content.versions import Version
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.web.dashboard import refusals
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components.finding_words import describe_refusal
from postledger.web.dashboard.content import samples, version_diff
from postledger.web.dashboard.content.version_form import VersionForm
from postledger.web.dashboard.editor import choices
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.letter_frame import show_in_frame
from postledger.web.dashboard.pages.content.templates import find_template
from postledger.web.dashboard.parameters import read_number, read_text
from postledger.web.dashboard.shared_form import Conflict, find_conflict
from postledger.web.shared.sentences import translate

SHOWN = ("desktop", "phone", "text")
PART_NAMES: Mapping[str, Promise | str] = {
    "required": gettext_lazy("Required variables"),
    "optional": gettext_lazy("Optional variables"),
    "fallback_locale": gettext_lazy("Language for everybody else"),
    "format": gettext_lazy("Format"),
    "subject": gettext_lazy("Subject"),
    "preheader": gettext_lazy("Preheader"),
    "body": gettext_lazy("Text"),
    "text": gettext_lazy("Plain text of your own"),
}


@require_safe
def show(request: HttpRequest, visitor: Visitor, key: str, number: int) -> HttpResponse:
    version = templates.find_version(visitor.workspace.pk, key=key, number=number)
    text = _choose_text(version, read_text(request.GET, "locale"))
    shown = request.GET.get("show", "")
    mail, trouble = _render(request, visitor, version, text)
    template = find_template(visitor, key)
    values = {
        "title": _("Version %(number)s of %(name)s") % {"number": number, "name": template.name},
        "template": template,
        "version": version,
        "text": text,
        "samples": samples.read_samples(version, request.GET),
        "reader": read_text(request.GET, "as").strip(),
        "shown": shown if shown in SHOWN else "desktop",
        "preview": mail,
        "trouble": trouble,
        "query": request.GET.urlencode(),
        "may_write": visitor.may(Permission.WRITE_CONTENT) and not template.is_builtin,
    }
    return render_page(request, visitor, "dashboard/content/version.html", values)


@require_safe
def show_letter(request: HttpRequest, visitor: Visitor, key: str, number: int) -> HttpResponse:
    """The HTML alone, for the frame of the test render."""
    version = templates.find_version(visitor.workspace.pk, key=key, number=number)
    text = _choose_text(version, read_text(request.GET, "locale"))
    rendered, _trouble = _render(request, visitor, version, text)
    if rendered is None or rendered.mail is None:
        raise Http404
    return show_in_frame(rendered.mail.html)


def _choose_text(version: Version, locale: str) -> Source:
    """The text of the locale that was asked for, or the one that most readers get."""
    by_locale = {text.locale: text for text in version.texts}
    return by_locale.get(locale) or by_locale.get(version.fallback_locale) or version.texts[0]


def _render(
    request: HttpRequest, visitor: Visitor, version: Version, text: Source
) -> tuple[MailPreview | None, str]:
    """The mail, or why there is none."""
    workspace_id = visitor.workspace.pk
    typed = samples.read_samples(version, request.GET)
    try:
        address = read_text(request.GET, "as").strip()
        values = samples.find_values(workspace_id, typed, address)
        mail = _preview(workspace_id, text, version, values)
    except NotFoundError:
        raise
    except RefusedError as error:
        return None, describe_refusal(error)
    return mail, ""


def _preview(
    workspace_id: int, text: Source, version: Version, values: Mapping[str, object]
) -> MailPreview:
    return previews.preview_source(
        workspace_id, text, required=version.required, optional=version.optional, values=values
    )


@require_safe
def compare(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    """Two versions; without numbers, the newest and the one before."""
    workspace_id = visitor.workspace.pk
    numbers = [one.number for one in templates.list_versions(workspace_id, key=key)]
    if not numbers:
        raise TemplateUnknownError
    new = read_number(request.GET, "to") or numbers[0]
    old = read_number(request.GET, "from") or max(new - 1, 1)
    template = find_template(visitor, key)
    values = {
        "title": _("Compare versions of %(name)s") % {"name": template.name},
        "template": template,
        "numbers": numbers,
        "old": old,
        "new": new,
        "diff": version_diff.compare_versions(
            *(templates.find_version(workspace_id, key=key, number=one) for one in (old, new))
        ),
        "part_names": PART_NAMES,
    }
    return render_page(request, visitor, "dashboard/content/compare.html", values)


@require_http_methods(["GET", "HEAD", "POST"])
def write(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    """A new version, which begins as the newest; wrong input stays on the page."""
    template = find_template(visitor, key)
    posted = request.POST if request.method == "POST" else None
    if template.is_builtin or (template.archived_at is not None and posted is None):
        raise TemplateUnknownError
    form = VersionForm(visitor.workspace.pk, _find_newest(visitor, key), posted)
    is_saving = posted is not None and not {"add", "find"} & posted.keys()
    if posted is not None and "find" in posted:
        form.propose_variables()
        _tell_needless(request, form)
    if is_saving:
        number = _store(visitor, key, form)
        if number is not None:
            _tell_needless(request, form)
            text = _("Version %(number)s is saved: new mail is made from it.")
            messages.success(request, text % {"number": number})
            return redirect("template_version", visitor.workspace.pk, key, number)
    values = {
        "title": _("New version of %(name)s") % {"name": template.name},
        "template": template,
        "form": form.variables,
        "conflict": form.conflict,
        "texts": form.texts,
        "has_errors": form.has_errors,
        "may_add": form.may_add,
        "proposed": form.proposed,
        "insertable": choices.list_insertable(choices.list_fields(visitor.workspace.pk, ())),
        "is_saving": is_saving,
        "is_finding": posted is not None and "find" in posted,
    }
    status = 409 if form.conflict else 422 if is_saving else 200
    return render_page(request, visitor, "dashboard/content/write.html", values, status=status)


def _tell_needless(request: HttpRequest, form: VersionForm) -> None:
    """Who lacks a required variable gets no email, also where the text does without it."""
    if names := form.needless:
        text = ngettext(
            "%(names)s is required, though the texts do without it everywhere: people without it"
            " get no email. To mail them, too, move it to the optional variables.",
            "%(names)s are required, though the texts do without them everywhere: people without"
            " them get no email. To mail them, too, move them to the optional variables.",
            len(names),
        )
        messages.warning(request, text % {"names": ", ".join(names)})


def _find_newest(visitor: Visitor, key: str) -> Version | None:
    """None without any version, and if the template was archived meanwhile."""
    try:
        return templates.find_version(visitor.workspace.pk, key=key, number=None)
    except TemplateUnknownError:
        return None


def _store(visitor: Visitor, key: str, form: VersionForm) -> int | None:
    try:
        version = form.read_version()
        if version is None:
            return None
        return templates.add_version(
            visitor.workspace.pk,
            key=key,
            version=version,
            actor=visitor.actor,
            after=form.base,
        )
    except TemplateUnknownError:
        text = _(
            "The template was archived meanwhile, so nothing was saved. Restore it in another tab,"
            " and save again."
        )
        form.variables.add_error(None, text)
        return None
    except NewerVersionError:
        form.show_conflict(_find_conflict(visitor, key, form.newest))
        return None
    except RefusedError as error:
        form.variables.add_error(None, translate(error))
        return None


def _find_conflict(visitor: Visitor, key: str, number: int) -> Conflict:
    return find_conflict(
        visitor,
        [f"template {key}"],
        {"template.version_added"},
        _("Version %(number)s") % {"number": number},
        reverse("template_version", args=[visitor.workspace.pk, key, number]),
    )


@require_POST
def try_text(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    """One text of a version that is being written, for the frame beside it: nothing is stored."""
    find_template(visitor, key)
    form = VersionForm(visitor.workspace.pk, None, request.POST)
    tried = form.read_text(read_number(request.POST, "try") or 0)
    context: dict[str, Any] = {"preview": None, "trouble": ""}
    if tried is None:
        context["trouble"] = _("Write the language of the text first, as en or pt-BR.")
        return _show_trouble(context)
    text, version = tried
    values = preview.choose_values(preview.ANYBODY, version.required)
    try:
        context["preview"] = mail = _preview(visitor.workspace.pk, text, version, values)
    except RefusedError as error:
        context["trouble"] = describe_refusal(error)
        return _show_trouble(context)
    return show_in_frame(mail.mail.html) if mail.mail else _show_trouble(context)


@require_POST
def refuse_large_try(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:  # noqa: ARG001  every view gets them
    return _show_trouble({"trouble": refusals.describe_too_large(request)}, status=413)


def _show_trouble(context: Mapping[str, Any], *, status: int = 200) -> HttpResponse:
    response = show_in_frame(render_to_string("dashboard/content/trouble.html", context))
    response.status_code = status
    return response
