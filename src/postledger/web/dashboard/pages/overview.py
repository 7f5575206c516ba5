"""The overview: today's books, what moves, what waits and why, and whether feedback comes back."""

from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.first_steps.checklist import build_checklist
from postledger.web.dashboard.frame import render_fragment, render_page
from postledger.web.dashboard.overview import figures


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    values = {**_read(visitor), "first_steps": build_checklist(visitor)}
    return render_page(request, visitor, "dashboard/overview.html", values)


@require_safe
def refresh(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    """All figures of the page at once: they belong together."""
    return render_fragment(request, visitor, "dashboard/overview_live.html", _read(visitor))


def _read(visitor: Visitor) -> dict[str, Any]:
    read = figures.read_figures(
        visitor.workspace.pk,
        may_run=visitor.may(Permission.RUN_CAMPAIGNS),
        now=datetime.now(UTC),
    )
    may_create = visitor.may(Permission.RUN_CAMPAIGNS)
    return {
        "title": _("Overview"),
        "figures": read,
        "needs": read.needs,
        "may_create": may_create,
    }
