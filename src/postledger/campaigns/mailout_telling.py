"""Tells Notion what became of its pages: counts, status and time to each, and when nothing waits.

Writing a page's row twice changes nothing. An error's row is begun in the database, added, and
ended in the database: one that was begun and not ended is looked for before it is added again.
"""

from collections.abc import Mapping
from datetime import datetime

import structlog
from django.db import InterfaceError, OperationalError, connection

from postledger.accounts import integrations
from postledger.accounts.integrations import Kind
from postledger.campaigns import mailout_news, mailout_rows
from postledger.campaigns.mailout_news import News
from postledger.campaigns.models import Mailout
from postledger.content import mailouts
from postledger.content.notion.properties import Value
from postledger.content.notion.writing import Writer
from postledger.lib import work_leases
from postledger.lib.errors import RefusedError
from postledger.lib.work_leases import Work

_log = structlog.get_logger(__name__)


def tell_all(now: datetime) -> None:
    """Tells what there is to tell, for some seconds; what is left is told at the next call."""
    with work_leases.alone(Work.TELLING) as is_ours:
        for workspace_id in integrations.workspaces(Kind.NOTION) if is_ours else []:
            try:
                _tell(workspace_id, now)
            except RefusedError as refused:
                # Neither the page nor the row is at fault: everything waits for the next call.
                _log.warning(
                    "notion_not_told",
                    workspace_id=workspace_id,
                    code=refused.code,
                    detail=str(refused),
                )
            except Exception as error:  # one workspace's trouble keeps no other from being told
                is_of_database = isinstance(error, (InterfaceError, OperationalError))
                if is_of_database and not connection.is_usable():
                    raise
                _log.exception("notion_not_told", workspace_id=workspace_id)


def _tell(workspace_id: int, now: datetime) -> None:
    notion = mailouts.notion_of(workspace_id)
    news = mailout_news.find(workspace_id, now)
    rows = mailout_rows.unwritten(workspace_id, notion, now)
    if not news and not rows:
        return
    with mailouts.writing(notion) as writer:
        for one in news:
            _tell_page(writer, one, now)
        mailout_rows.write(writer, rows, notion, now)


def _tell_page(writer: Writer, news: News, now: datetime) -> None:
    there = Mailout.objects.filter(pk=news.mailout.pk)
    try:
        missing = writer.update(str(news.mailout.page_id), _values(news))
    except mailout_rows.FOR_GOOD as refused:
        _log.warning("notion_page_refused", code=refused.code, page_id=str(news.mailout.page_id))
        there.update(trouble=f"{refused.code}: {refused}", tell_after=now + mailout_rows.PAUSE)
        return
    trouble = f"The page has no property {', '.join(missing)} to write to." if missing else ""
    there.update(
        told_at=news.seen_at,
        sent_count=news.result.sent_count,
        failed_count=news.result.failed_count,
        word=news.result.word,
        trouble=trouble,
        tell_after=None,
    )


def _values(news: News) -> Mapping[str, Value]:
    """A test says how many it reached, and leaves the page as one that was not sent."""
    counts = {"sent_count": news.result.sent_count, "failed_count": news.result.failed_count}
    if news.is_test or news.mailout.sent_at is None:
        return counts
    return {**counts, "status": news.result.word, "sent_at": news.mailout.sent_at}
