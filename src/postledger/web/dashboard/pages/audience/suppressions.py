"""Suppressed addresses: found, added, and lifted with a reason."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from postledger.accounts.people.roles import Permission
from postledger.contacts import queries, suppressions
from postledger.contacts.actions.restoration import SuppressionChangedError
from postledger.contacts.models import Contact, Suppression
from postledger.contacts.suppressions import Source
from postledger.lib.errors import RefusedError
from postledger.lib.ids import LAST_ID
from postledger.providers import addresses
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import words
from postledger.web.dashboard.audience.questions import Question, ask
from postledger.web.dashboard.audience.restore_form import RestoreForm, make_restorable
from postledger.web.dashboard.audience.suppress_form import SuppressAddressForm
from postledger.web.dashboard.components import actor_names
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.parameters import read_number, read_text
from postledger.web.shared.sentences import translate

_ON_A_PAGE = 50
_UNKNOWN = Source("", "", "")


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    return _show(request, visitor, SuppressAddressForm(visitor.workspace.pk))


@require_POST
def add(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    form = SuppressAddressForm(visitor.workspace.pk, request.POST)
    if form.is_valid():
        try:
            has_changed = form.carry_out(visitor, form.cleaned_data["address"])
        except RefusedError as error:
            form.add_error("scope", translate(error))
        else:
            done = _("Suppressed.") if has_changed else _("It was suppressed already.")
            messages.success(request, done)
            url = reverse("suppressions", args=[visitor.workspace.pk])
            return redirect(f"{url}?{urlencode({'q': form.cleaned_data['address']})}")
    return _show(request, visitor, form)


@require_http_methods(["GET", "HEAD", "POST"])
def lift(request: HttpRequest, visitor: Visitor, suppression_id: int) -> HttpResponse:
    kept = suppressions.get_suppression(visitor.workspace.pk, suppression_id)
    url = reverse("suppressions", args=[visitor.workspace.pk])
    if kept.address is None:
        messages.error(request, _("Its owner was erased: the address stays suppressed for good."))
        return redirect(url)
    form = RestoreForm([make_restorable(kept)], request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            form.carry_out(visitor, kept.address, datetime.now(UTC))
        except SuppressionChangedError as error:  # in this very moment
            messages.error(request, translate(error))
            return redirect(request.path)
        messages.success(request, _("Restored. If they had unsubscribed too, that remains."))
        return redirect(f"{url}?{urlencode({'q': kept.address})}")
    question = Question(
        heading=_("Let email reach %(address)s again?") % {"address": kept.address},
        sentences=[
            _(
                "Restore only people who want your email: the law protects their wish, and spam"
                " reports cost you reputation."
            ),
        ],
        go=_("Restore"),
        stay=_("Leave it"),
        back_url=url,
        back_title=_("Suppressions"),
    )
    return ask(request, visitor, question, form)


def _show(request: HttpRequest, visitor: Visitor, form: SuppressAddressForm) -> HttpResponse:
    asked = read_text(request.GET, "q").strip()
    rows, older_url = _list(visitor, asked, read_number(request.GET, "before") or LAST_ID)
    values = {
        "title": _("Suppressions"),
        "may_manage": visitor.may(Permission.MANAGE_CONTACTS),
        "form": form,
        "asked": asked,
        "rows": _make_rows(visitor, rows),
        "next_url": older_url,
        "first_url": reverse("suppressions", args=[visitor.workspace.pk])
        if "before" in request.GET
        else "",
    }
    status = 422 if form.errors else 200
    return render_page(
        request, visitor, "dashboard/audience/suppressions.html", values, status=status
    )


def _list(visitor: Visitor, asked: str, before: int) -> tuple[Sequence[Suppression], str]:
    """Of one address, or a page of all, newest first."""
    if asked:
        address = addresses.canonical(asked) if addresses.is_valid(asked) else asked
        return suppressions.list_of_address(visitor.workspace.pk, address=address), ""
    rows = list(suppressions.list_page(visitor.workspace.pk, before=before, limit=_ON_A_PAGE + 1))
    shown = rows[:_ON_A_PAGE]
    return shown, f"?before={shown[-1].pk}" if len(rows) > _ON_A_PAGE else ""


def _make_rows(visitor: Visitor, rows: Sequence[Suppression]) -> list[Mapping[str, Any]]:
    workspace_id = visitor.workspace.pk
    sources = suppressions.find_sources(rows)
    names = actor_names.name_actors(workspace_id, (source.actor for source in sources.values()))
    known = queries.find_contacts(workspace_id, [row.address for row in rows if row.address])
    return [_make_row(row, sources.get(row.pk, _UNKNOWN), names, known) for row in rows]


def _make_row(
    row: Suppression, source: Source, names: Mapping[str, str], known: Mapping[str, Contact]
) -> Mapping[str, Any]:
    return {
        "kept": row,
        "scope": words.name_suppressed(row),
        "reason": words.name_reason(row),
        "is_of_erasure": words.is_of_erasure(row),
        "source": words.name_source(source.name),
        "by": names.get(source.actor, ""),
        "note": source.note,
        "contact": known.get(row.address.lower()) if row.address else None,
    }
