"""The contacts of a workspace: found by words, list, state and conditions, by address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from postledger.accounts.people.roles import Permission
from postledger.contacts import audience, export, lists, queries, segments, standings
from postledger.contacts.counts import ContactCount
from postledger.contacts.filters.expressions import EVERYBODY, Filter, Standing, Stands
from postledger.contacts.models import Contact
from postledger.contacts.states import SuppressionReason
from postledger.deliveries.figures import last_mails
from postledger.deliveries.figures.last_mails import LastMail
from postledger.deliveries.states import State
from postledger.lib.errors import RefusedError
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import contact_search, words
from postledger.web.dashboard.audience.contact_search import ContactSearch, WrongSearchError
from postledger.web.dashboard.components.badges import Badge
from postledger.web.dashboard.editor import choices
from postledger.web.dashboard.editor.conditions import COMPARISONS, Condition
from postledger.web.dashboard.editor.people import describe_spellings
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.parameters import read_number, read_text
from postledger.web.shared.csv_files import csv_response
from postledger.web.shared.sentences import translate

ON_A_PAGE = 50
# A number that takes longer to count is estimated.
_PATIENCE = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Row:
    contact: Contact
    badge: Badge
    lists: str
    last_mail: LastMail | None
    last_state: Badge | None  # of a last email that was not accepted
    former_address: str  # by which it was found, if it was


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    search = contact_search.read_search(request.GET)
    workspace_id, now = visitor.workspace.pk, datetime.now(UTC)
    contacts: Sequence[Contact] = ()
    next_after, count, trouble, wrong_line = None, None, "", None
    spellings: Sequence[str] = ()
    try:
        wanted = contact_search.build_filter(search, now=now)
        contacts, next_after = queries.list_contacts(
            workspace_id,
            audience=wanted,
            after=read_text(request.GET, "after"),
            limit=ON_A_PAGE,
        )
        count = audience.count_or_estimate(workspace_id, wanted, patience=_PATIENCE)
        spellings = describe_spellings(workspace_id, wanted, patience=_PATIENCE)
    except RefusedError as error:
        trouble = translate(error)
        wrong_line = error.line if isinstance(error, WrongSearchError) else None
    values = {
        "may_manage": visitor.may(Permission.MANAGE_CONTACTS),
        "title": _("Contacts"),
        "rows": _make_rows(workspace_id, contacts, search),
        "count": count,
        "spellings": spellings,
        "trouble": trouble,
        "wrong_line": wrong_line,
        "next_url": next_after and _page_url(request, next_after),
        "first_url": _page_url(request) if "after" in request.GET else "",
        "export_url": f"{reverse('contacts_export', args=[workspace_id])}{_page_url(request)}",
        **_describe_people(workspace_id),
        **_describe_search(request, visitor, search),
    }
    status = 422 if trouble else 200
    return render_page(request, visitor, "dashboard/audience/contacts.html", values, status=status)


@require_safe
def export_csv(request: HttpRequest, visitor: Visitor) -> HttpResponseBase:
    """Every contact that the search finds, as the API exports it and an import reads it."""
    search = contact_search.read_search(request.GET)
    try:
        wanted = contact_search.build_filter(search, now=datetime.now(UTC))
        lines = export.csv_lines(visitor.workspace.pk, wanted)
    except RefusedError:  # the list says what is wrong with the search
        url = reverse("contacts", args=[visitor.workspace.pk])
        return redirect(f"{url}{_page_url(request)}")
    export.note_export(
        visitor.workspace.pk,
        actor=visitor.actor,
        list_key=search.list_key,
        state=search.state,
        has_words=bool(search.words),
        has_conditions=search.has_conditions,
    )
    # Without the mark Excel takes the file for one of another encoding.
    return csv_response(chain(["\ufeff"], lines), file_name="contacts.csv")


def _describe_people(workspace_id: int) -> Mapping[str, Any]:
    def count(wanted: Filter) -> ContactCount:
        return audience.count_or_estimate(workspace_id, wanted, patience=_PATIENCE)

    return {"everybody": count(EVERYBODY), "mailable": count(Stands(Standing.MAILABLE))}


def _describe_search(
    request: HttpRequest, visitor: Visitor, search: ContactSearch
) -> Mapping[str, Any]:
    workspace_id = visitor.workspace.pk
    lines = [one for one in search.conditions if one.field]
    if "add" in request.GET or not lines:
        lines.append(Condition())
    return {
        "search": search,
        "lines": lines,
        "fields": choices.list_fields(workspace_id, search.conditions),
        "comparisons": COMPARISONS,
        "languages": choices.list_languages(workspace_id, search.conditions),
        "offered_values": choices.list_values(workspace_id),
        "lists": _list_lists(workspace_id, search.list_key),
        "states": list(words.SEARCHED_STATES.items()),
        "list_states": [
            (state, label) for state, (label, _icon) in words.SUBSCRIPTION_STATES.items()
        ],
        "segments": [
            {"name": one.name, "url": f"?{contact_search.write_query(one.filter)}"}
            for one in segments.list_segments(workspace_id)
        ],
        **_describe_segment(request, workspace_id),
        "kept": _list_kept(request),
        "chosen_from": [*_list_kept(request), *([("q", search.words)] if search.words else [])],
        "segment_name": read_text(request.GET, "name"),
        "is_opened": search.has_conditions or "add" in request.GET,
    }


def _describe_segment(request: HttpRequest, workspace_id: int) -> Mapping[str, Any]:
    """The segment that was opened, and a digest of its conditions as they were then."""
    number = read_number(request.GET, "segment") or 0
    segment = segments.list_segments(workspace_id).filter(pk=number).first()
    now = segments.digest_filter(segment.filter) if segment else ""
    return {"segment": segment, "seen": read_text(request.GET, "seen") or now}


def _list_lists(workspace_id: int, chosen: str) -> list[tuple[str, str]]:
    """The lists that can be chosen; an archived one only where a link has chosen it."""
    all_lists = lists.list_all(workspace_id)
    return lists.name_apart(all_lists.filter(Q(archived_at=None) | Q(key=chosen)))


def _list_kept(request: HttpRequest) -> list[tuple[str, str]]:
    """The fields of the search, for the form that keeps it as a segment."""
    names = ("list", "on", "state", "match", "field", "op", "value", "filter")
    return [(name, value) for name in names for value in request.GET.getlist(name)]


def _make_rows(workspace_id: int, contacts: Sequence[Contact], search: ContactSearch) -> list[Row]:
    ids = [contact.pk for contact in contacts]
    addresses = [contact.address for contact in contacts]
    known = standings.read_standings(workspace_id, addresses, ids)
    names = queries.list_names_of_lists(ids)
    mails = last_mails.find_last_mails(workspace_id, addresses)
    return [
        _make_row(contact, known, names, mails.get(contact.address.lower()), search)
        for contact in contacts
    ]


def _make_row(
    contact: Contact,
    known: standings.Standings,
    names: Mapping[int, list[str]],
    mail: LastMail | None,
    search: ContactSearch,
) -> Row:
    is_accepted = mail is None or mail.state is State.ACCEPTED
    return Row(
        contact,
        words.make_contact_badge(contact, _find_reason(known, contact)),
        ", ".join(names.get(contact.pk, ())),
        mail,
        None if mail is None or is_accepted else words.make_mail_badge(mail.state),
        search.address if search.address in (contact.former_addresses or ()) else "",
    )


def _find_reason(known: standings.Standings, contact: Contact) -> SuppressionReason | None:
    reason = known.suppressed.get(contact.address.lower())
    return SuppressionReason(reason) if reason else None


def _page_url(request: HttpRequest, after: str | None = None) -> str:
    """The same search, at another page."""
    query = request.GET.copy()
    for name in ("after", "add", "name"):
        query.pop(name, None)
    if after is not None:
        query["after"] = after
    return f"?{query.urlencode()}"
