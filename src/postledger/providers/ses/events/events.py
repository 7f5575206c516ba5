"""Reads SES's events: what it reports of a mail through SNS, one event for each recipient."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from pydantic_core import from_json

from postledger.providers.base import EventKind, ProviderEvent
from postledger.providers.event_fields import (
    LONGEST_ADDRESS,
    LONGEST_NAME,
    Document,
    clean_text,
    read_text,
    write_key,
)
from postledger.providers.ses.requests import REFERENCE_TAG

# What SES says once, when a topic is connected; it is no JSON.
_GREETING = b"Successfully validated SNS topic"
_MOST_RECIPIENTS = 50  # as many as SES takes for one mail
_COMPLAINT = "Complaint"

# By name: the kind, the part of the document that describes it, and its list of recipients.
_EVENTS = {
    "Send": (EventKind.ACCEPTED, "send", ""),
    "Delivery": (EventKind.DELIVERED, "delivery", "recipients"),
    "DeliveryDelay": (EventKind.DEFERRED, "deliveryDelay", "delayedRecipients"),
    "Bounce": (EventKind.BOUNCED, "bounce", "bouncedRecipients"),
    _COMPLAINT: (EventKind.COMPLAINED, "complaint", "complainedRecipients"),
    "Reject": (EventKind.DROPPED, "reject", ""),
    "Open": (EventKind.OPENED, "open", ""),
    "Click": (EventKind.CLICKED, "click", ""),
    "Rendering Failure": (EventKind.REFUSED, "failure", ""),
    "Subscription": (EventKind.PREFERENCES_CHANGED, "subscription", ""),
}
_UNKNOWN = (EventKind.UNKNOWN, "", "")


def parse_events(_headers: Mapping[str, str], body: bytes) -> list[ProviderEvent]:
    """Raises ValueError for a text that is no event; SES's greeting to a new topic has none.

    A bounce or a complaint is one event for each recipient that it names, else for the first
    recipient of the mail.
    """
    if body.lstrip().startswith(_GREETING):
        return []
    document = from_json(body, allow_inf_nan=False)
    if not isinstance(document, dict):
        raise ValueError("the event is not a JSON object")  # noqa: TRY004  of the sender
    name = read_text(document, "eventType") or read_text(document, "notificationType")
    if not name:
        raise ValueError("the event has no eventType")
    return list(_read_recipients(document, name))


def _read_recipients(document: Document, name: str) -> Iterator[ProviderEvent]:
    kind, part_name, list_name = _EVENTS.get(name, _UNKNOWN)
    part, mail = _object(document, part_name), _object(document, "mail")
    for recipient in _find_recipients(name, _list(part, list_name), _list(mail, "destination")):
        fields = recipient if isinstance(recipient, dict) else {"emailAddress": recipient}
        yield _read_event(kind, name, part, mail, fields)


def _find_recipients(
    name: str, listed: Sequence[object], destinations: Sequence[object]
) -> Sequence[object]:
    """Whom the event is about; None stands for nobody in particular.

    Of a mail that is complained of, SES lists everybody at the domain: of several, one complained.
    """
    if name == _COMPLAINT and len(listed or destinations) > 1:
        return [None]
    return listed[:_MOST_RECIPIENTS] or destinations[:1] or [None]


def _read_event(
    kind: EventKind, name: str, part: Document, mail: Document, recipient: Document
) -> ProviderEvent:
    address = read_text(recipient, "emailAddress", LONGEST_ADDRESS)
    moment = read_text(part, "timestamp") or read_text(mail, "timestamp")
    provider_id = read_text(mail, "messageId")
    bounce_type = read_text(part, "bounceType", LONGEST_NAME)
    if kind is EventKind.BOUNCED and bounce_type != "Permanent":
        kind = EventKind.SOFT_BOUNCED
    return ProviderEvent(
        kind=kind,
        name=name[:LONGEST_NAME],
        # Of the fact: identity feedback and a configuration set report it in two messages.
        key=write_key(provider_id, name, address.lower(), moment, _find_distinction(part)),
        reference=_find_reference(mail),
        provider_id=provider_id or None,
        address=address or None,
        at=_parse_moment(moment),
        code=read_text(recipient, "status", LONGEST_NAME),
        detail=_find_detail(part, recipient),
        bounce_type=bounce_type,
        bounce_subtype=read_text(part, "bounceSubType", LONGEST_NAME)
        or read_text(part, "complaintSubType", LONGEST_NAME),
        feedback_type=read_text(part, "complaintFeedbackType", LONGEST_NAME),
    )


def _find_detail(part: Document, recipient: Document) -> str:
    return (
        read_text(recipient, "diagnosticCode")
        or read_text(part, "smtpResponse")
        or read_text(part, "delayType")
        or read_text(part, "reason")
        or read_text(part, "errorMessage")
    )


def _find_distinction(part: Document) -> str:
    """What tells two events of one kind and one moment apart."""
    value = part.get("feedbackId") or part.get("link")
    return value if isinstance(value, str) else ""


def _find_reference(mail: Document) -> str | None:
    """The tag that each of our mails has; SES gives every tag as a list."""
    values = _list(_object(mail, "tags"), REFERENCE_TAG)
    return clean_text(values[0]) if values else None


def _object(document: Document, field: str) -> Document:
    value = document.get(field)
    return value if isinstance(value, dict) else {}


def _list(document: Document, field: str) -> list[object]:
    value = document.get(field)
    return value if isinstance(value, list) else []


def _parse_moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None
