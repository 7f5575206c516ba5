"""What the events of a mail say about it; small enough to wait in memory by the ten thousand."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tools.fakes.events import event_books
from tools.fakes.events.event_books import EventBooks
from tools.fakes.sendgrid.events.outcomes import EVENTS, Outcome, Report
from tools.fakes.sendgrid.mail import Accepted


@dataclass(frozen=True, slots=True)
class ReportedMail:
    message_id: str
    at: datetime
    recipients: tuple[str, ...]
    custom_args: tuple[Mapping[str, str], ...]  # of each recipient
    categories: tuple[str, ...]
    outcomes: tuple[Outcome, ...]

    def list_reports(self) -> list[Report]:
        return [
            Report(event, outcome, place, self.recipients[place])
            for place, outcome in enumerate(self.outcomes)
            for event in EVENTS[outcome]
        ]


def from_accepted(accepted: Accepted) -> ReportedMail:
    return from_entry(accepted.to_entry())


def from_entry(entry: Mapping[str, Any]) -> ReportedMail:
    """As the journal has it."""
    return ReportedMail(
        message_id=entry["message_id"],
        at=datetime.fromisoformat(entry["time"]),
        recipients=tuple(entry["destination"]),
        custom_args=tuple(entry["custom_args"]),
        categories=tuple(entry["categories"]),
        outcomes=tuple(Outcome(name) for name in entry["outcomes"]),
    )


def read_books(path: Path) -> EventBooks[ReportedMail]:
    """What a journal says about the events of each mail."""
    return event_books.read(path, from_entry)
