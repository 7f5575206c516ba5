"""Fields that every log line of a request has."""

from typing import TypedDict, Unpack
from uuid import UUID

from structlog import contextvars


class Correlation(TypedDict, total=False):
    request_id: str
    workspace_id: int
    outbox_id: UUID | str  # the delivery, as the API names it


def bind(**fields: Unpack[Correlation]) -> None:
    """Puts the fields on every log line until `clear`."""
    contextvars.bind_contextvars(**fields)


def clear() -> None:
    contextvars.clear_contextvars()
