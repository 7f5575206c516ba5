"""The audit log: who changed what in the workspace, and when."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from postledger.accounts import queries, trail
from postledger.accounts.models import AuditEntry
from postledger.accounts.people import actors
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.parameters import read_number, read_text
from postledger.web.dashboard.settings import tabs

_ON_A_PAGE = 50
_LONGEST_WORDS = 100


@dataclass(frozen=True, slots=True)
class Row:
    """One entry, or the newest of several alike in a row: a draft saves itself again and again."""

    entry: AuditEntry
    actor: str
    facts: list[tuple[str, str]]
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
    names = actors.name_actors(visitor.workspace.pk, (entry.actor for entry in page.entries))
    url = reverse("audit", args=[visitor.workspace.pk])
    kept = {name: value for name, value in asked.items() if value}
    older = urlencode({**kept, "before": page.older}) if page.older is not None else ""
    context = {
        "tabs": tabs.list_tabs(visitor, "audit"),
        "asked": asked,
        "is_search": bool(kept),
        "people": _list_people(visitor),
        "rows": list(_join_alike(page.entries, names)),
        "searched_to": page.searched_to,
        "list_url": url,
        "newer_url": f"{url}?{urlencode(kept)}" if before else "",
        "older_url": older and f"{url}?{older}",
    }
    return render_page(request, visitor, "dashboard/settings/audit.html", context)


def _join_alike(entries: Iterable[AuditEntry], names: Mapping[str, str]) -> Iterator[Row]:
    def describe(entry: AuditEntry) -> tuple[object, ...]:
        return entry.actor, entry.action, entry.subject, entry.data

    for _alike, group in groupby(entries, key=describe):
        newest, *others = group
        facts = _list_facts(newest.data)
        yield Row(newest, names[newest.actor], facts, 1 + len(others))


def _list_people(visitor: Visitor) -> list[tuple[str, str]]:
    """Members who joined, as the trail names them, and as people do."""
    members = queries.members(visitor.workspace.pk)
    return [
        (f"user {member.user_id}", member.name or member.email)
        for member in members
        if member.user_id is not None
    ]


def _list_facts(data: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(name, _write_fact(value)) for name, value in data.items() if value not in (None, "")]


def _write_fact(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
