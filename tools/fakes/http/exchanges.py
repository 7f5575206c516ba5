"""One HTTP request and one answer, as values; the bytes of an answer; what a service decided."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import unquote

from tools.fakes.http.faults import Fault

_REASONS = {status.value: status.phrase for status in HTTPStatus}


@dataclass(slots=True)
class Request:
    method: str
    target: str  # path and query, as they came
    headers: Mapping[str, str]  # names in lowercase
    body: bytes = b""  # arrives after the rest

    @property
    def raw_path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def raw_query(self) -> str:
        return self.target.partition("?")[2]

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(unquote(segment) for segment in self.raw_path.split("/")[1:])


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_bytes(self, *, is_last: bool = False) -> bytes:
        """The answer on the wire; `is_last` announces that the connection ends with it."""
        more = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        end = "Connection: close\r\n" if is_last else ""
        head = (
            f"HTTP/1.1 {self.status} {_REASONS.get(self.status, '')}\r\n"
            f"Content-Type: {self.content_type}\r\n"
            f"Content-Length: {len(self.body)}\r\n{more}{end}\r\n"
        )
        return head.encode("ascii") + self.body


@dataclass(frozen=True, slots=True)
class Handled[A]:
    """What is to be done about a request: record, then answer, as the fault has it."""

    answer: Answer | None  # None: the fault leaves nothing to answer
    fault: Fault | None = None
    accepted: A | None = None  # a mail
    is_set_up: bool = False  # something that a restart must not forget
