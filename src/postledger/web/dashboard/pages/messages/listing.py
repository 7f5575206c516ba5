"""All mail of the workspace: found by address, id, campaign, state and time, the newest first."""

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from postledger.accounts import queries as accounts
from postledger.deliveries.figures import messages as ledger_mail
from postledger.deliveries.figures.message_sources import Message
from postledger.deliveries.figures.messages import MessageCursor, MessagePage
from postledger.deliveries.states import State
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components import badges
from postledger.web.dashboard.components.badges import Badge
from postledger.web.dashboard.components.balance import LABELS
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.mails import search

_LIMIT = 50
_MINUTES = "%Y-%m-%dT%H:%M"


class SearchForm(forms.Form):
    """What a search is made of; an invalid field is named, and finds nothing."""

    q = forms.CharField(max_length=254, required=False, strip=True)
    state = forms.ChoiceField(
        choices=[("", gettext_lazy("Any state")), *((str(key), LABELS[key]) for key in LABELS)],
        required=False,
    )
    since = forms.DateTimeField(input_formats=[_MINUTES], required=False)
    until = forms.DateTimeField(input_formats=[_MINUTES], required=False)
    run = forms.UUIDField(required=False)
    stream = forms.IntegerField(min_value=0, max_value=2**48, required=False)
    sender = forms.IntegerField(min_value=0, max_value=2**62, required=False)
    test = forms.BooleanField(required=False)


@dataclass(frozen=True, slots=True)
class Row:
    message: Message
    badge: Badge
    url: str
    sender: str


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    form = SearchForm(request.GET)
    workspace_id = visitor.workspace.pk
    words = form.cleaned_data.get("q", "") if form.is_valid() else ""
    mail_id = search.find_mail(workspace_id, words)
    if mail_id is not None:
        return redirect("message", workspace_id, mail_id.uuid())
    page = _search(workspace_id, form, request.GET.get("at", "")) if form.is_valid() else _NOTHING
    return render_page(request, visitor, "dashboard/messages.html", _describe(form, page, visitor))


_NOTHING = MessagePage((), None, None)


def _search(workspace_id: int, form: SearchForm, at: str) -> MessagePage:
    asked = form.cleaned_data
    chosen = search.choose_mails(
        workspace_id, asked["q"], run_id=asked["run"], stream_id=asked["stream"]
    )
    if chosen is None:
        return _NOTHING
    filters = replace(
        chosen,
        sender_id=asked["sender"],
        state=State(asked["state"]) if asked["state"] else None,
        since=asked["since"],
        until=asked["until"],
    )
    return ledger_mail.search_messages(
        workspace_id,
        filters,
        limit=_LIMIT,
        cursor=MessageCursor.decode(at),
        is_test=asked["test"] or search.is_of_test(filters),
    )


def _describe(form: SearchForm, page: MessagePage, visitor: Visitor) -> dict[str, object]:
    url = reverse("messages", args=[visitor.workspace.pk])
    senders = {sender.pk: sender.address for sender in accounts.senders(visitor.workspace.pk)}
    kept = {name: value for name, value in form.data.items() if value and name in form.fields}
    return {
        "title": _("Emails"),
        "form": form,
        "states": form.fields["state"].choices,  # type: ignore[attr-defined]  # a choice field
        "asked": form.data,
        "is_search": bool(kept),
        "rows": [_make_row(message, visitor, senders) for message in page.messages],
        "newer_url": page.newer and _page_url(url, kept, page.newer),
        "older_url": page.older and _page_url(url, kept, page.older),
        "list_url": url,
    }


def _make_row(message: Message, visitor: Visitor, senders: dict[int, str]) -> Row:
    return Row(
        message,
        badges.badge_of(message.state),
        reverse("message", args=[visitor.workspace.pk, message.id]),
        senders.get(message.sender_id, ""),
    )


def _page_url(url: str, kept: dict[str, str], cursor: MessageCursor) -> str:
    return f"{url}?{urlencode({**kept, 'at': cursor.encode()})}"
