"""Looks at a page of subscribers: who is new, who changed there, and who is to be changed there."""

from collections.abc import Sequence
from datetime import datetime

from postledger.contacts.states import ContactState
from postledger.contacts.supabase import knowing, refusals, rows
from postledger.contacts.supabase.client import Subscribers
from postledger.contacts.supabase.deciding import Step, decide
from postledger.contacts.supabase.knowing import Known, Unknown
from postledger.contacts.supabase.models import Way
from postledger.contacts.supabase.rows import Flaw, Raw, Row
from postledger.contacts.supabase.taking import Page, Problem

_FORGOTTEN = "Its owner asked to be forgotten here. Delete the row in Supabase as well."
_DELETED = "The contact was deleted here. Delete the row in Supabase, or make the contact anew."
_MOVED = "The row changed in Supabase meanwhile. The next pass looks at it again."


def sort(
    workspace_id: int, found: Sequence[Raw], *, after: str, table: Subscribers, now: datetime
) -> Page:
    """What a page comes to; what counts more here is written to Supabase on the way."""
    read = [rows.read(raw) for raw in found]
    page = Page(after=after, last=read[-1].email, read=len(read))
    page.seen += [one.address for one in read if one.address is not None]
    page.problems += [_untaken(flaw.email, flaw.problem) for flaw in read if isinstance(flaw, Flaw)]
    usable = [row for row in read if isinstance(row, Row)]
    for row, known in zip(usable, knowing.look_up(workspace_id, usable), strict=True):
        if not row.is_name_usable:
            page.problems.append(_untaken(row.email, rows.NO_NAME))
        match known:
            case Unknown():
                _meet(page, row, known)
            case Known():
                _compare(page, row, known, table=table, now=now)
    return page


def _untaken(email: str, problem: str) -> Problem:
    return Problem(email, Way.TAKEN, problem)


def _meet(page: Page, row: Row, known: Unknown) -> None:
    if known.is_forgotten:
        page.problems.append(_untaken(row.email, _FORGOTTEN))
    elif known.gone_id is not None:
        page.returned.append((known.gone_id, row))
    elif known.is_deleted:
        page.problems.append(_untaken(row.email, _DELETED))
    else:
        page.new.append(row)


def _compare(page: Page, row: Row, known: Known, *, table: Subscribers, now: datetime) -> None:
    if row.is_name_usable and row.from_name != known.from_name:
        page.renamed.append(row)
    if known.is_unconfirmed and row.state is ContactState.ACTIVE:
        page.confirmed.append(row)
    # What says our own time was written by us, perhaps for a complaint: nobody wished it there.
    is_own = row.at is not None and row.at == known.changed_at
    step = decide(
        ours=known.state,
        theirs=row.state,
        their_at=row.at,
        taken_back_at=known.taken_back_at,
        is_wish_known=known.has_left or is_own,
    )
    match step:
        case Step.TAKE:
            page.ended.append(row)
        case Step.WRITE:
            _write(page, row, known, table=table, now=now)
        case Step.NOTHING:
            pass


def _write(page: Page, row: Row, known: Known, *, table: Subscribers, now: datetime) -> None:
    values = {
        "status": known.state.value,
        "bounce_type": known.bounce_type,
        "bounce_subtype": known.bounce_subtype,
        "status_updated_at": (known.changed_at or now).isoformat(),
    }
    try:
        has_changed = table.change(row.raw, values)
    except refusals.RequestRefusedError as refused:
        page.problems.append(Problem(row.email, Way.WRITTEN, str(refused)))
        return
    if has_changed:
        page.written += 1
    else:
        page.problems.append(Problem(row.email, Way.WRITTEN, _MOVED))
