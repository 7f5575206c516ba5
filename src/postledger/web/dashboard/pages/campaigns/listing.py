"""The campaigns of a workspace: their states, how far they are, and what they wait for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.accounts.people.roles import Permission
from postledger.campaigns import listing
from postledger.campaigns.listing import CampaignGroup, CampaignRow
from postledger.contacts import queries
from postledger.lib.ids import LAST_ID
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components import actor_names
from postledger.web.dashboard.frame import render_fragment, render_page
from postledger.web.dashboard.parameters import read_number, read_text
from postledger.web.dashboard.runs import rows

_ON_A_PAGE = 25
_LONGEST_SEARCH = 200
_TABS = {
    CampaignGroup.MOVING: gettext_lazy("Moving"),
    CampaignGroup.WAITING: gettext_lazy("Waiting"),
    CampaignGroup.OPEN: gettext_lazy("Open"),
    CampaignGroup.DRAFT: gettext_lazy("Drafts"),
    CampaignGroup.DONE: gettext_lazy("Done"),
}


@dataclass(frozen=True, slots=True)
class Tab:
    label: Promise | str
    count: int
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Page:
    campaigns: Sequence[CampaignRow]
    counts: Mapping[CampaignGroup, int]
    newer_url: str
    older_url: str


@dataclass(frozen=True, slots=True)
class Wish:
    """Which campaigns the visitor asks for; what cannot be read is left out."""

    group: CampaignGroup | None
    search: str
    before: int | None
    after: int | None

    @classmethod
    def of(cls, request: HttpRequest) -> "Wish":
        shown = request.GET.get("show", "")
        return cls(
            CampaignGroup(shown) if shown in set(CampaignGroup) else None,
            read_text(request.GET, "q").strip()[:_LONGEST_SEARCH],
            read_number(request.GET, "before"),
            read_number(request.GET, "after"),
        )

    def url(self, **more: object) -> str:
        values = {"show": self.group or "", "q": self.search, **more}
        return f"?{urlencode({name: value for name, value in values.items() if value})}"


def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    wish, now = Wish.of(request), datetime.now(UTC)
    workspace_id = visitor.workspace.pk
    page = _read_page(workspace_id, wish, now)
    names = actor_names.name_actors(workspace_id, rows.list_actors(page.campaigns))
    lists = queries.name_lists(workspace_id, (one.list_key for one in page.campaigns))
    values = {
        "title": _("Campaigns"),
        "wish": wish,
        "tabs": _list_tabs(wish, page.counts),
        "total": sum(page.counts.values()),
        "rows": [
            replace(
                rows.make_campaign_row(workspace_id, one, names, now),
                list_name=lists.get(one.list_key, one.list_key),
            )
            for one in page.campaigns
        ],
        "newer_url": page.newer_url,
        "older_url": page.older_url,
        "refresh_url": request.get_full_path(),
        "may_create": visitor.may(Permission.RUN_CAMPAIGNS),
    }
    if "HX-Request" in request.headers:
        part = {**values, "is_part": True}
        return render_fragment(request, visitor, "dashboard/campaign_list.html", part)
    return render_page(request, visitor, "dashboard/campaigns.html", values)


def _read_page(workspace_id: int, wish: Wish, now: datetime) -> Page:
    """One page, by one row more than it shows."""
    read = listing.read_page(
        workspace_id,
        name=wish.search,
        group=wish.group,
        before=wish.before or LAST_ID,
        after=wish.after,
        limit=_ON_A_PAGE + 1,
        now=now,
    )
    found, has_more = read.rows, len(read.rows) > _ON_A_PAGE
    if wish.after is not None:
        shown, has_newer, has_older = found[-_ON_A_PAGE:], has_more, True
    else:
        shown, has_newer, has_older = found[:_ON_A_PAGE], wish.before is not None, has_more
    if not shown:
        return Page((), read.counts, wish.url() if has_newer else "", "")
    return Page(
        shown,
        read.counts,
        wish.url(after=shown[0].id) if has_newer else "",
        wish.url(before=shown[-1].id) if has_older else "",
    )


def _list_tabs(wish: Wish, counts: Mapping[CampaignGroup, int]) -> Sequence[Tab]:
    return [
        Tab(_("All"), sum(counts.values()), wish.url(show=""), wish.group is None),
        *(
            Tab(label, counts[group], wish.url(show=group), wish.group is group)
            for group, label in _TABS.items()
        ),
    ]
