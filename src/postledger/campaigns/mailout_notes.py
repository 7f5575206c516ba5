"""Keeps what Notion is to be told of a page: that it was mailed, and what went wrong with it."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from uuid import UUID

from postledger.accounts import integrations
from postledger.campaigns.models import ErrorRow, Mailout, Run
from postledger.content.checks import Finding
from postledger.content.notion.pages import Page
from postledger.deliveries import undecided
from postledger.deliveries.states import State
from postledger.deliveries.undecided import Undecided
from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId

# Beyond these a table is read by nobody, and Notion takes three rows a second: the report has all.
MOST_FAILURES = 1_000
MOST_FINDINGS = 100
MORE = "more_failures"


def of(workspace_id: int, page_id: UUID) -> Mailout:
    found, _ = Mailout.objects.get_or_create(workspace_id=workspace_id, page_id=page_id)
    return found


def of_page(workspace_id: int, page: Page) -> Mailout:
    return of(workspace_id, UUID(page.mailout.page_id))


def keep_abort(mailout: Mailout, refused: RefusedError, *, now: datetime) -> None:
    """One row for each time that a page could not be mailed."""
    row = ErrorRow(mailout=mailout, reference=_time(now), code=refused.code, detail=str(refused))
    _keep(mailout, [row])


def keep_findings(mailout: Mailout, run_id: UUID, findings: Sequence[Finding]) -> None:
    """What the page holds that a mail cannot show."""
    rows = [
        ErrorRow(
            mailout=mailout,
            reference=f"{found.place}, run {run_id}",
            code=found.code,
            detail=found.remedy,
        )
        for found in findings[:MOST_FINDINGS]
    ]
    _keep(mailout, rows)


def keep_failures(mailout: Mailout, run: Run) -> None:
    """Who got no mail, or is in doubt; a cause that was kept of somebody is not kept again."""
    found = list(islice(_troubled(run.stream_id), MOST_FAILURES + 1))
    rows = [
        ErrorRow(
            mailout=mailout,
            reference=DeliveryId(run.stream_id, mail.position).text(),
            code=mail.code or mail.outcome.value.upper(),
        )
        for mail in found[:MOST_FAILURES]
    ]
    if len(found) > MOST_FAILURES:
        detail = f"Only the first {MOST_FAILURES:,} are listed here; the report of the run has all."
        rows.append(ErrorRow(mailout=mailout, reference=f"run {run.pk}", code=MORE, detail=detail))
    _keep(mailout, rows)


def _troubled(stream_id: int) -> Iterator[Undecided]:
    for state in (State.FAILED, State.IN_DOUBT):
        after = -1
        while page := undecided.undecided(stream_id, state, after=after):
            yield from page
            after = page[-1].position


def _keep(mailout: Mailout, rows: Sequence[ErrorRow]) -> None:
    """Without a table there is nowhere to tell them, and the report has them anyway."""
    notion = integrations.notion(mailout.workspace_id) if rows else None
    if notion is not None and notion.errors:
        ErrorRow.objects.bulk_create(rows, ignore_conflicts=True)


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")
