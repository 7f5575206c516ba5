"""What the journal says about the events of each mail."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.fakes.events.reports import Report, ReportedMail
from tools.fakes.http import journal

# With these an event ends for all listeners; it is delivered, declined or failed for one.
_LAST_OF_ALL = frozenset(("lost", "unheard"))

type EventKey = tuple[str, str]  # as of a Report


@dataclass(slots=True)
class MailBooks[M: ReportedMail[Any]]:
    """The events of one mail that was accepted while events were published."""

    mail: M
    states: Counter[str] = field(default_factory=Counter)  # of all its events together
    ended: set[EventKey] = field(default_factory=set)  # lost, or nobody listened
    targets: dict[EventKey, set[str]] = field(default_factory=dict)  # listeners
    reached: dict[EventKey, set[str]] = field(default_factory=dict)  # those of them that are done

    @property
    def is_reported(self) -> bool:
        """Whether a listener took at least one of its events."""
        return self.states["delivered"] > 0

    def unfinished(self) -> list[tuple[Report, frozenset[str] | None]]:
        """Events that are not known to have ended, and for which listeners; None: for all."""
        pending: list[tuple[Report, frozenset[str] | None]] = []
        for report in self.mail.list_reports():
            targets = self.targets.get(report.key)
            if report.key in self.ended:
                continue
            if targets is None:
                pending.append((report, None))
            elif missing := targets - self.reached.get(report.key, set()):
                pending.append((report, frozenset(missing)))
        return pending

    def add(self, entry: Mapping[str, Any]) -> None:
        key, state = (entry["event"], entry["about"]), entry["state"]
        self.states[state] += 1
        if state == "published":
            self.targets.setdefault(key, set()).update(entry["listeners"])
        elif state in _LAST_OF_ALL:
            self.ended.add(key)
        else:
            self.reached.setdefault(key, set()).add(entry["listener"])


@dataclass(slots=True)
class EventBooks[M: ReportedMail[Any]]:
    mails: dict[str, MailBooks[M]] = field(default_factory=dict)  # by the vendor's message id
    set_up: Mapping[str, Any] | None = None  # the last one

    @property
    def counts(self) -> Counter[str]:
        """How many events were published, delivered, declined, lost, unheard, and failed."""
        total: Counter[str] = Counter()
        for books in self.mails.values():
            total.update(books.states)
        return total

    def count_unfinished(self) -> int:
        """How many events are still on their way, or were when the fake ended."""
        return sum(len(books.unfinished()) for books in self.mails.values())

    def list_unreported(self) -> list[str]:
        """The message ids of mails none of whose events a listener took."""
        return [name for name, books in self.mails.items() if not books.is_reported]


def read[M: ReportedMail[Any]](
    path: Path, read_mail: Callable[[Mapping[str, Any]], M]
) -> EventBooks[M]:
    """`read_mail` reads the line of a mail in the journal."""
    books = EventBooks[M]()
    for entry in journal.read(path):
        if "set_up" in entry:
            books.set_up = entry["set_up"]
        elif "event" in entry:
            books.mails[entry["mail"]].add(entry)
        elif entry.get("outcomes"):
            books.mails[entry["message_id"]] = MailBooks(read_mail(entry))
    return books
