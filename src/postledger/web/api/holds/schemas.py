"""Held senders and streams as callers get them."""

from datetime import datetime

from pydantic import Field

from postledger.deliveries.entries import StreamKind
from postledger.lib.check_results import Level
from postledger.web.api.common.decisions import TITLE
from postledger.web.api.common.pagination import NextCursor
from postledger.web.api.common.schemas import ResponseSchema


class HoldCauseOut(ResponseSchema):
    """One cause of a hold."""

    code: str = Field(description="Never changes its meaning.", examples=["sender_blocked"])
    sentence: str
    since: datetime | None
    until: datetime | None = Field(description="Null if a person ends it.")
    resumed_by: str = Field(description="What will end it.")
    advice: str = Field(description="What a person can do.")
    fails_at: datetime | None = Field(
        description="From then on mail that is due fails if nobody acts."
    )


class HeldSenderOut(ResponseSchema):
    id: int
    address: str
    account_id: int | None
    waiting: int = Field(description="Mails that wait for it.")
    causes: list[HoldCauseOut] = Field(description="First the one that ends last.")


class HeldSenders(ResponseSchema):
    senders: list[HeldSenderOut] = Field(description="By address.")


class HeldStreamOut(ResponseSchema):
    """A stream that a person, the guard or its content holds."""

    id: int
    kind: StreamKind
    title: str | None = Field(description=TITLE)
    waiting: int = Field(description="Mails that wait for it.")
    causes: list[HoldCauseOut] = Field(description="First the one that ends last.")


class HeldStreamPage(ResponseSchema):
    """The oldest stream first."""

    streams: list[HeldStreamOut]
    next: NextCursor


class Released(ResponseSchema):
    is_released: bool = Field(description="False if it was not held.")


class SenderFindingOut(ResponseSchema):
    """What a check of a sender's account has found."""

    subject: str
    level: Level = Field(description="With a `problem` no mail is sent.")
    message: str
    remedy: str


class SenderTest(ResponseSchema):
    works: bool = Field(description="Whether no finding is a problem.")
    findings: list[SenderFindingOut]
