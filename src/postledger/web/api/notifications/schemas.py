"""Schemas of notifications: one event told to one subscription."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from postledger.web.api.common.schemas import ResponseSchema
from postledger.web.api.why.routes import CauseOut

NotificationStatus = Literal["pending", "sent", "skipped", "failed", "expired"]


class NotificationOut(ResponseSchema):
    """A notification, as the view `open_event_notifications` has it, and why it is so."""

    id: int
    event_id: int
    subscription_id: int
    topic: str = Field(description="The topic's key.")
    dedupe_key: str
    status: NotificationStatus
    attempts: int = Field(description="Completed attempts; a requeue begins anew.")
    last_attempt_at: datetime | None
    locked_by: str | None = Field(description="A name for the worker that has it now.")
    locked_at: datetime | None
    error: dict[str, Any] | None = Field(
        description="Sent: the provider's receipt. Pending: the last attempt. Else the cause."
    )
    mail_id: str | None = Field(description="The id of its mail; null if it has none.")
    created_at: datetime
    expires_at: datetime = Field(description="When its time to live ends.")


class ExplainedNotification(NotificationOut):
    causes: list[CauseOut] = Field(
        description="Why it waits, first the cause that ends last; or why it ended."
    )
