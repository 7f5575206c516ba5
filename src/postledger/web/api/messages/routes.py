"""The route that searches all mail of a workspace: single mails, and those of runs."""

from datetime import datetime
from typing import Annotated

from ninja import Query
from pydantic import AfterValidator, Field

from postledger.accounts.keys import Scope
from postledger.campaigns.runs import run_lookup
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.figures import messages
from postledger.deliveries.figures.message_sources import MessageFilters
from postledger.deliveries.figures.messages import MessageCursor
from postledger.deliveries.states import State
from postledger.lib.ids import LAST_ID
from postledger.web.api.common.fields import AnyMoment, CanonicalAddress
from postledger.web.api.common.pagination import PageQuery
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.common.schemas import ResponseSchema
from postledger.web.api.email.schemas import ProviderId

routes = Routes("messages", read=Scope.READ, write=Scope.SEND)


def _decode(text: str) -> MessageCursor:
    cursor = MessageCursor.decode(text)
    if cursor is None:
        raise ValueError("give `older` or `newer` of a page")
    return cursor


Cursor = Annotated[str, Field(max_length=80), AfterValidator(_decode)]


class MessagesQuery(PageQuery):
    address: CanonicalAddress | None = Field(
        default=None, description="Only mails to this address."
    )
    message_id: ProviderId | None = Field(
        default=None, description="Only the mail that the provider knows by this id."
    )
    campaign_id: Annotated[int, Field(ge=1, le=LAST_ID)] | None = Field(
        default=None, description="Only mails of the campaign's runs."
    )
    state: State | None = Field(default=None, description="Only mails in this state.")
    since: AnyMoment | None = Field(default=None, description="Only mails planned since then.")
    until: AnyMoment | None = Field(default=None, description="Only mails planned before then.")
    cursor: Cursor | None = Field(
        default=None,
        description="`older` or `newer` of a page; the other parameters stay the same.",
    )


class MessageOut(ResponseSchema):
    id: str
    address: str
    subject: str = Field(description="Of a run's mail: of its letter, with placeholders.")
    kind: StreamKind
    stream_title: str
    state: State
    error_code: str | None = Field(validation_alias="code")
    attempts: int
    created_at: datetime = Field(validation_alias="planned_at")
    settled_at: datetime | None


class MessagePage(ResponseSchema):
    """The newest first. An empty page may have an `older`."""

    messages: list[MessageOut]
    older: str | None = Field(description="The `cursor` of older mails; null at the end.")
    newer: str | None = Field(description="The `cursor` of newer mails; null on the first page.")


@routes.get("", MessagePage, scopes=[Scope.READ, Scope.CAMPAIGNS_READ, Scope.CONTACTS_READ])
def search_messages(call: Call, query: Query[MessagesQuery]) -> dict[str, object]:
    """All mail of the workspace, single mails and those of runs, without that of test keys."""
    stream_ids = None
    if query.campaign_id is not None:
        stream_ids = run_lookup.list_streams(call.workspace_id, query.campaign_id)
    filters = MessageFilters(
        query.address, query.message_id, stream_ids, query.state, query.since, query.until
    )
    cursor: MessageCursor | None = query.cursor  # type: ignore[assignment]  # decoded
    page = messages.search_messages(call.workspace_id, filters, limit=query.limit, cursor=cursor)
    return {
        "messages": page.messages,
        "older": page.older and page.older.encode(),
        "newer": page.newer and page.newer.encode(),
    }
