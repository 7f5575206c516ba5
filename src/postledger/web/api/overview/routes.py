"""The route that shows a workspace at a glance: the books of today, what moves and what waits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import Field

from postledger.accounts.keys import Scope
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.figures import day_books, pace, streams_at_work
from postledger.deliveries.figures.day_books import DayBooks
from postledger.deliveries.figures.pace import PacePoint
from postledger.deliveries.figures.streams_at_work import StreamAtWork, WorkspaceWork
from postledger.deliveries.states import State
from postledger.feedback import sender_health
from postledger.feedback.sender_health import SenderHealth
from postledger.observability import masking
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.common.schemas import ResponseSchema
from postledger.web.api.runs.schemas import PacePointOut
from postledger.web.api.why.routes import CauseOut

routes = Routes("overview", read=Scope.READ, write=Scope.SEND)


class DayBooksOut(ResponseSchema):
    """The mail that was left over when the day began, and the mail that was planned since.

    Results belong to the day on which they came; what waits or is in doubt belongs to today.
    """

    starts_at: datetime
    ends_at: datetime
    zone: str = Field(examples=["Europe/Berlin"])
    planned: int = Field(description="The sum of all states.")
    states: dict[State, int]
    later: int = Field(description="Mails that are due on a later day; not in `planned`.")


class WaitingMailOut(ResponseSchema):
    cause: CauseOut
    mails: int


class StreamOut(ResponseSchema):
    """A run, or the single mails of one sender in one month, with work."""

    id: int
    kind: StreamKind
    title: str
    planned: int
    states: dict[State, int]
    mails_per_second: float | None = Field(description="In the last minute; null: none.")
    ends_at: datetime | None = Field(description="At this pace; null if that is not known.")
    next_in_line: int = Field(description="Mails that the next free worker takes.")
    waiting: list[WaitingMailOut] = Field(description="The others, by what they wait for.")


class SenderHealthOut(ResponseSchema):
    """What the provider of a sender reported in the last seven days."""

    address: str
    is_expected: bool = Field(description="Whether its provider reports at all.")
    accepted: int
    delivered: int
    bounced: int
    complained: int
    last_event_at: datetime | None
    silent_since: datetime | None = Field(
        description="Mail was accepted for an hour from then on, and nothing was reported."
    )


class OverviewOut(ResponseSchema):
    """Mail of test keys is left out."""

    day: DayBooksOut
    accepted_per_minute: list[PacePointOut] = Field(description="The last 60 full minutes.")
    oldest_due_at: datetime | None = Field(
        description="Of the mail that a worker could take now; the queue of a campaign that moves"
        " is left out."
    )
    streams: list[StreamOut] = Field(description="Those with work, the newest first.")
    senders: list[SenderHealthOut] | None = Field(
        description="Null without the scope `setup:read`."
    )


@dataclass(frozen=True, slots=True)
class Overview:
    day: DayBooks
    accepted_per_minute: Sequence[PacePoint]
    oldest_due_at: datetime | None
    streams: Sequence[dict[str, object]]
    senders: Sequence[SenderHealth] | None


@routes.get("", OverviewOut, scopes=[Scope.READ, Scope.CAMPAIGNS_READ])
def get_overview(call: Call) -> Overview:
    """The books of today, the mails of the last hour, what moves, what waits and why, and whether
    the reports of each sender come back.

    Without the scope contacts:read, addresses in causes are masked; without setup:read, no sender
    is listed.
    """
    work = streams_at_work.read_work(call.workspace_id, now=call.now)
    return Overview(
        day_books.read_day_books(call.workspace_id, now=call.now),
        pace.read_minutes(call.workspace_id, now=call.now),
        work.oldest_due_at,
        _list_streams(call, work),
        _list_senders(call),
    )


def _list_senders(call: Call) -> Sequence[SenderHealth] | None:
    """Who the senders are is part of the set-up, which not every key reads."""
    if Scope.SETUP_READ not in call.scopes:
        return None
    return sender_health.list_sender_health(call.workspace_id, now=call.now)


def _list_streams(call: Call, work: WorkspaceWork) -> list[dict[str, object]]:
    return [
        {
            "id": one.stream.id,
            "kind": one.stream.kind,
            "title": one.stream.title,
            "planned": one.books.planned,
            "states": one.books.states,
            "mails_per_second": one.rate if one.rate is None else round(one.rate, 1),
            "ends_at": one.ends_at,
            "next_in_line": one.next_in_line,
            "waiting": [
                {"cause": _hide_addresses(call, one, n), "mails": group.mails}
                for n, group in enumerate(one.waiting)
            ],
        }
        for one in work.streams
    ]


def _hide_addresses(call: Call, stream: StreamAtWork, number: int) -> object:
    """A provider's answer may quote a recipient."""
    cause = stream.waiting[number].cause
    if call.may_read_contacts:
        return cause
    return replace(cause, sentence=masking.mask_text(cause.sentence))
