"""One HTTP request and one answer, as values; the bytes of an answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import unquote

from postledger.fakes.ses.errors import SesError

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


def answer_document(document: object, request_id: str, status: int = 200) -> Answer:
    body = json.dumps(document).encode()
    return Answer(status, body, headers={"x-amzn-RequestId": request_id})


def answer_error(error: SesError, request_id: str) -> Answer:
    headers = {"x-amzn-RequestId": request_id, "x-amzn-ErrorType": error.name}
    return Answer(error.status, json.dumps({"message": error.message}).encode(), headers=headers)
