"""Runs of campaigns as callers get them."""

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field, computed_field

from postledger.campaigns.states import RunState
from postledger.deliveries.entries import HoldScope
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.pacing.prospects import Binding, Owner
from postledger.web.api.common.fields import Matching, TextOrNull
from postledger.web.api.common.pagination import NextCursor, PageQuery
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

FailureCode = Annotated[
    str,
    Matching(r"^[\x20-\x7e]{1,200}$", "use a code of the failures of this run"),
]


class RetryIn(RequestSchema):
    """The failures of one code, or all."""

    code: FailureCode | None = None


class Launched(ResponseSchema):
    """A new run; a worker plans and sends it."""

    run_id: UUID

    @computed_field(description="Progress, report and failures.")  # type: ignore[prop-decorator]
    @property
    def links(self) -> dict[str, str]:
        run = f"/v1/runs/{self.run_id}"
        return {"self": run, "report": f"{run}/report.csv", "failures": f"{run}/failures"}


class BooksOut(ResponseSchema):
    """The results of all mails of a run."""

    planned: int
    states: dict[State, int] = Field(description="Number of mails in each state.")
    balances: bool = Field(description="Whether the states add up to the planned number.")


class FeedbackOut(ResponseSchema):
    """What the provider reported of accepted mails. Each mail counts once for each kind of report.

    It stands beside the books: an accepted mail that bounces stays accepted.
    """

    delivered: int = Field(description="The recipient's server took them.")
    bounced: int = Field(description="For good; their addresses are suppressed.")
    soft_bounced: int = Field(description="Given up for now; also answers of absent recipients.")
    on_suppression_list: int = Field(
        description="Kept back by the account's own suppression list; not in `bounced`."
    )
    complained: int = Field(description="Reported as spam.")
    dropped: int = Field(description="The provider took them and did not send them.")
    opened: int
    clicked: int
    reported: int = Field(description="With a report of any kind.")


class HoldOut(ResponseSchema):
    """One cause of a hold; nothing is sent while any is in force."""

    scope: HoldScope = Field(description="What is held: the run, its sender or the account.")
    reason: Reason
    why: str
    moved_by: str = Field(description="What will end it.")
    since: datetime
    until: datetime | None = Field(description="When it ends by itself.")
    actor: str
    detail: str
    fails_at: datetime | None = Field(
        description="The provider refuses the sender: if nobody acts, mail that is due fails from"
        " then on, with the code of the refusal."
    )


class WaitOut(ResponseSchema):
    """Mails that have no result yet for one reason."""

    reason: Reason
    why: str = Field(examples=["it is due"])
    moved_by: str = Field(
        description="What will move them.", examples=["the next free worker takes it"]
    )
    mails: int = Field(description="An upper bound: some of them may have a result.")
    since: datetime
    next_due_at: datetime


class PlanningIssueOut(ResponseSchema):
    """Why planning the audience does not go on; a worker tries again all the time."""

    detail: str
    since: datetime | None


class AudienceWaitOut(ResponseSchema):
    """Why planning has not begun: the contacts of the audience are not up to date."""

    reason: Reason
    why: str
    moved_by: str = Field(description="What will end it.")
    since: datetime
    detail: str = Field(description="What goes wrong meanwhile; may be empty.")


class PaceOut(ResponseSchema):
    mails_per_second: float
    ends_at: datetime | None = Field(description="At this pace; null if that is not known.")


class PacePointOut(ResponseSchema):
    at: datetime
    accepted: int = Field(description="From then on, until the next point.")


class PaceSeriesOut(ResponseSchema):
    """The points add up to the accepted mails; after results were taken back, a point may be
    negative.
    """

    seconds: int = Field(description="From one point to the next.")
    points: list[PacePointOut] = Field(description="Without gaps; at most 120.")


