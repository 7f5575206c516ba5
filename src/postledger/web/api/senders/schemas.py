"""Senders as callers send and get them."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from postledger.accounts import limits, senders, working_hours
from postledger.accounts.limits import LimitChanges
from postledger.accounts.working_hours import Hours
from postledger.lib.ids import LAST_ID
from postledger.web.api.campaigns.timing import WEEKDAYS, Weekday
from postledger.web.api.common.fields import Address, Matching
from postledger.web.api.common.pagination import NextCursor
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]"
Span = Annotated[
    str,
    Matching(f"^{_CLOCK}-({_CLOCK}|24:00)$", "write a span such as 09:00-18:00"),
    Field(examples=["09:00-18:00"]),
]
AccountId = Annotated[int, Field(ge=1, le=LAST_ID)]
Rate = Annotated[float, Field(gt=0, le=limits.FASTEST, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=limits.MOST)]


class WorkingHours(RequestSchema):
    """When bulk mail may go. A span that does not end later than it opens ends on the next day."""

    spans: list[Span] = Field(min_length=1, max_length=working_hours.MOST_SPANS)
    weekdays: list[Weekday] = Field(
        default=WEEKDAYS,
        min_length=1,
        max_length=len(WEEKDAYS),
        description="The days on which spans open; every day by default.",
    )
    zone: str | None = Field(
        default=None,
        max_length=64,
        description="An IANA time zone; that of the workspace by default.",
        examples=["Europe/Berlin"],
    )

    def hours(self) -> Hours:
        days = ",".join(self.weekdays)
        return working_hours.parse_hours(self.spans, days=days, zone=self.zone)


def hours_of(stored: Any) -> WorkingHours | None:
    if stored is None:
        return None
    return WorkingHours(
        spans=[f"{opens}-{closes}" for opens, closes in stored["spans"]],
        weekdays=[WEEKDAYS[day] for day in stored.get("weekdays", working_hours.EVERY_DAY)],
        zone=stored.get("zone"),
    )


SenderName = Annotated[str, Field(max_length=senders.LONGEST_NAME)]


class NewSenderIn(RequestSchema):
    """A From identity. Without an account its mail waits."""

    address: Address
    name: SenderName = Field(default="", description="Shown beside the address.")
    account_id: AccountId | None = Field(default=None, description="Its mail goes through it.")


class SenderChangeIn(RequestSchema):
    """Absent fields do not change; null removes a limit, the hours or the account."""

    name: SenderName = Field(default_factory=lambda: "", description="Shown beside the address.")
    account_id: AccountId | None = Field(default_factory=lambda: None)
    rate_per_second: Rate | None = Field(default_factory=lambda: None)
    rate_per_hour: Count | None = Field(default_factory=lambda: None)
    daily_limit: Count | None = Field(default_factory=lambda: None)
    working_hours: WorkingHours | None = Field(default_factory=lambda: None)

    def limits(self) -> LimitChanges:
        named = self.model_fields_set & LimitChanges.__annotations__.keys()
        changes: LimitChanges = {}
        if "rate_per_second" in named:
            changes["rate_per_second"] = self.rate_per_second
        if "rate_per_hour" in named:
            changes["rate_per_hour"] = self.rate_per_hour
        if "daily_limit" in named:
            changes["daily_limit"] = self.daily_limit
        return changes


class ArchiveIn(RequestSchema):
    # Without the override, which is for who has read the refusal.
    model_config = ConfigDict(json_schema_extra={"examples": [{}]})

    although_mail_waits: bool = Field(
        default=False, description="Archive it although mail waits for it, which is still sent."
    )


class SenderArchiveIn(ArchiveIn):
    """How a sender is archived."""

    default_id: AccountId | None = Field(
        default=None, description="The sender that takes its place if it is the default."
    )


class SenderOut(ResponseSchema):
    id: int
    address: str
    name: str
    account_id: int | None = Field(description="Null: its mail waits.")
    is_default: bool = Field(description="Whether mail that names no sender comes from it.")
    rate_per_second: float | None
    rate_per_hour: int | None
    daily_limit: int | None
    working_hours: Annotated[WorkingHours | None, BeforeValidator(hours_of)]
    created_at: datetime
    archived_at: datetime | None = Field(description="From then on it takes no new mail.")


class SenderPage(ResponseSchema):
    """In the order in which they were created."""

    senders: list[SenderOut]
    next: NextCursor
