"""Mails in doubt as callers send and get them."""

from datetime import datetime
from typing import Self

from pydantic import ConfigDict, Field, model_validator

from postledger.deliveries.entries import AttemptOutcome, Decision, StreamKind
from postledger.web.api.common.decisions import A_MAIL, TITLE, TRY_ID, MailIds, StreamNumber
from postledger.web.api.common.pagination import MailKeyText, NextCursor, PageQuery
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

_DECISION = (
    "`count_as_sent` accepts the mail, `count_as_not_sent` fails it, and `send_again` makes it wait"
    " for another try: it may arrive twice."
)


class DoubtsQuery(PageQuery):
    stream_id: StreamNumber | None = Field(default=None, description="Only those of this stream.")
    cursor: MailKeyText | None = Field(default=None, description="`next` of the previous page.")


class DecisionIn(RequestSchema):
    """What became of the mail, by a person's word."""

    decision: Decision = Field(strict=False, description=_DECISION)


class DoubtDecisionsIn(DecisionIn):
    """A decision about some mails, or about all doubts of a stream, 1,000 in one request."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"decision": "count_as_sent", "ids": [A_MAIL]}]}
    )

    ids: MailIds | None = Field(default=None, description="Some mails, by `id` or `try_id`.")
    stream_id: StreamNumber | None = Field(default=None, description="All doubts of this stream.")
    cursor: MailKeyText | None = Field(
        default=None, description="`next` of the previous answer, with `stream_id`."
    )

    @model_validator(mode="after")
    def _refuse_both(self) -> Self:
        if (self.ids is None) == (self.stream_id is None):
            raise ValueError("give ids or stream_id, one of the two")
        if self.cursor is not None and self.stream_id is None:
            raise ValueError("a cursor goes on with a stream_id")
        return self


class DoubtOut(ResponseSchema):
    """One mail of which nobody knows whether the provider took it."""

    id: str
    try_id: str = Field(description=TRY_ID)
    stream_id: int
    kind: StreamKind
    title: str | None = Field(description=TITLE)
    is_test: bool
    address: str
    since: datetime
    tries: list[int] = Field(description="The tries that are in doubt.")
    outcome: AttemptOutcome = Field(description="What the last of them came to.")
    detail: str
    tried_at: datetime
    events: str = Field(description="Whether events of its sender arrive, and how soon.")
    may_be_sent_again: bool
    resend_after: datetime | None = Field(
        description="Until then its bytes may still leave, and it may not be sent again."
    )


class DoubtPage(ResponseSchema):
    """In the order of streams, the oldest first."""

    doubts: list[DoubtOut]
    next: NextCursor


class DoubtGroupOut(ResponseSchema):
    """The mails of one stream that are in doubt for the same cause."""

    stream_id: int
    kind: StreamKind
    title: str | None = Field(description=TITLE)
    is_test: bool
    outcome: AttemptOutcome
    count: int
    since: datetime = Field(description="Of the first of them.")
    detail: str
    addresses: list[str] = Field(description="Of the first three.")
    events: str = Field(description="Whether events of the sender arrive, and how soon.")
    resend_after: datetime | None = Field(
        description="Until then some of them may not be sent again."
    )


class DoubtGroups(ResponseSchema):
    groups: list[DoubtGroupOut] = Field(description="The oldest doubt first.")
