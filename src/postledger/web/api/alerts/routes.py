"""The route that lists what needs a person."""

from datetime import datetime
from typing import Annotated

from ninja import Query
from pydantic import Field

from postledger.accounts.keys import Scope
from postledger.alerts import queries
from postledger.alerts.detection import Cause
from postledger.alerts.queries import AlertFacts, AlertState, Place, UntoldReason
from postledger.lib.ids import LAST_ID
from postledger.web.api.common.pagination import NextCursor, PageQuery, cursor_like, cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.common.schemas import ResponseSchema

routes = Routes("alerts", read=Scope.READ, write=Scope.SEND)


class AlertsQuery(PageQuery):
    state: AlertState | None = Field(default=None, description="Only these; all by default.")
    cursor: Annotated[str, cursor_like("^[01]-[0-9]{1,19}$")] | None = Field(
        default=None, description="`next` of the previous page."
    )

    @property
    def after(self) -> Place | None:
        if self.cursor is None:
            return None
        is_closed, _, alert_id = self.cursor.partition("-")
        return Place(is_closed == "1", min(int(alert_id), LAST_ID))


class AlertOut(ResponseSchema):
    """Something that needs a person, or needed one."""

    id: int | None = Field(description="Null for one that was found at reading.")
    cause: Cause
    state: AlertState
    subject: str = Field(
        description="A sender's address, or the key of a topic; empty for the whole workspace."
    )
    title: str
    sentence: str = Field(description="What happened.")
    advice: str = Field(description="What will move it.")
    since: datetime = Field(description="When the cause began.")
    last_at: datetime = Field(description="When it was last seen.")
    count: int = Field(description="How many mails or streams it is about.")
    times: int = Field(description="How often the cause came.")
    opened_at: datetime
    told_at: datetime | None = Field(
        description="When the mail to the members was put into the ledger."
    )
    closed_at: datetime | None
    untold_reason: UntoldReason | None = Field(
        description="Why nobody was told yet of an open alert."
    )


class AlertPage(ResponseSchema):
    """Open ones first, then closed ones, each the newest first."""

    alerts: list[AlertOut]
    next: NextCursor


@routes.get("", AlertPage)
def list_alerts(call: Call, query: Query[AlertsQuery]) -> dict[str, object]:
    """What needs a person, and what did. Open alerts come first."""
    rows = queries.list_page(
        call.workspace_id,
        state=query.state,
        after=query.after,
        limit=query.limit + 1,
        now=call.now,
    )
    return cut_page("alerts", rows, query.limit, _encode_cursor)


def _encode_cursor(alert: AlertFacts) -> str:
    """One that was found at reading stands before all that are stored."""
    id_ = LAST_ID if alert.id is None else alert.id
    return f"{int(alert.state is AlertState.CLOSED)}-{id_}"
