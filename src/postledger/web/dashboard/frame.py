"""The frame around the pages of a workspace: who is here, and where they can go."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from postledger.accounts.models import Workspace
from postledger.accounts.people.roles import Permission
from postledger.web.dashboard import needs
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.settings import tabs


@dataclass(frozen=True, slots=True)
class Item:
    title: str
    icon: str
    url: str
    is_current: bool
    has_count: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    items: list[Item]


@dataclass(frozen=True, slots=True)
class Frame:
    workspace: Workspace
    workspaces: list[Workspace]
    user_name: str
    groups: list[Group]
    attention_count: int | None  # None: the page asks for it when it is there
    home_url: str
    attention_url: str
    search_url: str


def render_page(
    request: HttpRequest,
    visitor: Visitor,
    template: str,
    context: Mapping[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    """A page that has found what needs a person gives it as `needs`: it is not counted again."""
    now = datetime.now(UTC)
    known_needs = context.get("needs") or needs.recall_needs(visitor.workspace.pk, now=now)
    number = known_needs.count if known_needs else None
    values = {**context, "visitor": visitor, "frame": _build_frame(request, visitor, number)}
    return render(request, template, values, status=status)


def render_fragment(
    request: HttpRequest, visitor: Visitor, template: str, context: Mapping[str, Any]
) -> HttpResponse:
    """A part of a page that is refreshed: without the frame, and without its queries."""
    return render(request, template, {**context, "visitor": visitor})


def _build_frame(request: HttpRequest, visitor: Visitor, attention_count: int | None) -> Frame:
    workspace = visitor.workspace
    workspaces = Workspace.objects.filter(
        member__user=visitor.user, member__removed_at=None
    ).order_by("name")
    return Frame(
        workspace=workspace,
        workspaces=list(workspaces),
        user_name=visitor.user.name or visitor.user.email,
        groups=_list_groups(request, visitor),
        attention_count=attention_count,
        home_url=reverse("overview", args=[workspace.pk]),
        attention_url=reverse("attention", args=[workspace.pk]),
        search_url=reverse("messages", args=[workspace.pk]),
    )


def _list_groups(request: HttpRequest, visitor: Visitor) -> list[Group]:
    def item(title: str, icon: str, name: str, *, has_count: bool = False) -> Item:
        url = reverse(name, args=[visitor.workspace.pk])
        is_current = request.path == url or (name != "overview" and request.path.startswith(url))
        return Item(title, icon, url, is_current, has_count)

    may_write = visitor.may(Permission.WRITE_CONTENT)
    groups = [
        Group(
            "",
            [
                item(_("Overview"), "home", "overview"),
                item(_("Needs attention"), "alert", "attention", has_count=True),
            ],
        ),
        Group(
            _("Send"),
            [
                item(_("Campaigns"), "send", "campaigns"),
                item(_("Topics"), "bell", "topics"),
                item(_("Emails"), "mail", "messages"),
            ],
        ),
        Group(
            _("Content"),
            [
                item(_("Templates"), "file", "templates"),
                item(_("Articles"), "list", "articles"),
                *([item(_("Notion"), "link", "notion")] if may_write else []),
                item(_("Pictures"), "picture", "pictures"),
                item(_("Branding"), "pen", "branding"),
            ],
        ),
        Group(
            _("Audience"),
            [
                item(_("Contacts"), "person", "contacts"),
                item(_("Lists"), "list", "lists"),
                item(_("Segments"), "tune", "segments"),
                item(_("Suppressions"), "ban", "suppressions"),
                item(_("Imports"), "upload", "imports"),
            ],
        ),
    ]
    set_up = [item(_("Senders"), "at", "senders")]
    if visitor.may(Permission.SET_UP):
        set_up.append(item(_("Developers"), "code", "developers"))
    set_up.append(_settings_item(request, visitor))
    groups.append(Group(_("Set up"), set_up))
    return groups


def _settings_item(request: HttpRequest, visitor: Visitor) -> Item:
    """Leads to the first part of the settings that the visitor may open."""
    parts = tabs.list_tabs(visitor)
    is_current = any(request.path.startswith(part.url) for part in parts)
    return Item(_("Settings"), "tune", parts[0].url, is_current)
