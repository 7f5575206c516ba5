"""Integrations with other services: which are set up, and their settings. No secret is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from postledger.accounts import integrations
from postledger.accounts.integrations import IntegrationKind
from postledger.lib.errors import RefusedError
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.settings import tabs
from postledger.web.dashboard.settings.integration_forms import (
    FORMS,
    NAMES,
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
    values = request.POST if request.method == "POST" else None
    stored = None if row.set_at is None else read_stored(visitor.workspace.pk, kind)
    form = FORMS[kind](values, stored=stored)
    if form.is_valid():
        try:
            integrations.set_integration(
                visitor.workspace.pk, kind, changes=form.list_changes(), actor=visitor.actor
            )
        except RefusedError as refused:
            form.add_error(None, translate(refused))
        else:
            messages.success(request, _("Saved."))
            return redirect("integrations", visitor.workspace.pk)
    context = {"row": row, "form": form}
    status = 422 if form.errors else 200
    return render_page(
        request, visitor, "dashboard/settings/integration.html", context, status=status
    )


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
