"""The correlation fields of log lines, from request to provider."""

from typing import TypedDict, Unpack
from uuid import UUID

from structlog import contextvars


class Correlation(TypedDict, total=False):
    request_id: str  # the HTTP request, launch or event that asked for the mail
    outbox_id: UUID | str  # the delivery, as the outside knows it; also the job's id
    workspace_id: int  # the tenant
    recipient: str  # the address; the log shows it masked
    attempt: int  # which try at this delivery
    state: str  # the state the line reports
    duration_ms: int  # how long the reported step took
    provider_message_id: str  # what the provider calls the mail


FIELDS = tuple(Correlation.__annotations__)


def bind(**fields: Unpack[Correlation]) -> None:
    """Puts the fields on every log line until `clear`."""
    contextvars.bind_contextvars(**fields)


def clear() -> None:
    contextvars.clear_contextvars()
