"""The editor of a campaign that was never launched: five steps on one page, saved as they go."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from postledger.accounts import constraints
from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.queries import SenderUnknownError
from postledger.campaigns import listing
from postledger.campaigns.drafts import drafts, origins
from postledger.campaigns.drafts.drafts import CampaignFacts, Draft
from postledger.campaigns.launches.launching import AlreadyLaunchedError
from postledger.campaigns.runs.run_lookup import CampaignUnknownError
from postledger.content import pictures
from postledger.content.picture_types import MOST_BYTES
from postledger.content.rendering.source import Format
from postledger.lib import moments
from postledger.mailing.content_source import InlineSource
from postledger.web.dashboard import refusals
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import audience_words
from postledger.web.dashboard.editor import choices, draft_form, readings, saving
from postledger.web.dashboard.editor.choices import FieldChoice
from postledger.web.dashboard.editor.conditions import COMPARISONS, Condition
from postledger.web.dashboard.editor.draft_form import DraftForm
from postledger.web.dashboard.editor.readings import WrongFieldError
from postledger.web.dashboard.editor.saving import Saved
from postledger.web.dashboard.forms import PageForm
from postledger.web.dashboard.frame import render_fragment, render_page
from postledger.web.dashboard.runs import words
from postledger.web.shared import languages
from postledger.web.shared.sentences import translate

_LONG_AGO = datetime(moments.FIRST_YEAR, 1, 2, tzinfo=UTC)  # in every zone


class NewCampaignForm(PageForm):
    name = forms.CharField(
        label=pgettext_lazy("of a thing", "Name"),
        max_length=constraints.LONGEST_NAME,
        help_text=gettext_lazy("For you and your colleagues; readers see the subject."),
        widget=forms.TextInput({"autocomplete": "off"}),
    )

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        try:
            constraints.check_name("a campaign", name)
        except InvalidNameError:
            raise ValidationError(
                gettext_lazy("Use printable characters only."), code="invalid"
            ) from None
        return name


@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    form = NewCampaignForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            campaign_id = _create(request, visitor, form.cleaned_data["name"])
            return redirect("campaign_edit", visitor.workspace.pk, campaign_id)
        except SenderUnknownError:
            text = _("This workspace has no sender yet. Connect a provider first, under Start.")
            form.add_error(None, text)
    values = {"title": _("New campaign"), "form": form}
    status = 422 if form.errors else 200
    return render_page(request, visitor, "dashboard/new_campaign.html", values, status=status)


def _create(request: HttpRequest, visitor: Visitor, name: str) -> int:
    workspace_id = visitor.workspace.pk
    words_ = InlineSource("", "", Format.MARKDOWN, locale=languages.choose(request))
    list_key, lacks_list = choices.propose_list(workspace_id)
    draft = Draft("", name, words_, list_key=list_key, lacks_list=lacks_list)
    now = datetime.now(UTC)
    return drafts.create_with_free_tag(workspace_id, draft, actor=visitor.actor, now=now)


@require_POST
def duplicate(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """A new draft like a campaign, which may have been launched."""
    original = drafts.find_campaign(visitor.workspace.pk, campaign_id)
    copied = drafts.copy_campaign(
        visitor.workspace.pk,
        campaign_id,
        name=_("Copy of %(name)s") % {"name": original.name},
        actor=visitor.actor,
        now=datetime.now(UTC),
    )
    if drafts.find_campaign(visitor.workspace.pk, copied).timing != original.timing:
        messages.warning(
            request, _("The time of the original is past, so it was not copied: choose when.")
        )
    return redirect("campaign_edit", visitor.workspace.pk, copied)


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """The page; POST saves, and asked by htmx the answer is the line that says so."""
    is_part = "HX-Request" in request.headers
    try:
        campaign = drafts.find_campaign(visitor.workspace.pk, campaign_id)
    except CampaignUnknownError:
        if is_part:
            return render_fragment(request, visitor, "dashboard/editor_gone.html", {})
        raise
    posted = request.POST if request.method == "POST" else None
    is_launched = listing.find_last_run(visitor.workspace.pk, campaign_id) is not None
    if is_launched and posted is None and not is_part:
        return redirect("campaign", visitor.workspace.pk, campaign_id)
    form = DraftForm(
        visitor.workspace.pk, campaign, choices.list_choices(visitor.workspace.pk), posted
    )
    if is_launched:
        return _show_launched(request, visitor, form, is_part=is_part)
    if posted is None:
        return _show_stored(request, visitor, form, is_part=is_part)
    try:
        return _save(request, visitor, form, is_part=is_part)
    except AlreadyLaunchedError:
        return _show_launched(request, visitor, form, is_part=is_part)


def _show_stored(
    request: HttpRequest, visitor: Visitor, form: DraftForm, *, is_part: bool
) -> HttpResponse:
    campaign = form.campaign
    conflict = _find_strange_change(request, visitor, campaign)
    if is_part:
        return _show_saved(request, visitor, form, Saved(campaign, conflict))
    flaws = saving.show_flaws(form, campaign, now=datetime.now(UTC))
    return _show(request, visitor, form, Saved(campaign, conflict, flaws=flaws))


def _save(
    request: HttpRequest, visitor: Visitor, form: DraftForm, *, is_part: bool
) -> HttpResponse:
    if "complete" not in request.POST:
        return _refuse_incomplete(request, visitor, is_part=is_part)
    as_of = None if "overwrite" in request.POST else read_moment(request.POST.get("seen", ""))
    saved = saving.save_draft(visitor, form, as_of=as_of, now=datetime.now(UTC))
    if is_part:
        return _show_saved(request, visitor, form, saved)
    if not saved.is_whole or "add" in request.POST:
        status = 409 if saved.conflict else 422 if saved.problems else 200
        return _show(request, visitor, form, saved, status=status)
    return redirect("campaign_edit", visitor.workspace.pk, form.campaign.id)


def _refuse_incomplete(request: HttpRequest, visitor: Visitor, *, is_part: bool) -> HttpResponse:
    """Of a page that broke off, a list or conditions that are missing mean everybody."""
    title = _("The form was incomplete, so nothing was saved")
    text = _("The page broke off while it loaded. Copy what you typed, and reload the page.")
    if is_part:  # htmx shows no 422
        values = {"title": title, "text": text}
        return render_fragment(request, visitor, "dashboard/editor_incomplete.html", values)
    return refusals.refuse(request, 422, title, text)


def read_moment(text: str) -> datetime:
    """The moment of a change that a form has seen; long ago if the form is not ours."""
    try:
        seen = datetime.fromisoformat(text)
        return moments.to_utc(seen) if seen.tzinfo else _LONG_AGO
    except (ValueError, OverflowError):
        return _LONG_AGO


def _show_launched(
    request: HttpRequest, visitor: Visitor, form: DraftForm, *, is_part: bool
) -> HttpResponse:
    """A campaign that was launched meanwhile is no draft any more; what was written stays."""
    saved = Saved(form.campaign, is_launched=True)
    if is_part:
        return _show_saved(request, visitor, form, saved)
    return _show(request, visitor, form, saved, status=409)


def _find_strange_change(
    request: HttpRequest, visitor: Visitor, campaign: CampaignFacts
) -> saving.Conflict | None:
    """Who changed the campaign since the page was read, if it says when that was."""
    seen = request.GET.get("seen")
    if seen is None or read_moment(seen) == campaign.updated_at:
        return None
    return saving.find_conflict(visitor, campaign)


def _show_saved(
    request: HttpRequest, visitor: Visitor, form: DraftForm, saved: Saved
) -> HttpResponse:
    is_post = request.method == "POST"
    if not is_post and saved.is_whole:
        return HttpResponse(status=204)
    values = {"form": form, "saved": saved, "is_part": True, "is_post": is_post}
    response = render_fragment(request, visitor, "dashboard/editor_saved.html", values)
    is_checked = request.POST.get("checked") == saved.campaign.updated_at.isoformat()
    if is_post and saved.is_whole and not is_checked:
        response.headers["HX-Trigger"] = "saved"
    elif saved.problems:
        response.headers["HX-Trigger"] = "partly-saved"  # the preview, not the checks
    return response


def _show(
    request: HttpRequest,
    visitor: Visitor,
    form: DraftForm,
    saved: Saved,
    *,
    status: int = 200,
) -> HttpResponse:
    fields = choices.list_fields(visitor.workspace.pk, form.conditions)
    values = {
        "title": saved.campaign.name,
        "form": form,
        "saved": saved,
        "campaign": saved.campaign,
        "origin": origins.find_sent_origin(visitor.workspace.pk, saved.campaign.id),
        "badge": words.make_badge(words.DRAFT),
        "lines": _list_lines(request, form),
        "fields": fields,
        "excepted": _list_excepted(visitor, form, fields),
        "insertable": choices.list_insertable(fields),
        "most_picture_bytes": str(MOST_BYTES),
        "picture_too_large": translate(pictures.refuse_large()),
        "comparisons": COMPARISONS,
        "languages": choices.list_languages(visitor.workspace.pk, form.conditions),
        "kinds": draft_form.KINDS,
        "kind": form["kind"].value(),
        "times": draft_form.TIMES,
        "when": form["when"].value(),
        "steps": list_steps(saved.campaign),
    }
    return render_page(request, visitor, "dashboard/editor.html", values, status=status)


def _list_lines(request: HttpRequest, form: DraftForm) -> list[Mapping[str, Any]]:
    """The lines of the builder; a new one if somebody asked for it, or if there is none."""
    lines = [one for one in form.conditions if one.field]
    if "add" in request.POST or not lines:
        lines.append(Condition())
    wrong = form.condition_error
    return [
        {"condition": condition, "error": wrong if wrong and wrong.number == number else None}
        for number, condition in enumerate(lines)
    ]


def _list_excepted(
    visitor: Visitor, form: DraftForm, fields: Sequence[FieldChoice]
) -> list[Mapping[str, str]]:
    """Whom the draft leaves out: the conditions in words, and the segment that has them now."""
    if not form.excepted:
        return []
    labels = {field.key: field.label for field in fields}
    names = audience_words.name_segments(visitor.workspace.pk)
    return [_describe_excepted(text, labels, names) for text in form.excepted]


def _describe_excepted(
    text: str, labels: Mapping[str, str], names: Mapping[str, str]
) -> Mapping[str, str]:
    try:
        stored = readings.parse_json(text)
    except WrongFieldError:  # not of our page; nothing is saved with it
        return {"json": text, "words": text}
    described = audience_words.describe_conditions(stored, labels, names)
    return {"json": text, "name": described.segment, "words": described.words}


def list_steps(campaign: CampaignFacts, *, is_ready: bool = False) -> list[Mapping[str, Any]]:
    """The steps of the page; the first that is not done is the current one."""
    content = campaign.content
    has_content = not isinstance(content, InlineSource) or bool(
        content.subject.strip() and content.body.strip()
    )
    done = {
        "audience": (_("Audience"), not campaign.lacks_list),
        "content": (_("Content"), has_content),
        "sender": (_("Sender and time"), True),
        "preflight": (_("Preflight"), has_content and is_ready),
        "launch": (_("Test and launch"), False),
    }
    current = next(key for key, (_title, is_done) in done.items() if not is_done)
    return [
        {"key": key, "title": title, "is_done": is_done, "is_current": key == current}
        for key, (title, is_done) in done.items()
    ]
