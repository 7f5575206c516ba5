"""Judges what SES reports of the mail that is sent with a configuration set; pure."""

from collections.abc import Sequence

from postledger.lib.check_results import Level
from postledger.providers.base import Finding
from postledger.providers.http.reading import Obstacle, Unread
from postledger.providers.ses import findings
from postledger.providers.ses.documents import EventDestinationsState
from postledger.providers.ses.events import event_documents

_CREATE = "Run postledger ses connect for this account with --create."


def judge_destinations(name: str, state: EventDestinationsState | Unread) -> Finding:
    if isinstance(state, Unread):
        thing = f"the event destinations of {name}"
        is_denied = state.obstacle is Obstacle.DENIED
        return findings.denied("events", thing) if is_denied else _unsaid(name, state)
    destinations = state.event_destinations
    tracked = event_documents.list_tracking_types(destinations)
    if tracked:
        return _tracked(name, tracked)
    missing = event_documents.list_missing_types(destinations)
    if not missing:
        types = event_documents.name_types(event_documents.EVENT_TYPES)
        return Finding("events", Level.OK, f"SES reports {types}.")
    if len(missing) == len(event_documents.EVENT_TYPES):
        message = f"SES reports nothing of mail with {name}: no bounce is known, no doubt ends."
    else:
        message = f"SES does not report {event_documents.name_types(missing)} of mail with {name}."
    return Finding("events", Level.WARNING, message, _CREATE)


def _tracked(name: str, types: Sequence[str]) -> Finding:
    return Finding(
        "events",
        Level.WARNING,
        f"SES rewrites the links of mail with {name}, because an event destination asks for"
        f" {event_documents.name_types(types)}.",
        "Remove these events in the console: Configuration sets, the set, Event destinations.",
    )


def _unsaid(name: str, unread: Unread) -> Finding:
    return findings.unsaid("events", f"the event destinations of {name}", unread)