class RunOut(Launched):
    """The progress of one launch of a campaign."""

    campaign_id: int
    send_batch_id: UUID = Field(validation_alias="launch_id")
    state: RunState
    is_test: bool
    actor: str = Field(description="Who launched it.")
    launched_at: datetime
    planned_at: datetime | None = Field(description="When planning its audience was done.")
    ended_at: datetime | None
    ended_by: TextOrNull
    books: BooksOut
    feedback: FeedbackOut
    excluded: dict[str, int] = Field(description="Contacts that get no mail, by reason.")
    waits: list[WaitOut]
    hold: HoldOut | None = Field(description="The first of `holds`.")
    holds: list[HoldOut] = Field(description="All causes in force, first what ends last.")
    trouble: PlanningIssueOut | None = Field(validation_alias="planning_issue")
    audience_wait: AudienceWaitOut | None
    pace: PaceOut | None = Field(description="Null while there are too few results.")


class ChangeOut(ResponseSchema):
    """When the mails would have gone without one of the causes."""

    without: Binding
    of: Owner | None = Field(
        validation_alias="owner", description="Whose limit it is; null for hours."
    )
    ends_at: datetime


class ForecastDayOut(ResponseSchema):
    day: date = Field(description="In the workspace's time zone.")
    mails: int
    starts_at: datetime = Field(description="When the first of them goes.")
    ends_at: datetime = Field(description="When the last of them has gone.")


class ForecastOut(ResponseSchema):
    """When the mails will have gone, by the limits, hours and quotas as they are now.

    Other streams of the workspace with waiting mail share these limits, and are part of it.
    """

    waiting: int = Field(
        description="Mails that are to go; before a launch, the expected size of the audience."
    )
    ends_at: datetime | None = Field(
        description="Null if a person has to act first, or if it takes longer than 90 days."
    )
    left: int = Field(description="Mails that will still wait when it cannot be foreseen further.")
    binding: Binding | None = Field(
        description="What sets the pace for the longest time; null if nothing waits. `capacity`:"
        " no limit does, the workers send as fast as they can."
    )
    of: Owner | None = Field(
        validation_alias="owner", description="Whose limit `binding` is, where it is a limit."
    )
    changes: list[ChangeOut] = Field(
        description="What would let it end earlier: each cause taken away alone."
    )
    days: list[ForecastDayOut] = Field(
        description="The days on which mails go, as far as it can be foreseen; none while a person"
        " has to act first."
    )
    as_of: datetime


class ForecastRun(RunOut):
    forecast: ForecastOut | None = Field(
        description="Null while the audience is planned, and when no mail waits."
    )


class RetriedRun(RunOut):
    requeued: int = Field(description="Number of failures that are sent again.")


class RunPage(ResponseSchema):
    """The newest first."""

    runs: list[RunOut]
    next: NextCursor


class FailureOut(ResponseSchema):
    """Mails that failed, or are in doubt, for one cause."""

    state: State = Field(description="`failed` or `in_doubt`.")
    code: str = Field(examples=["550 5.1.1"])
    count: int
    since: datetime = Field(description="When the first of them got this result.")
    example: str = Field(description="The provider's message for the first one; may be empty.")
    remedy: str = Field(description="What to do about it.")


class Failures(ResponseSchema):
    failures: list[FailureOut] = Field(description="The most frequent cause first.")


class ExclusionsQuery(PageQuery):
    reason: str | None = Field(
        default=None, pattern=r"^\w{1,64}$", description="Only contacts with this reason."
    )
    cursor: str | None = Field(
        default=None, pattern="^[0-9]{1,18}$", description="`next` of the previous page."
    )

    @property
    def after(self) -> int:
        return 0 if self.cursor is None else int(self.cursor)


class ExclusionOut(ResponseSchema):
    """A contact that gets no mail of the run."""

    contact_id: int
    email: str | None = Field(
        validation_alias="address", description="Null after the contact was deleted."
    )
    reason: str = Field(examples=["list_unsubscribed"])


class ExclusionPage(ResponseSchema):
    """In the order of contact ids."""

    exclusions: list[ExclusionOut]
    next: NextCursor
