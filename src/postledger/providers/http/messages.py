"""A request, its answer, and the parser between bytes and answers; it reads no socket."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import h11

MAX_HEAD = 64 * 1024
MAX_BODY = 256 * 1024
MAX_INTERIM = 16  # answers of 1xx before the answer itself
_MAX_DETAIL = 200
_TARGET = re.compile(r"[!-~]+")
_HEADER = re.compile(r"[A-Za-z0-9-]+: [!-~](?:[ -~]*[!-~])?")


@dataclass(frozen=True, slots=True)
class Request:
    """Its headers are complete except for Content-Length."""

    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def to_bytes(self) -> bytes:
        """Raises ValueError for a target or a header that could end its line, or the head."""
        if not _TARGET.fullmatch(self.target):
            raise ValueError("the target has a character that targets cannot have")
        lines = [f"{name}: {value}" for name, value in self.headers]
        for (name, _), line in zip(self.headers, lines, strict=True):
            if not _HEADER.fullmatch(line):
                # Without its value, which may be a token.
                raise ValueError(f"the header {name!r} has a character that headers cannot have")
        start = f"{self.method} {self.target} HTTP/1.1"
        head = [start, *lines, f"Content-Length: {len(self.body)}"]
        return b"%b\r\n\r\n%b" % ("\r\n".join(head).encode(), self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer; header names are in lowercase, and the first of equal ones counts."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_early: bool = False  # it came before the request had ended: the service lacks its last byte


class GarbledError(Exception):
    """The bytes are no answer, or no end of one is in sight."""


class AnswerParser:
    """Turns the bytes that come after a request into its answer, of at most so many bytes.

    Without `reads_body` an answer is complete with its head, however long its body is.
    """

    def __init__(self, most_bytes: int = MAX_BODY, *, reads_body: bool = True) -> None:
        self._most_bytes = most_bytes
        self._reads_body = reads_body
        self._h11: h11.Connection | None = None  # one for each request
        self._has_ended = False  # the request
        self._head: h11.Response | None = None
        self._body: list[bytes] = []
        self._body_size = 0
        self._interim_count = 0
        self.answer: Answer | None = None

    @property
    def has_head(self) -> bool:
        return self._head is not None

    @property
    def can_follow(self) -> bool:
        """Whether request and answer are over, and another request may follow."""
        if self._h11 is None or not self._has_ended:
            return False
        return self._h11.their_state is h11.DONE and not self._h11.trailing_data[0]

    @property
    def is_quiet(self) -> bool:
        """Whether no byte is here of an answer to the present or the next request."""
        has_bytes = self._h11 is not None and bool(self._h11.trailing_data[0])
        return self.can_follow or (self._head is None and not has_bytes)

    def begin_request(self, request: Request) -> None:
        """Expects the answer to a request; the previous one is over."""
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        # All that it needs to know, because the method decides how an answer ends.
        self._h11.send(_expected_request(request.method))
        self._has_ended = False
        self._head, self.answer = None, None
        self._body, self._body_size, self._interim_count = [], 0, 0

    def end_request(self) -> None:
        """What comes from now on is no early answer."""
        self._has_ended = True

    def feed(self, data: bytes) -> None:
        """Reads on; no bytes mean that the service has closed its side."""
        if self._h11 is None or self.answer is not None:
            raise GarbledError("the service spoke before it was asked")
        try:
            self._h11.receive_data(data)
            while self.answer is None and self._take(self._h11.next_event()):
                pass
        except h11.RemoteProtocolError as error:
            raise GarbledError(str(error)[:_MAX_DETAIL]) from None

    def _take(self, event: object) -> bool:
        """Whether more may follow from the bytes that are here."""
        match event:
            case h11.InformationalResponse():
                self._interim_count += 1
                if self._interim_count > MAX_INTERIM:
                    raise GarbledError("interim answers, and none of them the answer")
            case h11.Response():
                self._head = event
                if not self._reads_body:
                    self._complete()
                    return False
            case h11.Data(data=data):
                self._body.append(bytes(data))
                self._body_size += len(data)
                if self._body_size > self._most_bytes:
                    raise GarbledError(f"the answer is longer than {self._most_bytes} bytes")
            case h11.EndOfMessage():
                self._complete()
                return False
            case _:
                return False
        return True

    def _complete(self) -> None:
        if self._head is None:
            raise GarbledError("the answer has no head")
        headers = self._head.headers
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
        self.answer = Answer(
            self._head.status_code,
            dict(reversed(pairs)),
            b"".join(self._body),
            is_early=not self._has_ended,
        )


@cache
def _expected_request(method: str) -> h11.Request:
    return h11.Request(method=method, target="/", headers=[("Host", "any")])
