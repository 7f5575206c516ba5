"""What every vendor's fake has: its faults, its journal, the mails that it accepted.

A vendor adds how a request is decided, and how its answers are written.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

from tools.fakes.http.errors import VendorError
from tools.fakes.http.exchanges import Answer, Handled, Request
from tools.fakes.http.faults import (
    AnswerError,
    BadBody,
    CutRequest,
    IdleLimit,
    Operation,
    Rule,
    Script,
    Stage,
    is_refusal,
)
from tools.fakes.http.journal import Journal
from tools.fakes.http.routing import RouteTable


class Accepted(Protocol):
    """A mail that the vendor took, under its own id."""

    @property
    def message_id(self) -> str: ...
    @property
    def raw(self) -> bytes:
        """The message as it is sent."""

    @property
    def outcomes(self) -> Sequence[str]:
        """What becomes of it for each recipient; none if nobody is told."""

    def to_entry(self) -> Mapping[str, object]:
        """Its line in the journal."""


@dataclass(slots=True, kw_only=True)
class Service[A: Accepted](ABC):
    table: ClassVar[RouteTable[Any, Any]]
    error_type: ClassVar[type[VendorError]]
    max_body: ClassVar[int]  # bytes of a request
    journal: Journal | None = None
    eml_folder: Path | None = None
    script: Script = field(default_factory=Script)
    idle_limit: IdleLimit | None = None
    kept: deque[A] = field(default_factory=lambda: deque(maxlen=100))  # the last mails
    _idle_count: int = 0

    @abstractmethod
    def handle(self, request: Request) -> Handled[A]: ...

    @abstractmethod
    def answer_too_large(self) -> Answer: ...

    @abstractmethod
    def answer_badly(self, body: BadBody) -> Answer:
        """An answer of success that does not name its mail."""

    @abstractmethod
    def write_set_up(self) -> Mapping[str, object]:
        """What a restart must find again."""

    @abstractmethod
    def report(self, accepted: A) -> None:
        """Schedules the events of a mail."""

    @abstractmethod
    def start(self, endpoint: str) -> None:
        """Begins what runs beside requests; others reach the fake at the endpoint."""

    @abstractmethod
    async def stop(self) -> None: ...

    def set_rules(self, rules: Iterable[Rule]) -> None:
        """Replaces the script."""
        self.script = Script(self.check_rules(rules))

    def check_rules(self, rules: Iterable[Rule]) -> tuple[Rule, ...]:
        checked = tuple(rules)
        errors = [rule.fault for rule in checked if isinstance(rule.fault, AnswerError)]
        for error in errors:
            if error.name not in self.error_type.known and not error.status:
                raise ValueError(
                    f"Unknown error “{error.name}”: give it a status, or use its full name"
                )
        return checked

    def count_idle(self) -> int:
        """The number of this wait of an idle connection."""
        self._idle_count += 1
        return self._idle_count

    def choose_cut(self, request: Request) -> CutRequest | None:
        """The fault that a request meets before its body is read."""
        match = self.table.find(request) if self.script.rules else None
        fault = self.script.choose(Stage.HEAD, match[0].operation) if match else None
        return fault if isinstance(fault, CutRequest) else None

    def meet_fault(
        self,
        operation: Operation,
        recipients: Sequence[str],
        decide: Callable[[], Handled[A]],
        answer_error: Callable[[Any], Answer],
    ) -> Handled[A]:
        """Decides about a request, unless its fault refuses it; the vendor's errors are answered.

        The error of a fault is raised.
        """
        fault = self.script.choose(Stage.REQUEST, operation, recipients)
        if isinstance(fault, AnswerError):
            raise self.error_type(fault.name, fault.message, fault.status)
        if fault is not None and is_refusal(fault):
            return Handled(None, fault)
        try:
            return replace(decide(), fault=fault)
        except self.error_type as error:
            return Handled(answer_error(error), fault)

    async def record(self, handled: Handled[A]) -> None:
        """Returns when the journal has what was decided; only then it may be answered."""
        if handled.accepted is not None:
            await self._record_mail(handled.accepted)
        elif handled.is_set_up:
            await self.record_set_up()

    async def record_set_up(self) -> None:
        """Returns when a restart would find what is set up now."""
        if self.journal is not None:
            await self.journal.append({"set_up": self.write_set_up()})

    def note(self, entry: Mapping[str, object]) -> None:
        """Writes a line to the journal soon."""
        if self.journal is not None:
            self.journal.note(entry)

    async def _record_mail(self, accepted: A) -> None:
        """The events of the mail follow, also if the client has left by then."""
        self.kept.append(accepted)
        if self.eml_folder is not None:
            (self.eml_folder / f"{accepted.message_id}.eml").write_bytes(accepted.raw)
        report = partial(self.report, accepted) if accepted.outcomes else None
        if self.journal is not None:
            await self.journal.append(accepted.to_entry(), report)
        elif report is not None:
            report()
