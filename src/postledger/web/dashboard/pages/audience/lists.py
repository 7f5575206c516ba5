"""Lists: how many are on them and how they grow; create, rename, archive and restore them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST, require_safe

from postledger.accounts import constraints
from postledger.accounts.people.roles import Permission
from postledger.accounts.trail import Action
from postledger.campaigns import listing
from postledger.contacts import audience, counts, growth, lists
from postledger.contacts.audience import FilterTooCostlyError
from postledger.contacts.counts import ContactCount
from postledger.contacts.filters.expressions import (
    All,
    Column,
    Comparison,
    OnList,
    Op,
    Standing,
    Stands,
)
from postledger.contacts.growth import DayOfList
from postledger.contacts.models import List
from postledger.contacts.states import ContactState, ListKind, SubscriptionState
from postledger.lib.errors import RefusedError
from postledger.lib.keys import make_key
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import words
from postledger.web.dashboard.components import charts
from postledger.web.dashboard.components.charts import Chart
from postledger.web.dashboard.forms import PageForm
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.shared_form import SharedForm
from postledger.web.shared.sentences import translate

_DAYS = 90
# A number that takes longer to count is estimated.
_PATIENCE = timedelta(seconds=2)


class ListFields(PageForm):
    name = forms.CharField(
        label=pgettext_lazy("of a thing", "Name"),
        max_length=constraints.LONGEST_NAME,
        help_text=gettext_lazy("Readers see this name where they subscribe and unsubscribe."),
    )
    is_public = forms.BooleanField(
        label=gettext_lazy("People may find it and subscribe"),
        required=False,
        help_text=gettext_lazy("By a form, and confirmed by a link in an email: double opt-in."),
    )


class ListForm(ListFields, SharedForm):
    changed_by: ClassVar[Mapping[str, Action]] = {
        "name": "list.changed",
        "is_public": "list.changed",
    }


class NewListForm(ListFields):
    key = forms.CharField(
        label=gettext_lazy("Key"),
        required=False,
        max_length=64,
        help_text=gettext_lazy(
            "Empty: made from the name, as product-news. It never changes: links in sent email have"
            " it."
        ),
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    field_order = ("name", "key", "is_public")

    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"]
        if not key and not make_key(self.cleaned_data.get("name", ""), longest=1):
            raise ValidationError(_("Write a key: it has letters from a to z, and digits."))
        return key


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    return _show_all(request, visitor, NewListForm())


@require_POST
def create(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    form = NewListForm(request.POST)
    if form.is_valid() and _accept_name(form, visitor):
        given = form.cleaned_data
        key = given["key"] or lists.find_free_key(visitor.workspace.pk, given["name"])
        try:
            lists.create_list(visitor.workspace.pk, **given | {"key": key}, actor=visitor.actor)
        except constraints.InvalidNameError as error:
            form.add_error("name", translate(error))
        except RefusedError as error:
            form.add_error("key", translate(error))
        else:
            return redirect("list", visitor.workspace.pk, key)
    return _show_all(request, visitor, form)


def _accept_name(form: NewListForm, visitor: Visitor) -> bool:
    try:
        lists.refuse_taken_name(visitor.workspace.pk, form.cleaned_data["name"])
    except RefusedError as error:
        form.add_error("name", translate(error))
    return form.is_valid()


@require_safe
def show_list(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    shown = _find(visitor, key)
    return _show_list(request, visitor, shown, ListForm(_list_stored(shown)))


@require_POST
def change(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    shown = _find(visitor, key)
    form = ListForm(_list_stored(shown), request.POST)
    if form.is_valid() and _store(form, visitor, key):
        return _leave(request, visitor, key, _("Saved."))
    if _find(visitor, key).archived_at is not None:  # its page has no form
        text = _("Nothing was saved: the list was archived meanwhile. Use it again first.")
        messages.error(request, text)
        return redirect("list", visitor.workspace.pk, key)
    return _show_list(request, visitor, shown, form)


def _list_stored(stored: List) -> Mapping[str, object]:
    return {"name": stored.name, "is_public": stored.is_public}


def _store(form: ListForm, visitor: Visitor, key: str) -> bool:
    """Writes what was changed on the page; False if it is refused or in conflict."""
    workspace_id = visitor.workspace.pk
    try:
        with transaction.atomic():
            if not form.take_over(_list_stored(lists.lock_list(workspace_id, key))):
                url = reverse("list", args=[workspace_id, key])
                form.describe_conflict(visitor, subjects=[f"list {key}"], url=url)
                return False
            changes = {name: form.cleaned_data[name] for name in form.changed}
            lists.update_list(workspace_id, key=key, **changes, actor=visitor.actor)
    except RefusedError as error:
        form.add_error("name", translate(error))
    return form.is_valid()


@require_POST
def archive(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    """Asks first if drafts go to it: they could not be launched then."""
    shown = _find(visitor, key)
    if shown.archived_at is not None:
        return _leave(request, visitor, key, _("It is archived already."))
    drafts = listing.list_drafts_to_list(visitor.workspace.pk, key)
    if drafts and "sure" not in request.POST:
        title = _("Archive %(name)s?") % {"name": formats.isolate(shown.name)}
        values = {"title": title, "list": shown, "drafts": drafts}
        return render_page(request, visitor, "dashboard/audience/list_archive.html", values)
    try:
        lists.archive_list(visitor.workspace.pk, key=key, actor=visitor.actor)
    except RefusedError:  # somebody else did it in this moment
        return _leave(request, visitor, key, _("It is archived already."))
    return _leave(request, visitor, key, _("Archived."))


@require_POST
def restore(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    _find(visitor, key)
    try:
        lists.restore_list(visitor.workspace.pk, key=key, actor=visitor.actor)
    except RefusedError:  # somebody else did it
        return _leave(request, visitor, key, _("It is in use already."))
    return _leave(request, visitor, key, _("It is in use again."))


def _leave(request: HttpRequest, visitor: Visitor, key: str, text: str) -> HttpResponse:
    messages.success(request, text)
    return redirect("list", visitor.workspace.pk, key)


def _find(visitor: Visitor, key: str) -> List:
    own = lists.list_all(visitor.workspace.pk).filter(kind=ListKind.LIST.value, key=key).first()
    if own is None:
        raise Http404
    return own


def _show_all(request: HttpRequest, visitor: Visitor, form: NewListForm) -> HttpResponse:
    own = list(lists.list_all(visitor.workspace.pk).filter(kind=ListKind.LIST.value))
    rows = _count_states(visitor, own)
    values = {
        "title": _("Lists"),
        "may_manage": visitor.may(Permission.MANAGE_CONTACTS),
        "form": form,
        "rows": [row for row in rows if row["list"].archived_at is None],
        "archived": [row for row in rows if row["list"].archived_at is not None],
    }
    status = 422 if form.errors else 200
    return render_page(request, visitor, "dashboard/audience/lists.html", values, status=status)


def _count_states(visitor: Visitor, counted: Sequence[List]) -> list[dict[str, Any]]:
    states = (SubscriptionState.ACTIVE, SubscriptionState.PENDING)
    numbers = counts.count_lists([one.pk for one in counted], states)
    return [
        {"list": one}
        | {state.value: _link(visitor, one, state, numbers[one.pk, state]) for state in states}
        for one in counted
    ]


def _show_list(request: HttpRequest, visitor: Visitor, shown: List, form: ListForm) -> HttpResponse:
    days = _read_growth(visitor, shown)
    numbers = counts.count_lists([shown.pk], SubscriptionState)
    values = {
        "title": shown.name,
        "list": shown,
        "may_manage": visitor.may(Permission.MANAGE_CONTACTS),
        "form": form,
        "states": [
            {
                "badge": words.make_subscription_badge(state),
                "count": _link(visitor, shown, state, numbers[shown.pk, state]),
            }
            for state in SubscriptionState
        ],
        "mailable": _count_mailable(visitor, shown),
        "left_everything": _count_left(visitor, shown),
        "days": days[::-1],
        "joined": sum(day.joined for day in days),
        "left": sum(day.left for day in days),
        "chart": _draw(days),
        "form_url": _find_form_url(shown),
    }
    template = "dashboard/audience/list.html"
    return render_page(request, visitor, template, values, status=form.status)


def _find_form_url(shown: List) -> str:
    """Where people subscribe, by the number of the workspace, which stays when its name changes.

    Empty if the list has no form.
    """
    if not shown.is_public or shown.archived_at is not None or not settings.PUBLIC_URL:
        return ""
    path = reverse("subscribe", args=[shown.workspace_id, shown.key])
    return f"{settings.PUBLIC_URL.rstrip('/')}{path}"


def _link(
    visitor: Visitor, counted: List, state: SubscriptionState, number: ContactCount
) -> Mapping[str, Any]:
    """A number with the contacts behind it."""
    url = reverse("contacts", args=[visitor.workspace.pk])
    return {"of": number, "url": f"{url}?{urlencode({'list': counted.key, 'on': state.value})}"}


def _count_mailable(visitor: Visitor, shown: List) -> Mapping[str, Any]:
    """Those on the list whom nothing else keeps from its email, with the contacts behind them, and
    how many of them take a break.
    """
    wanted = All((OnList(shown.key, (SubscriptionState.ACTIVE,)), Stands(Standing.MAILABLE)))
    number = audience.count_or_estimate(visitor.workspace.pk, wanted, patience=_PATIENCE)
    on_break = audience.count_on_break(
        visitor.workspace.pk, wanted, list_key=shown.key, patience=_PATIENCE
    )
    url = _find_search_url(visitor, shown, Standing.MAILABLE)
    return {"of": number, "url": url, "on_break": on_break}


def _count_left(visitor: Visitor, shown: List) -> Mapping[str, Any]:
    """Those on the list who unsubscribed from everything, with the contacts behind them."""
    wanted = All(
        (
            OnList(shown.key, (SubscriptionState.ACTIVE,)),
            Comparison(Column.STATE, Op.IS, ContactState.UNSUBSCRIBED.value),
        )
    )
    number = audience.count_or_estimate(visitor.workspace.pk, wanted, patience=_PATIENCE)
    return {"of": number, "url": _find_search_url(visitor, shown, ContactState.UNSUBSCRIBED)}


def _find_search_url(visitor: Visitor, shown: List, state: Standing | ContactState) -> str:
    query = {"list": shown.key, "on": SubscriptionState.ACTIVE, "state": state}
    return f"{reverse('contacts', args=[visitor.workspace.pk])}?{urlencode(query)}"


def _read_growth(visitor: Visitor, shown: List) -> Sequence[DayOfList]:
    zone = visitor.workspace.time_zone
    try:
        return growth.read_growth(shown.pk, days=_DAYS, zone=zone, now=datetime.now(UTC))
    except FilterTooCostlyError:
        return ()


def _draw(days: Sequence[DayOfList]) -> Chart | None:
    rows = [
        charts.Row(
            timezone.make_aware(datetime.combine(day.day, time())),
            day.joined - day.left,
            day.subscribers,
        )
        for day in days
    ]
    if not rows:
        return None
    story = _("Subscribers on each of the last %(days)s days, from %(first)s to %(last)s")
    numbers = {"days": _DAYS, "first": days[0].subscribers, "last": days[-1].subscribers}
    return charts.draw(
        "growth", rows, count_label=_("Change"), unit=_("Subscribers"), story=story % numbers
    )
