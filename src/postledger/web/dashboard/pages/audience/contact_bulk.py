"""Asks what becomes of many contacts, with their number, and does it to the same ones."""

from collections.abc import Sequence
from datetime import UTC, datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from postledger.contacts import queries, reach
from postledger.contacts.actions import bulk
from postledger.contacts.lists import ListUnknownError
from postledger.lib.errors import RefusedError
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import bulk_forms, contact_search
from postledger.web.dashboard.audience.bulk_forms import FORMS, Deed
from postledger.web.dashboard.audience.questions import Question, ask
from postledger.web.shared.sentences import translate

_SHOWN_ADDRESSES = 3
_MOST_DIGITS = 18
_OWN_FIELDS = ("do", "id", "all")


@require_http_methods(["GET", "HEAD", "POST"])
def decide(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    """The URL names the deed, and the people: one by one, or by the search that finds them."""
    given = request.GET.get("do", "")
    if given not in set(Deed):
        return redirect("contacts", visitor.workspace.pk)
    deed, now = Deed(given), datetime.now(UTC)
    try:
        contact_ids = _choose(request, visitor, now)
    except RefusedError as error:
        return _refuse(request, visitor, _describe_refusal(error))
    if not contact_ids:
        return _refuse(request, visitor, _("Tick people first, or all that the search finds."))
    form = FORMS[deed](visitor.workspace.pk, contact_ids, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            result = form.carry_out(visitor, contact_ids, now)
        except ListUnknownError:
            form.add_error("list", _("This list was archived meanwhile. Choose another."))
        except RefusedError as error:
            form.add_error(None, translate(error))
        else:
            return _leave(request, visitor, *bulk_forms.describe_result(result))
    return ask(request, visitor, _make_question(request, visitor, deed, contact_ids), form)


def _choose(request: HttpRequest, visitor: Visitor, now: datetime) -> list[int]:
    if "all" in request.GET:
        search = contact_search.read_search(request.GET)
        wanted = contact_search.build_filter(search, now=now)
        return bulk.choose_contacts(visitor.workspace.pk, wanted)
    given = {text for text in request.GET.getlist("id") if text.isascii() and text.isdecimal()}
    ids = sorted(int(text) for text in given if len(text) <= _MOST_DIGITS)
    return list(queries.find_addresses(visitor.workspace.pk, ids[: bulk.MOST]))


def _describe_refusal(error: RefusedError) -> str:
    if isinstance(error, bulk.TooManyContactsError):
        text = _("This is possible for at most %(most)s people at once. Narrow the search.")
        return text % {"most": formats.count(bulk.MOST)}
    return translate(error)


def _make_question(
    request: HttpRequest, visitor: Visitor, deed: Deed, contact_ids: Sequence[int]
) -> Question:
    heading, sentences, go = bulk_forms.describe_deed(deed, len(contact_ids))
    if deed is Deed.ADD:
        sentences += _warn_of_leavers(visitor, contact_ids)
    return Question(
        heading=heading,
        sentences=[_name_people(visitor, contact_ids), *sentences],
        go=go,
        stay=_("Leave it"),
        back_url=_find_list(request, visitor),
        back_title=_("Contacts"),
    )


def _warn_of_leavers(visitor: Visitor, contact_ids: Sequence[int]) -> list[str]:
    """Nothing keeps them off a list on which they never were."""
    known = reach.read_reach(visitor.workspace.pk, contact_ids, now=datetime.now(UTC))
    number = sum(one.kept_back == reach.LEFT_EVERY_LIST for one in known.values())
    text = ngettext(
        "%(number)s of them left every list they were on, and would be on one again: leave them"
        " out, unless they asked for it.",
        "%(number)s of them left every list they were on, and would be on one again: leave out"
        " those who did not ask for it.",
        number,
    )
    return [text % {"number": formats.count(number)}] if number else []


def _name_people(visitor: Visitor, contact_ids: Sequence[int]) -> str:
    """Some of the addresses, so that a wrong choice is seen."""
    named = queries.find_addresses(visitor.workspace.pk, contact_ids[:_SHOWN_ADDRESSES])
    text = ", ".join(named.values())
    rest = len(contact_ids) - len(named)
    if not rest:
        return text
    return _("%(names)s and %(rest)s more") % {"names": text, "rest": formats.count(rest)}


def _find_list(request: HttpRequest, visitor: Visitor) -> str:
    """The search from which the people were chosen."""
    query = request.GET.copy()
    for name in _OWN_FIELDS:
        query.pop(name, None)
    url = reverse("contacts", args=[visitor.workspace.pk])
    return f"{url}?{query.urlencode()}" if query else url


def _refuse(request: HttpRequest, visitor: Visitor, text: str) -> HttpResponse:
    messages.error(request, text)
    return redirect(_find_list(request, visitor))


def _leave(request: HttpRequest, visitor: Visitor, done: str, others: str) -> HttpResponse:
    messages.success(request, done)
    if others:
        messages.warning(request, others)
    return redirect(_find_list(request, visitor))
