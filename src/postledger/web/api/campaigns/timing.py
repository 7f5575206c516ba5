"""When a campaign is sent, and in which hours of a recipient's day, as callers send and get it."""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from postledger.accounts import working_hours
from postledger.accounts.working_hours import Hours
from postledger.mailing import send_times
from postledger.mailing.send_times import SendTime
from postledger.web.api.common.fields import AnyMoment, Matching
from postledger.web.api.common.schemas import RequestSchema

_LOCAL = r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$"
_CLOCK = "^([01][0-9]|2[0-3]):[0-5][0-9]$"


def _local_time(value: object) -> datetime:
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        time = None
    if time is None or time.tzinfo is not None or time.microsecond:
        raise ValueError("write a time without a zone, such as 2026-01-31T09:00")
    return time


LocalTime = Annotated[
    datetime,
    PlainValidator(_local_time),
    WithJsonSchema({"type": "string", "pattern": _LOCAL, "examples": ["2026-01-31T09:00"]}),
]


class Timing(RequestSchema):
    """When to send; at once by default."""

    at: AnyMoment | None = Field(default=None, description="One moment for all recipients.")
    local_time: LocalTime | None = Field(
        default=None, description="This time in each recipient's own time zone."
    )

    @model_validator(mode="after")
    def _refuse_both(self) -> Self:
        if self.at is not None and self.local_time is not None:
            raise ValueError("give at or local_time, not both")
        return self

    def send_time(self) -> SendTime:
        return SendTime(self.at, self.local_time)


def timing_of(send_time: SendTime) -> Timing:
    return Timing.model_validate(send_times.to_json(send_time))


Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: list[Weekday] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
ClockTime = Annotated[
    str,
    Matching(_CLOCK, "write a time of the day, such as 09:00; midnight is 00:00"),
]


class DeliveryWindow(RequestSchema):
    """The hours of each recipient's own day in which its mail goes.

    One that does not close later than it opens closes on the next day.
    """

    opens: ClockTime = Field(examples=["09:00"])
    closes: ClockTime = Field(examples=["20:00"])
    weekdays: list[Weekday] = Field(
        default=WEEKDAYS,
        min_length=1,
        max_length=len(WEEKDAYS),
        description="The days on which it opens; every day by default.",
    )

    def hours(self) -> Hours:
        span = f"{self.opens}-{self.closes}"
        return working_hours.parse_hours([span], days=",".join(self.weekdays))


def window_of(hours: Hours | None) -> DeliveryWindow | None:
    if hours is None:
        return None
    [(opens, closes)] = hours.spans
    return DeliveryWindow(
        opens=f"{opens:%H:%M}",
        closes=f"{closes:%H:%M}",
        weekdays=[WEEKDAYS[day] for day in hours.weekdays],
    )
