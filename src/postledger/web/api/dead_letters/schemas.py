"""Dead letters as callers send and get them."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, model_validator

from postledger.deliveries.attention.dead_letters import Cause
from postledger.deliveries.entries import AttemptOutcome, StreamKind
from postledger.web.api.common.decisions import TITLE, TRY_ID, MailIds, StreamNumber
from postledger.web.api.common.fields import Line
from postledger.web.api.common.pagination import MailKeyText, NextCursor, PageQuery
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

Code = Annotated[Line, Field(min_length=1, examples=["550 5.1.1"])]


class DeadLettersQuery(PageQuery):
    code: Code | None = Field(default=None, description="Only those with this code.")
    outcome: AttemptOutcome | None = Field(default=None, description="Only those of this outcome.")
    stream_id: StreamNumber | None = Field(default=None, description="Only those of this stream.")
    cursor: MailKeyText | None = Field(default=None, description="`next` of the previous page.")

    def cause(self) -> Cause:
        return Cause(self.code, self.outcome, self.stream_id)


class DeadLetterChoiceIn(RequestSchema):
    """Some dead letters, or those of a cause, 1,000 in one request."""

    ids: MailIds | None = Field(default=None, description="Some mails, by `id` or `try_id`.")
    code: Code | None = Field(default=None, description="All dead letters with this code.")
    outcome: AttemptOutcome | None = Field(
        default=None, strict=False, description="With `code`: only those of this outcome."
    )
    stream_id: StreamNumber | None = Field(
        default=None, description="With `code`: only those of this stream."
    )
    cursor: MailKeyText | None = Field(
        default=None, description="`next` of the previous answer, with `code`."
    )

    @model_validator(mode="after")
    def _refuse_both(self) -> Self:
        if (self.ids is None) == (self.code is None):
            raise ValueError("give ids or code, one of the two")
        narrower = (self.outcome, self.stream_id, self.cursor)
        if self.code is None and any(value is not None for value in narrower):
            raise ValueError("outcome, stream_id and cursor go with a code")
        return self

    def cause(self) -> Cause:
        return Cause(self.code, self.outcome, self.stream_id)


class DeadLetterOut(ResponseSchema):
    """One mail that was given up and asks for a person."""

    id: str
    try_id: str = Field(description=TRY_ID)
    stream_id: int
    kind: StreamKind
    title: str | None = Field(description=TITLE)
    address: str
    attempts: int
    outcome: AttemptOutcome
    code: str
    detail: str
    since: datetime


class DeadLetterPage(ResponseSchema):
    """In the order of streams, the oldest first."""

    dead_letters: list[DeadLetterOut]
    next: NextCursor


class DeadLetterCauseOut(ResponseSchema):
    """The dead letters of one cause, and what to do."""

    outcome: AttemptOutcome
    code: str
    count: int
    since: datetime = Field(description="Of the first of them.")
    example: str = Field(description="What the provider, or the check before it, said.")
    remedy: str


class DeadLetterCauses(ResponseSchema):
    causes: list[DeadLetterCauseOut] = Field(description="The most frequent first.")
