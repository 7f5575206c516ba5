"""The settings of a workspace: its name, its zone, and what its letters say of it."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from postledger.deliveries import partitions
from postledger.lib import ids
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.settings import tabs
from postledger.web.dashboard.settings.workspace_form import WorkspaceForm


@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    workspace = visitor.workspace
    posted = request.POST if request.method == "POST" else None
    form = WorkspaceForm(workspace, posted, own_address=visitor.user.email)
    if form.is_valid() and form.store(workspace.pk, actor=visitor.actor):
        messages.success(request, _("Saved."))
        return redirect("settings", workspace.pk)
    if form.conflicting:
        form.describe_conflict(
            visitor,
            subjects=[f"workspace {workspace.pk}"],
            url=reverse("settings", args=[workspace.pk]),
        )
    context = {
        "tabs": tabs.list_tabs(visitor, "settings"),
        "form": form,
        "oldest_month": ids.month_name(partitions.find_oldest_month()),
        "default_locale": settings.DEFAULT_LOCALE,
    }
    return render_page(
        request, visitor, "dashboard/settings/workspace.html", context, status=form.status
    )
