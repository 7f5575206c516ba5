"""Rows of the error table in Notion: stored first, then written once, as fast as Notion allows.

A row is begun in the database, added in Notion, and ended in the database: one that was begun and
not ended is looked for in Notion before it is added again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

import structlog
from django.db.models import F, Q
from django.db.models.functions import Now

from postledger.accounts import integrations
from postledger.accounts.integrations import NotionSettings
from postledger.campaigns.models import ErrorRow, Mailout, Run
from postledger.content.notion.api import NotionPageNotFoundError, NotionRequestRefusedError
from postledger.content.notion.writing import DataSource, Value, Writer
from postledger.content.rendering.html.checks import Finding
from postledger.deliveries import reporting, undecided
from postledger.deliveries.reporting import ReportedDelivery
from postledger.deliveries.states import State
from postledger.deliveries.undecided import UndecidedDelivery
from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId

# Notion takes three rows a second, and nobody reads more; the report of the run has all.
MAX_FAILURES = 1_000
MAX_FINDINGS = 100
MORE_FAILURES = "more_failures"
MORE_FINDINGS = "more_findings"

_BATCH = 25  # about ten seconds
_MAX_REFUSALS = 5
RETRY_AFTER = timedelta(minutes=5)  # for a page or a row that Notion refused

# Notion refuses the same page or row again, whenever it is asked.
PERMANENT = (NotionPageNotFoundError, NotionRequestRefusedError)

_UNDECIDED = (State.FAILED, State.IN_DOUBT)
_log = structlog.get_logger(__name__)


def store_refusal(mailout: Mailout, error: RefusedError, *, now: datetime) -> None:
    """One row for each time that a page could not be mailed."""
    reference = now.isoformat(timespec="microseconds")
    _store([ErrorRow(mailout=mailout, reference=reference, code=error.code, detail=str(error))])


def store_findings(mailout: Mailout, run_id: UUID, findings: Sequence[Finding]) -> None:
    """One row for each part of the page that a mail cannot show; the last row counts the others."""
    rows = [
        ErrorRow(
            mailout=mailout,
            reference=f"{finding.place}, run {run_id}",
            code=finding.code,
            detail=finding.remedy,
        )
        for finding in findings[:MAX_FINDINGS]
    ]
    if others := findings[MAX_FINDINGS:]:
        more = ErrorRow(mailout=mailout, reference=f"run {run_id}", code=MORE_FINDINGS)
        more.detail = _summarise(others)
        rows.append(more)
    _store(rows)


def _summarise(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.code for finding in findings)
    codes = ", ".join(f"{count:,} {code}" for code, count in sorted(counts.items()))
    return f"{len(findings):,} more parts of the page are left out or shown otherwise: {codes}."


def store_failures(mailout: Mailout, run: Run) -> None:
    """One row for each failed or doubtful mail and cause; a stored one is not stored again."""
    mails = list(islice(_list_undecided(run.stream_id), MAX_FAILURES + 1))
    rows = [
        ErrorRow(
            mailout=mailout,
            reference=DeliveryId(run.stream_id, mail.position).text(),
            code=mail.code or mail.outcome.value.upper(),
        )
        for mail in mails[:MAX_FAILURES]
    ]
    if len(mails) > MAX_FAILURES:
        more = ErrorRow(mailout=mailout, reference=f"run {run.pk}", code=MORE_FAILURES)
        more.detail = f"Only {MAX_FAILURES:,} failures are listed; the report of the run has all."
        rows.append(more)
    _store(rows)


def _list_undecided(stream_id: int) -> Iterator[UndecidedDelivery]:
    for state in _UNDECIDED:
        after = -1
        while mails := undecided.find_undecided(stream_id, state, after=after):
            yield from mails
            after = mails[-1].position


def _store(rows: Sequence[ErrorRow]) -> None:
    """Without an error table they are not stored: the report has them anyway."""
    notion = integrations.notion(rows[0].mailout.workspace_id) if rows else None
    if notion is not None and notion.errors:
        ErrorRow.objects.bulk_create(rows, ignore_conflicts=True)


def list_unwritten(workspace_id: int, notion: NotionSettings, now: datetime) -> Sequence[ErrorRow]:
    """A workspace's next rows to write, the oldest first; none without an error table."""
    if not notion.errors:
        return []
    rows = ErrorRow.objects.filter(
        Q(write_after=None) | Q(write_after__lte=now),
        mailout__workspace_id=workspace_id,
        written_at=None,
        refusals__lt=_MAX_REFUSALS,
    )
    return list(rows.select_related("mailout").order_by("pk")[:_BATCH])


def write_rows(
    writer: Writer, rows: Sequence[ErrorRow], notion: NotionSettings, now: datetime
) -> None:
    if not rows:
        return
    table = writer.table(notion.errors)
    for row in rows:
        try:
            _write_row(writer, table, row)
        except PERMANENT as error:
            _log.warning("notion_row_refused", code=error.code, row=row.pk, of=row.code)
            ErrorRow.objects.filter(pk=row.pk).update(
                refusals=F("refusals") + 1, write_after=now + RETRY_AFTER
            )


def _write_row(writer: Writer, table: DataSource, row: ErrorRow) -> None:
    stored = ErrorRow.objects.filter(pk=row.pk)
    mail = _find_mail(row.reference)
    if mail is not None and mail.state not in _UNDECIDED:
        # It was retried meanwhile: nothing is wrong any more.
        stored.delete()
        return
    subject = row.reference if mail is None else f"{mail.address} ({row.reference})"
    title = f"{row.code}: {subject}"
    is_new = bool(stored.filter(begun_at=None).update(begun_at=Now()))
    if is_new or not writer.has(table, title):
        writer.add(table, title, _values(row, mail))
    stored.update(written_at=Now())


def _find_mail(reference: str) -> ReportedDelivery | None:
    delivery_id = DeliveryId.parse(reference)
    if delivery_id is None:
        return None
    position = delivery_id.position
    return reporting.find_deliveries(delivery_id.stream_id, [position]).get(position)


def _values(row: ErrorRow, mail: ReportedDelivery | None) -> Mapping[str, Value]:
    """By the usual property names of error tables; a table may lack some of them."""
    return {
        "code": row.code,
        "type": row.code,
        "email": "" if mail is None else mail.address,
        "error_message": row.detail if mail is None else mail.detail,
        "reference": row.reference,
        "mailout": str(row.mailout.page_id),
        "at": row.at,
    }
