"""Remembers for some minutes what links have answered, for all processes."""

from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

from postledger.content import link_checks
from postledger.content.link_checks import LinkReport, LinkState

REMEMBERED_FOR = timedelta(minutes=5)

_log = structlog.get_logger(__name__)


def recall_reports(workspace_id: int, links: Sequence[str]) -> list[LinkReport] | None:
    """What the links have answered in the last minutes; None unless every one was asked."""
    remembered = _recall(workspace_id, links)
    return remembered if len(remembered) == len(links) else None


def read_reports(workspace_id: int, links: Sequence[str]) -> list[LinkReport]:
    """Asks the links that were not asked in the last minutes, all at once, within some seconds.

    Call it outside of a transaction: it asks over the network.
    """
    reports = {report.url: report for report in _recall(workspace_id, links)}
    new_reports = link_checks.check_links([link for link in links if link not in reports])
    _remember(workspace_id, new_reports)
    reports |= {report.url: report for report in new_reports}
    return [reports[link] for link in links]


def _recall(workspace_id: int, links: Sequence[str]) -> list[LinkReport]:
    """Nothing while Redis is away."""
    if not links:
        return []
    keys = {link: _make_key(workspace_id, link) for link in links}
    try:
        values = cache.get_many(keys.values())
    except RedisError as error:
        _log.warning("link_reports_without_redis", error=error)
        return []
    reports = [_read(link, values[key]) for link, key in keys.items() if key in values]
    return [report for report in reports if report is not None]


def _remember(workspace_id: int, reports: Sequence[LinkReport]) -> None:
    if not reports:
        return
    values = {
        _make_key(workspace_id, report.url): (report.state.value, report.status, report.seconds)
        for report in reports
    }
    try:
        cache.set_many(values, timeout=REMEMBERED_FOR.total_seconds())
    except RedisError as error:
        _log.warning("link_reports_without_redis", error=error)


def _read(link: str, value: tuple[str, int | None, float]) -> LinkReport | None:
    """None for a state of another version, which may run beside this one or have run before."""
    state, status, seconds = value
    return LinkReport(link, LinkState(state), status, seconds) if state in LinkState else None


def _make_key(workspace_id: int, link: str) -> str:
    """Short, however long the link is, and without what may be secret in it."""
    digest = sha256(link.encode(errors="surrogatepass")).hexdigest()
    return f"link:{workspace_id}:{digest}"
