"""How the mail of a workspace looks: its logo, its colour, and the footer."""

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from postledger.accounts import queries as accounts
from postledger.accounts import workspaces
from postledger.accounts.people.roles import Permission
from postledger.accounts.trail import Action
from postledger.contacts import unsubscribe_links
from postledger.content import brandings, pictures, previews
from postledger.content.brandings import InvalidAccentError, InvalidLogoError
from postledger.content.picture_types import MOST_BYTES
from postledger.content.pictures import InvalidPictureError
from postledger.content.rendering.source import Format, Source
from postledger.lib.errors import RefusedError
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.letter_frame import show_in_frame
from postledger.web.dashboard.shared_form import SharedForm
from postledger.web.shared.sentences import translate

_LONGEST_LINE = 500
_LONGEST_COLOUR = 30  # of a wrong one too: what is wrong with it is said beside it
_BARE_COLOUR = re.compile(r"[0-9a-f]{3}|[0-9a-f]{6}")
_LOOK = {"logo", "logo_url", "accent"}
# Beside which field a refusal is shown.
_FIELDS = {
    InvalidAccentError: "accent",
    InvalidLogoError: "logo_url",
    InvalidPictureError: "logo",
}


class BrandingForm(SharedForm):
    changed_by: ClassVar[Mapping[str, Action]] = {
        **dict.fromkeys(("logo", "logo_url", "accent"), "branding.changed"),
        **dict.fromkeys(("name", "address"), "workspace.organisation_changed"),
    }
    together = (("logo", "logo_url"),)

    logo = forms.FileField(
        label=gettext_lazy("Upload a logo"),
        required=False,
        help_text=gettext_lazy("PNG, JPEG, GIF or WebP. It is shown 48 pixels high, on white."),
        widget=forms.FileInput({"accept": "image/png,image/jpeg,image/gif,image/webp"}),
    )
    logo_url = forms.CharField(
        label=gettext_lazy("Address of the logo"),
        required=False,
        max_length=brandings.LONGEST_URL,
        help_text=gettext_lazy("For a logo that is on the web already. Empty: no logo."),
    )
    accent = forms.CharField(
        label=gettext_lazy("Colour of links"),
        required=False,
        max_length=_LONGEST_COLOUR,
        help_text=gettext_lazy("As #1d4ed8, dark enough to be read on white. Empty: blue."),
    )
    name = forms.CharField(
        label=gettext_lazy("Organisation"),
        required=False,
        max_length=_LONGEST_LINE,
        help_text=gettext_lazy("Who writes, as the footer of every campaign says it."),
    )
    address = forms.CharField(
        label=gettext_lazy("Postal address"),
        required=False,
        max_length=_LONGEST_LINE,
        help_text=gettext_lazy("Both stand in the footer; the law of many countries asks for it."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A script refuses it before it is sent, so that the rest of the form stays.
        self.fields["logo"].widget.attrs |= {
            "data-most": MOST_BYTES,
            "data-too-large": translate(pictures.refuse_large()),
        }

    def clean_logo(self) -> UploadedFile | None:
        logo: UploadedFile | None = self.cleaned_data["logo"]
        if logo is not None:
            _check(pictures.check_picture, logo.read())
            logo.seek(0)
        return logo

    def clean_logo_url(self) -> str:
        return _check(brandings.check_logo, str(self.cleaned_data["logo_url"]))

    def clean_accent(self) -> str:
        typed: str = self.cleaned_data["accent"].lower()
        digits = typed.removeprefix("#")
        if not _BARE_COLOUR.fullmatch(digits):
            return _check(brandings.check_accent, typed)
        is_short = len(digits) == 3  # noqa: PLR2004  of a colour: each stands for two
        return _check(
            brandings.check_accent,
            "#" + "".join(digit * 2 if is_short else digit for digit in digits),
        )

    def clean_name(self) -> str:
        return _check(workspaces.check_footer_line, str(self.cleaned_data["name"]))

    def clean_address(self) -> str:
        return _check(workspaces.check_footer_line, str(self.cleaned_data["address"]))


def _check[Value](check: Callable[[Value], object], value: Value) -> Value:
    try:
        check(value)
    except RefusedError as error:
        raise ValidationError(translate(error), code="refused") from None
    return value


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    return _show(request, visitor, BrandingForm(_list_stored(visitor)))


@require_POST
def save(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    form = BrandingForm(_list_stored(visitor), request.POST, request.FILES)
    if form.is_valid() and _store(visitor, form):
        messages.success(request, _("Saved. New mail looks like this; launched runs keep theirs."))
        return redirect("branding", visitor.workspace.pk)
    if "logo" in request.FILES and not form.has_error("logo"):
        form.add_error("logo", _("The file was not kept: choose the logo again."))
    return _show(request, visitor, form)


@require_POST
def refuse_large(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    form = BrandingForm(_list_stored(visitor))
    form.cleaned_data = {}  # nothing arrived
    form.add_error("logo", translate(pictures.refuse_large()))
    form.add_error(None, _("Nothing was saved. Go back: the form still holds what you typed."))
    return _show(request, visitor, form, status=413)


def _store(visitor: Visitor, form: BrandingForm) -> bool:
    """Stores all or nothing; False with each refusal beside its field, or with a conflict."""
    workspace_id = visitor.workspace.pk
    with transaction.atomic():
        workspaces.lock_workspace(workspace_id)
        brandings.lock_branding(workspace_id)
        if not form.take_over(_list_stored(visitor)):
            subjects, url = ["branding", f"workspace {workspace_id}"], _find_url(visitor)
            form.describe_conflict(visitor, subjects=subjects, url=url)
            return False
        given = dict(form.cleaned_data)  # a refusal takes its field away from the form's
        steps = [_store_look] if form.changed & _LOOK else []
        for store in [*steps, _store_organisation]:
            try:
                store(visitor, given)
            except RefusedError as error:
                form.add_error(_FIELDS.get(type(error)), translate(error))
        if form.errors:
            transaction.set_rollback(True)
    return not form.errors


def _store_organisation(visitor: Visitor, given: Mapping[str, Any]) -> None:
    workspace_id, actor = visitor.workspace.pk, visitor.actor
    stored = accounts.organisation(workspace_id)
    if (given["name"], given["address"]) != (stored.name, stored.address):
        workspaces.set_footer(
            workspace_id, name=given["name"], address=given["address"], actor=actor
        )


def _store_look(visitor: Visitor, given: Mapping[str, Any]) -> None:
    workspace_id, actor = visitor.workspace.pk, visitor.actor
    logo_url = given["logo_url"]
    if given["logo"]:
        logo_url = pictures.keep_picture(workspace_id, given["logo"].read(), actor=actor)
    brandings.set_branding(workspace_id, logo_url=logo_url, accent=given["accent"], actor=actor)


def _list_stored(visitor: Visitor) -> dict[str, str]:
    branding = brandings.find_branding(visitor.workspace.pk)
    organisation = accounts.organisation(visitor.workspace.pk)
    return {
        "logo_url": branding.logo_url,
        "accent": branding.accent,
        "name": organisation.name,
        "address": organisation.address,
    }


def _show(
    request: HttpRequest, visitor: Visitor, form: BrandingForm, *, status: int | None = None
) -> HttpResponse:
    values = {
        "title": _("Branding"),
        "form": form,
        "stored": _list_stored(visitor),
        "may_write": visitor.may(Permission.WRITE_CONTENT),
        "unsubscribe_url": _find_unsubscribe_url(visitor),
    }
    return render_page(
        request, visitor, "dashboard/content/branding.html", values, status=status or form.status
    )


def _find_unsubscribe_url(visitor: Visitor) -> str:
    """What a reader sees, for the address of who looks; empty where no link can be made."""
    links = unsubscribe_links.workspace_links(visitor.workspace.pk)
    if not links.is_complete:
        return ""
    return links.url(visitor.user.email, list_key=unsubscribe_links.GENERAL)


def _find_url(visitor: Visitor) -> str:
    return reverse("branding", args=[visitor.workspace.pk])


@require_safe
def show_letter(request: HttpRequest, visitor: Visitor) -> HttpResponse:  # noqa: ARG001  a page gets one
    """A short email in the layout, with the branding that is stored."""
    workspace_id = visitor.workspace.pk
    body = _("# A heading\n\nSome text, and [a link](https://example.com).\n\n- One\n- Two")
    button = f'[{_("Book now")}](https://example.com "button")'
    source = Source(_("Branding"), f"{body}\n\n{button}", Format.MARKDOWN)
    footer = previews.preview_footer(workspace_id)
    preview = previews.preview_source(workspace_id, source, values={}, footer=footer)
    if preview.mail is None:
        raise Http404
    return show_in_frame(preview.mail.html)
