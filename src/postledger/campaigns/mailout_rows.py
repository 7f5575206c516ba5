"""Writes errors to the table of errors in Notion, each once, and no faster than Notion allows."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import structlog
from django.db.models import F, Q
from django.db.models.functions import Now

from postledger.accounts.integrations import Notion
from postledger.campaigns.models import ErrorRow
from postledger.content.notion.properties import Value
from postledger.content.notion.refusals import PageNotFoundError, RequestRefusedError
from postledger.content.notion.writing import Table, Writer
from postledger.deliveries import reporting
from postledger.deliveries.reporting import Reported
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId

AT_ONCE = 25  # about ten seconds
MOST_REFUSALS = 5
PAUSE = timedelta(minutes=5)  # before Notion is asked again for what it refused

# What Notion would say again of the same page or row, whenever it is asked.
FOR_GOOD = (PageNotFoundError, RequestRefusedError)

_log = structlog.get_logger(__name__)


def unwritten(workspace_id: int, notion: Notion, now: datetime) -> Sequence[ErrorRow]:
    """A workspace's next rows to write, the oldest first; none where there is no table for them."""
    if not notion.errors:
        return []
    waiting = ErrorRow.objects.filter(
        Q(write_after=None) | Q(write_after__lte=now),
        mailout__workspace_id=workspace_id,
        written_at=None,
        refusals__lt=MOST_REFUSALS,
    )
    return list(waiting.select_related("mailout").order_by("pk")[:AT_ONCE])


def write(writer: Writer, rows: Sequence[ErrorRow], notion: Notion, now: datetime) -> None:
    if not rows:
        return
    table = writer.table(notion.errors)
    for row in rows:
        try:
            _write(writer, table, row)
        except FOR_GOOD as refused:
            _log.warning("notion_row_refused", code=refused.code, row=row.pk, of=row.code)
            ErrorRow.objects.filter(pk=row.pk).update(
                refusals=F("refusals") + 1, write_after=now + PAUSE
            )


def _write(writer: Writer, table: Table, row: ErrorRow) -> None:
    there = ErrorRow.objects.filter(pk=row.pk)
    mail = _mail(row.reference)
    if mail is not None and mail.state not in {State.FAILED, State.IN_DOUBT}:
        # It was retried before it was told: nothing is wrong any more.
        there.delete()
        return
    about = row.reference if mail is None else f"{mail.address} ({row.reference})"
    title = f"{row.code}: {about}"
    # Looked for only where it may be: the last one who began did not come to the end.
    is_new = bool(there.filter(begun_at=None).update(begun_at=Now()))
    if is_new or not writer.has(table, title):
        writer.add(table, title, _values(row, mail))
    there.update(written_at=Now())


def _mail(reference: str) -> Reported | None:
    named = DeliveryId.parse(reference)
    if named is None:
        return None
    return reporting.some(named.stream_id, [named.position]).get(named.position)


def _values(row: ErrorRow, mail: Reported | None) -> Mapping[str, Value]:
    """Under the names that tables of errors give them; what a table does not have is left out."""
    detail = row.detail if mail is None else mail.detail
    return {
        "code": row.code,
        "type": row.code,
        "email": "" if mail is None else mail.address,
        "error_message": detail,
        "reference": row.reference,
        "mailout": str(row.mailout.page_id),
        "at": row.at,
    }
