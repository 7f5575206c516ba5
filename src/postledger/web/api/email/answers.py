"""Mails as callers get them: accepted, found and in full."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import (
    Field,
)

from postledger.deliveries.entries import HoldScope
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib import ids
from postledger.lib.ids import DeliveryId
from postledger.transactional.requests import (
    MailWarning,
)
from postledger.web.api.common.schemas import ResponseSchema

_ID = DeliveryId(ids.first_stream_of(322) + 7, 42).text()
_LINKS = {"self": f"/v1/email/{_ID}"}
_ERROR_CODE = "The code of the last error that still counts."


class WarningOut(ResponseSchema):
    """Something that is probably a mistake; the mail is sent nevertheless."""

    place: str = Field(validation_alias="field", examples=["template.variables.nmae"])
    code: str = Field(description="Never changes its meaning.", examples=["unknown_variable"])
    detail: str


class AcceptedMail(ResponseSchema):
    """A mail that is stored and will be sent."""

    id: str = Field(examples=[_ID])
    outbox_id: str = Field(description="The same as id.", examples=[_ID])
    job_id: str = Field(description="The same as id.", examples=[_ID])
    state: State = State.WAITING
    status: str = Field(default="RECEIVED", examples=["RECEIVED"])
    warnings: list[WarningOut]
    links: dict[str, str] = Field(examples=[_LINKS])


class AcceptedRequest(AcceptedMail):
    request_id: str = Field(description="Of the request that first sent the mail.")


class AcceptedBatch(ResponseSchema):
    """The mails of a batch, in the order of the request."""

    request_id: str
    mails: list[AcceptedMail]


def id_fields(mail_id: str) -> dict[str, Any]:
    links = {"self": f"/v1/email/{mail_id}"}
    return {"id": mail_id, "outbox_id": mail_id, "job_id": mail_id, "links": links}


def accepted_fields(mail_id: str, warnings: Sequence[MailWarning]) -> dict[str, Any]:
    shown = [WarningOut.model_validate(warning) for warning in warnings]
    return {**id_fields(mail_id), "warnings": shown}


class FoundMail(ResponseSchema):
    """A mail in a list."""

    id: str = Field(examples=[_ID])
    to: str = Field(validation_alias="address")
    subject: str
    state: State
    status: str
    error_code: str | None = Field(validation_alias="code", description=_ERROR_CODE)
    attempts: int
    tags: list[str]
    request_id: str
    created_at: datetime = Field(validation_alias="planned_at")
    settled_at: datetime | None
    links: dict[str, str] = Field(examples=[_LINKS])


class MailPage(ResponseSchema):
    """Mails, the newest first. An empty page may have a `next`."""

    mails: list[FoundMail]
    next: str | None = Field(description="The `cursor` of the next page; null at the end.")


class TimelineEvent(ResponseSchema):
    """One step on the way of a mail."""

    type: str = Field(examples=["SENT_ATTEMPT"])
    at: datetime
    metadata: dict[str, object] = Field(
        description="What is known of the step: the number of its `try`, and of a result `outcome`,"
        " `is_counted`, `error_code`, `error_category`, `error_reason`, `original_code` (the"
        " provider's own name for the error), `message_id`, `duration_ms`, `will_retry`,"
        " `next_try`, `backoff_ms`.",
        examples=[{"try": 1}],
    )


class MailHoldOut(ResponseSchema):
    """One cause that holds the mail."""

    scope: HoldScope = Field(description="What is held: its stream, its sender or the account.")
    reason: Reason
    why: str
    since: datetime
    until: datetime | None = Field(description="When it ends by itself.")
    moved_by: str = Field(description="What will end it.")


class WaitingMail(ResponseSchema):
    """Why a mail has no result yet."""

    reason: str = Field(examples=["scheduled"])
    why: str = Field(examples=["it is scheduled for later"])
    since: datetime
    until: datetime | None = Field(description="When it will move, if that is known.")
    moved_by: str = Field(description="What will move it.", examples=["its time comes"])
    fails_at: datetime | None = Field(
        description="The provider refuses the sender: if nobody acts, the mail fails from then on."
    )
    holds: list[MailHoldOut] = Field(
        description="Everything that holds it, first what ends last; the mail goes on when all"
        " have ended."
    )


class MailOut(ResponseSchema):
    """One mail with its history."""

    id: str = Field(examples=[_ID])
    outbox_id: str
    job_id: str
    request_id: str
    sender: str
    to: str
    recipient_id: int | None
    subject: str
    tags: list[str]
    is_test: bool
    state: State
    status: str
    message_id: str | None = Field(description="The provider's id of the mail.")
    error_code: str | None = Field(description=_ERROR_CODE)
    error_reason: str | None
    attempts: int = Field(description="Tries that the retry policy counts.")
    last_try: int = Field(description="The number of the last try; 0 before the first.")
    duration_ms: int | None = Field(description="Of the last try.")
    created_at: datetime
    settled_at: datetime | None = Field(description="When it got its state.")
    sent_at: datetime | None
    failed_at: datetime | None
    waiting: WaitingMail | None
    timeline: list[TimelineEvent]
    events: str | None = Field(
        description="Of a mail in doubt: whether events of its sender arrive, and how soon. An"
        " event proves that the provider took the mail; that none came proves nothing.",
        examples=["events of this sender arrive, 99.9 % within 1 minute; none after 7 minutes"],
    )
    links: dict[str, str] = Field(examples=[_LINKS])
