"""Integrations with other services: which are set up, and their settings. No secret is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from postledger.accounts import integrations
from postledger.accounts.integrations import IntegrationKind
from postledger.content import notion_pages
from postledger.content.notion.api import NotionPageNotFoundError, NotionUnauthorizedError
from postledger.lib.errors import RefusedError
from postledger.lib.secrets import UnsealableError
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.settings import tabs
from postledger.web.dashboard.settings.integration_forms import (
    FORMS,
    NAMES,
    IntegrationForm,
    NotionForm,
    find_permission,
    read_stored,
)
from postledger.web.shared.sentences import translate

_TEXTS: Mapping[IntegrationKind, Promise] = {
    IntegrationKind.NOTION: gettext_lazy("Pages of Notion are mailed as campaigns."),
    IntegrationKind.SUPABASE: gettext_lazy(
        "The subscribers of a Supabase project are synced with the contacts."
    ),
    IntegrationKind.ADMIN: gettext_lazy(
        "A password with which a program sends articles without an API key."
    ),
}
_NO_PAGES = gettext_lazy(
    "Saved. Notion takes the token, but has no page for it yet: open each page in Notion and add"
    " the integration to its connections. A page that was shared just now may take some minutes."
)


@dataclass(frozen=True, slots=True)
class Row:
    title: str | Promise
    text: Promise
    set_at: datetime | None  # None: it is not set up
    change_url: str  # empty: not by this person
    remove_url: str
    is_by_operator: bool  # set up on the server alone


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    context = {
        "tabs": tabs.list_tabs(visitor, "integrations"),
        "rows": [_make_row(visitor, kind) for kind in IntegrationKind],
    }
    return render_page(request, visitor, "dashboard/settings/integrations.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, visitor: Visitor, *, kind: IntegrationKind) -> HttpResponse:
    row = _make_row(visitor, kind)
    stored, trouble = _read_stored(visitor, kind)
    form = FORMS[kind](stored, request.POST if request.method == "POST" else None)
    warning = _try_notion(form, visitor) if form.is_valid() else ""
    if form.is_valid() and _store(form, visitor, kind):
        if warning:
            messages.warning(request, warning)
        else:
            messages.success(request, _("Saved."))
        return redirect("integrations", visitor.workspace.pk)
    context = {"row": row, "form": form, "trouble": trouble}
    template = "dashboard/settings/integration.html"
    return render_page(request, visitor, template, context, status=form.status)


def _read_stored(visitor: Visitor, kind: IntegrationKind) -> tuple[dict[str, object] | None, str]:
    """What the form shows, or why what is stored cannot be read: then it is entered anew."""
    try:
        return read_stored(visitor.workspace.pk, kind), ""
    except UnsealableError as refused:
        return None, translate(refused)


def _try_notion(form: IntegrationForm, visitor: Visitor) -> str:
    """Refuses a token that Notion refuses; returns what else keeps its pages from being mailed.

    With that it is saved all the same: Notion may be away for longer than a person waits, and pages
    may be shared later.
    """
    if not isinstance(form, NotionForm):
        return ""
    token = form.cleaned_data["token"] or _read_token(visitor)
    databases = (form.cleaned_data["mailouts"], form.cleaned_data["errors_database"])
    try:
        has_pages = notion_pages.check_notion(token, filter(None, databases))
    except NotionUnauthorizedError as refused:
        form.add_error("token", translate(refused))
    except NotionPageNotFoundError as refused:
        return _("Saved. %(reason)s") % {"reason": translate(refused)}
    except RefusedError as refused:
        return _("Saved. Notion could not be asked whether the token is right: %(reason)s") % {
            "reason": translate(refused)
        }
    else:
        return "" if has_pages else str(_NO_PAGES)
    return ""


def _read_token(visitor: Visitor) -> str:
    """The token that stays; without one the form would have asked for it."""
    notion = integrations.notion(visitor.workspace.pk)
    return notion.token if notion else ""


def _store(form: IntegrationForm, visitor: Visitor, kind: IntegrationKind) -> bool:
    """Stores what was changed; False if it is refused or in conflict."""
    workspace_id = visitor.workspace.pk
    try:
        with transaction.atomic():
            integrations.lock_integration(workspace_id, kind)
            stored, _trouble = _read_stored(visitor, kind)
            if stored is not None and not form.take_over(stored):
                url = reverse(f"integration_{kind.value}", args=[workspace_id])
                form.describe_conflict(visitor, subjects=[f"integration {kind.value}"], url=url)
                return False
            is_anew = stored is None
            changes = form.list_changes(form.fields if is_anew else form.changed)
            if changes:
                integrations.set_integration(
                    workspace_id, kind, changes=changes, is_anew=is_anew, actor=visitor.actor
                )
    except RefusedError as refused:
        form.add_error(None, translate(refused))
    return form.is_valid()


@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, visitor: Visitor, *, kind: IntegrationKind) -> HttpResponse:
    """Asks first, and says what stops."""
    row = _make_row(visitor, kind)
    if row.set_at is None:
        return redirect("integrations", visitor.workspace.pk)
    if request.method == "POST":
        integrations.remove_integration(visitor.workspace.pk, kind, actor=visitor.actor)
        messages.success(request, _("%(name)s is disconnected.") % {"name": row.title})
        return redirect("integrations", visitor.workspace.pk)
    return render_page(request, visitor, "dashboard/settings/remove_integration.html", {"row": row})


def _make_row(visitor: Visitor, kind: IntegrationKind) -> Row:
    stored = integrations.list_integrations(visitor.workspace.pk)
    connected = {row.kind: row.updated_at for row in stored if row.sealed_settings is not None}
    workspace, may_change = [visitor.workspace.pk], visitor.may(find_permission(kind))
    change_url = reverse(f"integration_{kind.value}", args=workspace) if kind in FORMS else ""
    return Row(
        NAMES[kind],
        _TEXTS[kind],
        connected.get(kind.value),
        change_url if may_change else "",
        reverse(f"remove_{kind.value}", args=workspace) if may_change else "",
        is_by_operator=kind not in FORMS,
    )
