"""Reads SendGrid's events: what its event webhook posts, many in one array."""

from collections.abc import Mapping
from datetime import UTC, datetime

from postledger.providers.base import BLOCKED, ON_SUPPRESSION_LIST, EventKind, ProviderEvent
from postledger.providers.event_fields import (
    LONGEST_ADDRESS,
    LONGEST_NAME,
    Document,
    read_text,
    write_key,
)
from postledger.providers.sendgrid import json_array
from postledger.providers.sendgrid.json_array import Unreadable
from postledger.providers.sendgrid.requests import REFERENCE_ARGUMENT

_MOST_EVENTS = 10_000  # a post of 768 KB has some thousands
_LATEST = 2**32  # seconds; in the year 2106

_GROUP_LEFT = "group_unsubscribe"
_KINDS = {
    "processed": EventKind.ACCEPTED,
    "delivered": EventKind.DELIVERED,
    "deferred": EventKind.DEFERRED,
    "bounce": EventKind.BOUNCED,
    "dropped": EventKind.DROPPED,
    "open": EventKind.OPENED,
    "click": EventKind.CLICKED,
    "spamreport": EventKind.COMPLAINED,
    "unsubscribe": EventKind.UNSUBSCRIBED,
    _GROUP_LEFT: EventKind.UNSUBSCRIBED,
    "group_resubscribe": EventKind.PREFERENCES_CHANGED,
}
# Why a mail was dropped, where one of SendGrid's own lists has the address.
_LISTED = frozenset(
    {"bounced address", "unsubscribed address", "spam reporting address", "invalid"}
)
_HARD = "bounce"  # the type of a bounce that is none of a block
_UNREADABLE = "unreadable"


def parse_events(_headers: Mapping[str, str], body: bytes) -> list[ProviderEvent]:
    """Raises ValueError for a body that is no array; an element that is no event is unknown."""
    events: list[ProviderEvent] = []
    for element in json_array.read_elements(body.decode()):
        if len(events) == _MOST_EVENTS:
            raise ValueError(f"the array has more than {_MOST_EVENTS:,} events")
        events.append(_read_element(element))
    return events


def _read_element(element: object) -> ProviderEvent:
    match element:
        case dict():
            return _read_event(element)
        case Unreadable(text=text):
            return _unknown(text)
        case _:
            return _unknown(repr(element))


def _unknown(text: str) -> ProviderEvent:
    return ProviderEvent(EventKind.UNKNOWN, _UNREADABLE, write_key(_UNREADABLE, text))


def _read_event(event: Document) -> ProviderEvent:
    """Custom arguments stand beside SendGrid's own fields; no other than ours is looked at."""
    name = read_text(event, "event", LONGEST_NAME) or _UNREADABLE
    kind, bounce_type, bounce_subtype = _classify(event, name)
    reference = read_text(event, REFERENCE_ARGUMENT)
    address = read_text(event, "email", LONGEST_ADDRESS)
    provider_id = read_text(event, "sg_message_id").partition(".")[0]
    seconds = _read_seconds(event)
    return ProviderEvent(
        kind=kind,
        name=name,
        # Not sg_event_id, which may be another one when a post is repeated.
        key=write_key(
            reference or provider_id, address.lower(), name, str(seconds), _find_url(event)
        ),
        reference=reference or None,
        provider_id=provider_id or None,
        address=address or None,
        at=None if seconds is None else datetime.fromtimestamp(seconds, UTC),
        code=read_text(event, "status", LONGEST_NAME),
        detail=read_text(event, "reason") or read_text(event, "response"),
        bounce_type=bounce_type,
        bounce_subtype=bounce_subtype,
    )


def _classify(event: Document, name: str) -> tuple[EventKind, str, str]:
    """The kind, the type of a bounce and its subtype, in the words of SES."""
    kind = _KINDS.get(name, EventKind.UNKNOWN)
    if name == _GROUP_LEFT and not read_text(event, REFERENCE_ARGUMENT):
        # A group of somebody else's mail: whoever leaves it may still want ours.
        return EventKind.PREFERENCES_CHANGED, "", ""
    if kind is EventKind.BOUNCED:
        subtype = read_text(event, "bounce_classification", LONGEST_NAME)
        if read_text(event, "type") == _HARD:
            return kind, "Permanent", subtype
        return EventKind.SOFT_BOUNCED, BLOCKED, subtype
    is_listed = kind is EventKind.DROPPED and read_text(event, "reason").lower() in _LISTED
    return kind, "", ON_SUPPRESSION_LIST if is_listed else ""


def _read_seconds(event: Document) -> int | None:
    value = event.get("timestamp")
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value < _LATEST else None


def _find_url(event: Document) -> str:
    """What tells two clicks of one second apart."""
    value = event.get("url")
    return value if isinstance(value, str) else ""
