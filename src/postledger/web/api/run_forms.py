"""Runs of campaigns as callers get them: how far they are, and what the rest waits for."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from postledger.campaigns.progress import Progress
from postledger.campaigns.states import RunState
from postledger.deliveries.entries import Held
from postledger.deliveries.queries import Books, Waits
from postledger.deliveries.reasons import EXPLANATIONS, Reason
from postledger.deliveries.states import State
from postledger.web.api.incoming import Incoming


class RetryIn(Incoming):
    """Which failures go again: those of one code, or all."""

    code: str | None = Field(default=None, pattern=r"^[\x20-\x7e]{1,200}$")


class Launched(BaseModel):
    """A run that was taken: its audience is planned and mailed from now on."""

    run_id: UUID
    links: dict[str, str] = Field(description="Of its progress, its report and its failures.")


class BooksOut(BaseModel):
    """What became of all the mails of a run."""

    planned: int
    states: dict[State, int] = Field(description="How many are in each state.")
    balances: bool = Field(description="Whether the states add up to what is planned.")


class HoldOut(BaseModel):
    """Nothing goes while it is there."""

    reason: Reason
    why: str
    moved_by: str = Field(description="What will move it.")
    since: datetime
    until: datetime | None = Field(description="When it ends by itself.")
    actor: str
    detail: str


class WaitOut(BaseModel):
    """Mails that have no result yet, for one reason."""

    reason: Reason
    why: str = Field(examples=["it is due"])
    moved_by: str = Field(
        description="What will move them.", examples=["the next free worker takes it"]
    )
    mails: int = Field(description="At most so many: some of those between may have a result.")
    since: datetime
    next_due_at: datetime


class TroubleOut(BaseModel):
    """Why the audience is not planned further; it is tried again all the time."""

    detail: str
    since: datetime | None


class PaceOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    mails_per_second: float
    ends_at: datetime | None = Field(description="If it goes on like this; null where it will not.")


class RunOut(BaseModel):
    """How one launch of a campaign stands."""

    run_id: UUID
    campaign_id: int
    send_batch_id: UUID
    state: RunState
    is_test: bool
    actor: str = Field(description="Who launched it.")
    launched_at: datetime
    planned_at: datetime | None = Field(description="Since when its whole audience is planned.")
    ended_at: datetime | None
    ended_by: str | None
    books: BooksOut
    excluded: dict[str, int] = Field(description="Who of the audience gets no mail, by why.")
    waits: list[WaitOut]
    hold: HoldOut | None
    trouble: TroubleOut | None
    pace: PaceOut | None = Field(description="Null where it could not be told honestly.")
    links: dict[str, str]


class RetriedRun(RunOut):
    requeued: int = Field(description="How many failures go again.")


class RunPage(BaseModel):
    """The newest first."""

    runs: list[RunOut]
    next: str | None = Field(description="Send it as cursor to go on.")


def launched(run_id: UUID) -> Launched:
    return Launched(run_id=run_id, links=_links(run_id))


def run(found: Progress) -> RunOut:
    return RunOut(
        run_id=found.run_id,
        campaign_id=found.campaign_id,
        send_batch_id=found.batch_id,
        state=found.state,
        is_test=found.is_test,
        actor=found.actor,
        launched_at=found.launched_at,
        planned_at=found.planned_at,
        ended_at=found.ended_at,
        ended_by=found.ended_by or None,
        books=_books(found.books),
        excluded=dict(found.excluded),
        waits=[_wait(wait, found.hold, found.waiting) for wait in found.waits],
        hold=found.hold and _hold(found.hold),
        trouble=_trouble(found),
        pace=found.pace and PaceOut.model_validate(found.pace),
        links=_links(found.run_id),
    )


def retried(found: Progress, *, requeued: int) -> RetriedRun:
    return RetriedRun(**dict(run(found)), requeued=requeued)


def page(found: Sequence[Progress], *, limit: int) -> RunPage:
    """`found` has one more than fits, where there are more."""
    shown = found[:limit]
    more = str(shown[-1].number) if len(found) > limit else None
    return RunPage(runs=[run(progress) for progress in shown], next=more)


def _books(books: Books) -> BooksOut:
    states = {State.WAITING: books.waiting, **books.counts}
    return BooksOut(
        planned=books.planned,
        states=states,
        balances=sum(states.values()) == books.planned and min(states.values()) >= 0,
    )


def _wait(wait: Waits, hold: Held | None, waiting: int) -> WaitOut:
    told = EXPLANATIONS[wait.reason]
    return WaitOut(
        reason=wait.reason,
        why=told.why,
        moved_by=EXPLANATIONS[hold.reason].moved_by if hold else told.moved_by,
        mails=min(wait.position_count, waiting),
        since=wait.since,
        next_due_at=wait.next_due_at,
    )


def _hold(hold: Held) -> HoldOut:
    told = EXPLANATIONS[hold.reason]
    return HoldOut(
        reason=hold.reason,
        why=told.why,
        moved_by=told.moved_by,
        since=hold.since,
        until=hold.until,
        actor=hold.actor,
        detail=hold.detail,
    )


def _trouble(found: Progress) -> TroubleOut | None:
    return TroubleOut(detail=found.trouble, since=found.trouble_since) if found.trouble else None


def _links(run_id: UUID) -> dict[str, str]:
    own = f"/v1/runs/{run_id}"
    return {"self": own, "report": f"{own}/report.csv", "failures": f"{own}/failures"}
