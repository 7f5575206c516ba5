"""Writes to Notion what providers reported of mailed pages, where a page has properties for it.

Reports come for days after the last mail was sent, so these counts follow the status of a page
apart from it. Writing the same counts twice changes nothing.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db.models import Q

from postledger.campaigns.models import Mailout, Run
from postledger.campaigns.notion import error_rows
from postledger.content.notion.writing import Writer
from postledger.deliveries import queries

_log = structlog.get_logger(__name__)

FOLLOWED_FOR = timedelta(days=3)  # after a page was sent; most reports come within hours
WRITTEN_EVERY = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class PageCounts:
    """The mails of a page's runs, without tests, that were reported as each."""

    mailout: Mailout
    delivered_count: int
    bounced_count: int  # for good
    complained_count: int

    @property
    def values(self) -> dict[str, int]:
        return {
            "delivered_count": self.delivered_count,
            "bounced_count": self.bounced_count,
            "complained_count": self.complained_count,
        }

    @property
    def is_written(self) -> bool:
        return all(getattr(self.mailout, name) == count for name, count in self.values.items())


def list_due(workspace_id: int, now: datetime) -> list[PageCounts]:
    """The pages whose counts have changed since they were written, a while ago."""
    is_due = Q(counted_at=None) | Q(counted_at__lte=now - WRITTEN_EVERY)
    is_allowed = Q(report_after=None) | Q(report_after__lte=now)
    followed = Mailout.objects.filter(
        is_due, is_allowed, workspace_id=workspace_id, sent_at__gt=now - FOLLOWED_FOR
    )
    pages = _count(list(followed.order_by("pk")))
    return [page for page in pages if not page.is_written]


def _count(mailouts: Sequence[Mailout]) -> list[PageCounts]:
    streams: dict[int | None, list[int]] = defaultdict(list)
    runs = Run.objects.filter(mailout__in=mailouts, is_test=False)
    for mailout_id, stream_id in runs.values_list("mailout_id", "stream_id"):
        streams[mailout_id].append(stream_id)
    counts = queries.read_report_counts([id_ for ids in streams.values() for id_ in ids])
    return [
        PageCounts(
            mailout,
            sum(counts[id_].delivered for id_ in streams[mailout.pk]),
            sum(counts[id_].bounced for id_ in streams[mailout.pk]),
            sum(counts[id_].complained for id_ in streams[mailout.pk]),
        )
        for mailout in mailouts
    ]


def write_counts(writer: Writer, pages: Sequence[PageCounts], now: datetime) -> None:
    """A page without these properties is no trouble: they are optional."""
    for page in pages:
        stored = Mailout.objects.filter(pk=page.mailout.pk)
        try:
            writer.update(str(page.mailout.page_id), page.values)
        except error_rows.PERMANENT as error:
            _log.warning("notion_page_refused", code=error.code, page_id=str(page.mailout.page_id))
            stored.update(counted_at=now)
        else:
            stored.update(counted_at=now, **page.values)
