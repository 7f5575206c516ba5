"""What callers get: receipts, mails, and pages of mails."""

from dataclasses import asdict
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from postledger.deliveries import mails, search
from postledger.deliveries.states import State
from postledger.lib import ids
from postledger.lib.ids import DeliveryId
from postledger.transactional.values import Answer
from postledger.web.api import cursors

_ID = DeliveryId(ids.first_stream_of(322) + 7, 42).text()
_LINKS = {"self": f"/v1/email/{_ID}"}


def _links(id_: str) -> dict[str, str]:
    return {"self": f"/v1/email/{id_}"}


class TakenMail(BaseModel):
    """A mail that was taken: it is stored, and what becomes of it can be asked for."""

    id: str = Field(examples=[_ID])
    outbox_id: str = Field(description="The same as id.", examples=[_ID])
    job_id: str = Field(description="The same as id.", examples=[_ID])
    state: State = State.WAITING
    status: str = Field(default="RECEIVED", examples=["RECEIVED"])
    links: dict[str, str] = Field(examples=[_LINKS])


class Taken(TakenMail):
    request_id: str = Field(description="Of the request under which the mail was first taken.")


class TakenBatch(BaseModel):
    """The mails of a batch, in the order in which they were sent."""

    request_id: str
    mails: list[TakenMail]


def taken(answer: Answer) -> Taken:
    [id_] = answer.ids
    return Taken(id=id_, outbox_id=id_, job_id=id_, links=_links(id_), request_id=answer.request_id)


def taken_batch(answer: Answer) -> TakenBatch:
    return TakenBatch(
        request_id=answer.request_id,
        mails=[
            TakenMail(id=id_, outbox_id=id_, job_id=id_, links=_links(id_)) for id_ in answer.ids
        ],
    )


class FoundMail(BaseModel):
    """A mail in a list."""

    id: str = Field(examples=[_ID])
    to: str
    subject: str
    state: State
    status: str
    code: str | None
    attempts: int
    tags: list[str]
    request_id: str
    created_at: datetime
    settled_at: datetime | None
    links: dict[str, str] = Field(examples=[_LINKS])


class FoundPage(BaseModel):
    """Some mails, newest first; while next is not null there may be more, even after none."""

    mails: list[FoundMail]
    next: str | None = Field(description="Send it as cursor to go on.")


def page(found: search.Page) -> FoundPage:
    return FoundPage(
        mails=[_found(mail) for mail in found.mails],
        next=cursors.write(found.after) if found.after else None,
    )


def _found(mail: search.Mail) -> FoundMail:
    id_ = DeliveryId(mail.stream_id, mail.position).text()
    facts = {"id": id_, "to": mail.address, "created_at": mail.planned_at, "links": _links(id_)}
    return FoundMail.model_validate(asdict(mail) | facts)


class TimelineEvent(BaseModel):
    """One step on a mail's way."""

    model_config = ConfigDict(from_attributes=True)

    type: str = Field(examples=["SENT_ATTEMPT"])
    at: datetime
    metadata: dict[str, object]


class WaitingMail(BaseModel):
    """Why a mail has no result yet."""

    model_config = ConfigDict(from_attributes=True)

    reason: str = Field(examples=["scheduled"])
    why: str = Field(examples=["it is planned for later"])
    since: datetime
    until: datetime | None = Field(description="When it will move, where that is known.")
    moved_by: str = Field(description="What will move it.", examples=["its time comes"])


class WholeMail(BaseModel):
    """Everything that is known of one mail."""

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
    message_id: str | None = Field(description="The provider's own name for the mail.")
    error_code: str | None
    error_reason: str | None
    attempts: int
    duration_ms: int | None
    created_at: datetime
    sent_at: datetime | None
    failed_at: datetime | None
    waiting: WaitingMail | None
    timeline: list[TimelineEvent]
    links: dict[str, str] = Field(examples=[_LINKS])


def whole(id_: str, mail: mails.Mail) -> WholeMail:
    names = {"id": id_, "outbox_id": id_, "job_id": id_, "links": _links(id_)}
    told = {"waiting": mail.waiting, "timeline": mail.timeline}
    return WholeMail.model_validate({**asdict(mail.facts), **names, **told})
