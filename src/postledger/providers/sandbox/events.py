"""The sandbox's own event format: how it is written, and how it is read."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from postledger.providers.base import OutgoingMessage
from postledger.providers.events import Kind, ProviderEvent
from postledger.providers.sandbox import addresses

type Payload = Mapping[str, object]

_KINDS = {str(kind): kind for kind in Kind}
_CODES = {Kind.BOUNCED: "5.1.1", Kind.SOFT_BOUNCED: "4.2.2"}


def message_id(message: OutgoingMessage) -> str:
    return f"sandbox-{message.id}"


def reports(taken: Sequence[OutgoingMessage], *, at: datetime) -> list[Payload]:
    """Two events for each mail: that it was taken, and what became of it."""
    return [
        {
            "event": str(kind),
            "id": message.id,
            "message_id": message_id(message),
            "address": message.recipient,
            "at": at.isoformat(),
            "code": _CODES.get(kind, ""),
        }
        for message in taken
        for kind in (Kind.ACCEPTED, addresses.report(message.recipient))
    ]


def parse(payload: Payload) -> ProviderEvent:
    name = _text(payload, "event")
    return ProviderEvent(
        kind=_KINDS.get(name, Kind.UNKNOWN),
        name=name,
        key=f"{_text(payload, 'id')} {name}",
        raw=payload,
        id=_text(payload, "id") or None,
        provider_id=_text(payload, "message_id") or None,
        address=_text(payload, "address") or None,
        at=_moment(_text(payload, "at")),
        code=_text(payload, "code"),
    )


def _text(payload: Payload, field: str) -> str:
    value = payload.get(field, "")
    return value if isinstance(value, str) else ""


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
