"""What the events of any vendor have in common: about which mail they are, and their name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol


class Report(Protocol):
    """One event about a mail."""

    @property
    def key(self) -> tuple[str, str]:
        """Its name, and what tells it from other events of its mail with this name."""

    @property
    def delay(self) -> timedelta:
        """How long after the acceptance it happens."""


class ReportedMail[R: Report](Protocol):
    """What the events of a mail say about it; small enough to wait in memory."""

    @property
    def message_id(self) -> str: ...

    def list_reports(self) -> Sequence[R]: ...


@dataclass(frozen=True, slots=True)
class PendingEvent[M, R]:
    mail: M
    report: R
    number: int  # among all events; what goes wrong with it is drawn by this
    only: frozenset[str] | None = None  # listeners; None: all that there are then
    is_repetition: bool = False
