"""The API requests of the last day, without their bodies."""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from postledger.accounts import queries
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components.badges import Badge
from postledger.web.dashboard.developers.api_url import find_base_url
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.parameters import read_text
from postledger.web.shared import request_log
from postledger.web.shared.request_log import LoggedRequest, RequestFilters

_MOST_SHOWN = 200
_LONGEST_PATH = 100
_RESULTS: dict[str, tuple[bool | None, Promise]] = {
    "": (None, gettext_lazy("Any answer")),
    "failed": (True, gettext_lazy("Failed")),
    "fine": (False, gettext_lazy("Succeeded")),
}


@dataclass(frozen=True, slots=True)
class Row:
    request: LoggedRequest
    badge: Badge
    key_name: str


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    asked = {name: read_text(request.GET, name).strip() for name in ("result", "key", "path")}
    is_failed, _ = _RESULTS.get(asked["result"], _RESULTS[""])
    names = {key.prefix: key.name for key in queries.keys(visitor.workspace.pk)}
    wanted = {asked["key"]} & names.keys() if asked["key"] else names.keys()
    filters = RequestFilters(wanted, is_failed, asked["path"][:_LONGEST_PATH])
    rows = _read_rows(visitor, filters, names)
    context = {
        "tab": "requests",
        "base_url": find_base_url(request),
        "asked": asked,
        "is_search": any(asked.values()),
        "results": [(value, label) for value, (_, label) in _RESULTS.items()],
        "keys": names,
        "rows": rows,
        "is_away": rows is None,
        "most": _MOST_SHOWN,
        "is_cut": rows is not None and len(rows) == _MOST_SHOWN,
    }
    return render_page(request, visitor, "dashboard/developers/requests.html", context)


def _read_rows(
    visitor: Visitor, filters: RequestFilters, names: dict[str, str]
) -> list[Row] | None:
    """None while Redis does not answer."""
    try:
        logged = request_log.read_requests(
            visitor.workspace.pk, filters, limit=_MOST_SHOWN, now=datetime.now(UTC)
        )
    except RedisError:
        return None
    return [_make_row(entry, names) for entry in logged]


def _make_row(entry: LoggedRequest, names: dict[str, str]) -> Row:
    state, icon = ("failed", "x") if entry.is_failed else ("ok", "check")
    badge = Badge(state, icon, str(entry.status))
    return Row(entry, badge, names.get(entry.key, ""))
