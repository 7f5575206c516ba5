"""What the events of a mail say about it; small enough to wait in memory by the ten thousand."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tools.fakes.events import event_books
from tools.fakes.events.event_books import EventBooks
from tools.fakes.ses.events.outcomes import Outcome, Report, list_reports
from tools.fakes.ses.mail import Accepted

MAX_HEAD = 10_000  # longer headers are cut


@dataclass(frozen=True, slots=True)
class ReportedMail:
    message_id: str
    at: datetime
    sender: str
    recipients: tuple[str, ...]
    tags: tuple[tuple[str, str], ...]
    configuration_set: str
    outcomes: tuple[Outcome, ...]
    head: bytes = b""  # the headers of the message, as they came
    is_head_cut: bool = False

    def list_reports(self) -> list[Report]:
        return list_reports(self.recipients, self.outcomes)

    def parse_headers(self) -> list[tuple[str, str]]:
        """The headers, unfolded; without any, those that every mail has."""
        if not self.head:
            return [("From", self.sender), ("To", ", ".join(self.recipients))]
        text = self.head.decode("utf-8", "replace").replace("\r\n", "\n")
        lines = text.replace("\n ", " ").replace("\n\t", " ").split("\n")
        pairs = (line.partition(":") for line in lines)
        return [(name, value.strip()) for name, colon, value in pairs if colon]


def from_accepted(accepted: Accepted) -> ReportedMail:
    raw = accepted.mail.raw
    end = raw.find(b"\r\n\r\n" if b"\r\n" in raw[:1000] else b"\n\n")
    end = len(raw) if end < 0 else end
    return ReportedMail(
        message_id=accepted.message_id,
        at=accepted.at,
        sender=accepted.mail.senders[0],
        recipients=accepted.mail.recipients,
        tags=accepted.mail.tags,
        configuration_set=accepted.configuration_set,
        outcomes=tuple(Outcome(name) for name in accepted.outcomes),
        head=raw[: min(end, MAX_HEAD)],
        is_head_cut=end > MAX_HEAD,
    )


def from_entry(entry: Mapping[str, Any]) -> ReportedMail:
    """As the journal has it: without the headers."""
    return ReportedMail(
        message_id=entry["message_id"],
        at=datetime.fromisoformat(entry["time"]),
        sender=entry["from"],
        recipients=tuple(entry["destination"]),
        tags=tuple(entry["tags"].items()),
        configuration_set=entry["configuration_set"],
        outcomes=tuple(Outcome(name) for name in entry["outcomes"]),
    )


def read_books(path: Path) -> EventBooks[ReportedMail]:
    """What a journal says about the events of each mail."""
    return event_books.read(path, from_entry)
