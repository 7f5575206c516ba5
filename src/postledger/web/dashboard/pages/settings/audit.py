"""The audit log: who changed what in the workspace, and when."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from postledger.accounts import queries, trail
from postledger.accounts.models import AuditEntry
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components import actor_names
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.parameters import read_number, read_text
from postledger.web.dashboard.settings import deeds, tabs, things
from postledger.web.dashboard.settings.deeds import Deed

_ON_A_PAGE = 50
_LONGEST_WORDS = 100


@dataclass(frozen=True, slots=True)
class Row:
    """One entry, or the newest of several alike in a row: a draft saves itself again and again."""

    entry: AuditEntry
    deed: Deed
    count: int


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    asked = {name: read_text(request.GET, name).strip()[:_LONGEST_WORDS] for name in ("q", "who")}
    before = read_number(request.GET, "before")
    page = trail.page_entries(
        visitor.workspace.pk,
        words=asked["q"],
        actor=asked["who"],
        before=before,
        limit=_ON_A_PAGE,
    )
    url = reverse("audit", args=[visitor.workspace.pk])
    kept = {name: value for name, value in asked.items() if value}
    older = urlencode({**kept, "before": page.older}) if page.older is not None else ""
    context = {
        "tabs": tabs.list_tabs(visitor, "audit"),
        "asked": asked,
        "is_search": bool(kept),
        "people": _list_people(visitor),
        "rows": _make_rows(visitor, page.entries),
        "searched_to": page.searched_to,
        "list_url": url,
        "newer_url": f"{url}?{urlencode(kept)}" if before else "",
        "older_url": older and f"{url}?{older}",
    }
    return render_page(request, visitor, "dashboard/settings/audit.html", context)


def _make_rows(visitor: Visitor, entries: Sequence[AuditEntry]) -> list[Row]:
    names = actor_names.name_actors(visitor.workspace.pk, (entry.actor for entry in entries))
    known = things.find_things(visitor, map(deeds.find_subject, entries))
    return [
        Row(
            newest,
            deeds.describe_deed(
                newest, name=names[newest.actor], thing=known.get(deeds.find_subject(newest))
            ),
            count,
        )
        for newest, count in _join_alike(entries)
    ]


def _join_alike(entries: Iterable[AuditEntry]) -> Iterator[tuple[AuditEntry, int]]:
    def describe(entry: AuditEntry) -> tuple[object, ...]:
        return entry.actor, entry.action, entry.subject, entry.data

    for _alike, group in groupby(entries, key=describe):
        newest, *others = group
        yield newest, 1 + len(others)


def _list_people(visitor: Visitor) -> list[tuple[str, str]]:
    """Everybody who joined, as the trail names them, and as people do."""
    people = queries.people_who_joined(visitor.workspace.pk)
    return [(f"user {user.pk}", user.name or user.email) for user in people]
