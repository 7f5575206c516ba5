"""The sandbox's addresses, and its events: how they are written, and how they are read."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from pydantic_core import from_json

from postledger.providers.base import EventKind, OutgoingMessage, ProviderEvent


class Behaviour(StrEnum):
    """The word before the @, or before a + in it, as in refuse+17@example.com."""

    REFUSE = "refuse"  # refused for good
    LATER = "later"  # asked to try later
    THROTTLE = "throttle"  # too fast
    BLOCK = "block"  # the sender is refused
    BROKEN = "broken"  # the connection breaks before anything is taken
    VANISH = "vanish"  # taken, and then the answer is lost
    SLOW = "slow"  # taken after a while
    HANG = "hang"  # taken at once, not answered; given up after a while


# Accepted, and then reported as this instead of delivered.
REPORTS = {
    "bounce": EventKind.BOUNCED,
    "softbounce": EventKind.SOFT_BOUNCED,
    "complaint": EventKind.COMPLAINED,
    "unsubscribe": EventKind.UNSUBSCRIBED,
    "drop": EventKind.DROPPED,
    "open": EventKind.OPENED,
    "click": EventKind.CLICKED,
}

_BEHAVIOURS = {str(behaviour): behaviour for behaviour in Behaviour}


def find_behaviour(address: str) -> Behaviour | None:
    return _BEHAVIOURS.get(_word(address))


def find_report(address: str) -> EventKind:
    """The event that follows the acceptance of a mail to this address."""
    return REPORTS.get(_word(address), EventKind.DELIVERED)


def _word(address: str) -> str:
    return address.partition("@")[0].partition("+")[0].lower()


type _Payload = Mapping[str, object]

_KINDS = {str(kind): kind for kind in EventKind}
_CODES = {EventKind.BOUNCED: "5.1.1", EventKind.SOFT_BOUNCED: "4.2.2"}
# In the words of SES, which the rules of feedback know.
_BOUNCES = {
    EventKind.BOUNCED: ("Permanent", "NoEmail"),
    EventKind.SOFT_BOUNCED: ("Transient", "MailboxFull"),
}
_LONGEST_TEXT = 500


MESSAGE_ID_PREFIX = "sandbox-"


def message_id(message: OutgoingMessage) -> str:
    return f"{MESSAGE_ID_PREFIX}{message.id}"


def write_events(taken: Sequence[OutgoingMessage], *, at: datetime) -> str:
    """Two events for each mail, as a JSON array: its acceptance, and the report of its address."""
    moment = at.isoformat()
    payloads = [
        {
            "event": str(kind),
            "reference": message.reference,
            "message_id": message_id(message),
            "address": message.recipient,
            "at": moment,
            "code": _CODES.get(kind, ""),
        }
        for message in taken
        for kind in (EventKind.ACCEPTED, find_report(message.recipient))
    ]
    return json.dumps(payloads)


def parse_events(_headers: Mapping[str, str], body: bytes) -> list[ProviderEvent]:
    payloads = from_json(body, allow_inf_nan=False)
    if not isinstance(payloads, list) or not all(isinstance(item, dict) for item in payloads):
        raise ValueError("the body is not an array of events")
    return [_parse(payload) for payload in payloads]


def _parse(payload: _Payload) -> ProviderEvent:
    name = _text(payload, "event")
    kind = _KINDS.get(name, EventKind.UNKNOWN)
    bounce_type, bounce_subtype = _BOUNCES.get(kind, ("", ""))
    return ProviderEvent(
        kind=kind,
        name=name,
        key=f"{_text(payload, 'reference')} {name}",
        reference=_text(payload, "reference") or None,
        provider_id=_text(payload, "message_id") or None,
        address=_text(payload, "address") or None,
        at=_moment(_text(payload, "at")),
        code=_text(payload, "code"),
        bounce_type=bounce_type,
        bounce_subtype=bounce_subtype,
    )


def _text(payload: _Payload, field: str) -> str:
    value = payload.get(field, "")
    if not isinstance(value, str):
        return ""
    return value[:_LONGEST_TEXT].replace("\0", "\N{REPLACEMENT CHARACTER}")


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
