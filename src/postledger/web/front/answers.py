"""Runs a request through Django, and sends what Django answers."""

from asyncio import AbstractEventLoop, get_running_loop, run_coroutine_threadsafe
from codecs import lookup
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from time import monotonic
from typing import Any, override

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.db import close_old_connections
from django.http import FileResponse, StreamingHttpResponse

from postledger.web.front.arrival import Message, seconds_allowed
from postledger.web.front.refusals import RequestRefusedError, UnreadableError
from postledger.web.front.threads import Threads
from postledger.web.shared.bodies import BodyWanted

type Headers = list[tuple[bytes, bytes]]
type Send = Callable[[Message], Awaitable[None]]

# Each has a thread and a database connection for as long as its client reads.
_STREAMS_AT_ONCE = 4
_STREAMS_OF_ONE = 2

# Others take quadratic time, or decode no text at all.
_ENCODINGS = {"utf-8", "ascii", "iso8859-1", "cp1252"}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Headers
    body: bytes = b""
    path: str = ""  # of a file that is sent in place of the body
    stream: StreamingHttpResponse | None = None


def refuse(refusal: RequestRefusedError) -> Answer:
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        # What is left of the body is not read.
        (b"connection", b"close"),
    ]
    if refusal.status in {429, 503}:
        headers.append((b"retry-after", b"1"))
    return Answer(refusal.status, headers, f"{refusal.text}\n".encode())


class _Request(WSGIRequest):
    """A request whose headers can be read. Otherwise views would fail, and Django before them."""

    @override
    def __init__(self, environ: dict[str, Any]) -> None:
        try:
            super().__init__(environ)
            if ";" in environ.get("HTTP_ACCEPT", ""):
                _ = self.accepted_types  # kept for the view
            _refuse_odd_encoding(self.encoding)
        except Exception as error:  # noqa: BLE001  of parsers that Django borrows
            # Not its text, which quotes the request.
            raise UnreadableError(type(error).__name__) from None


def _refuse_odd_encoding(encoding: str | None) -> None:
    if encoding and lookup(encoding).name not in _ENCODINGS:
        raise LookupError


class _Handler(WSGIHandler):
    request_class = _Request


class Django:
    """Django's synchronous handler, which a thread calls."""

    def __init__(self) -> None:
        self._handler = _Handler()

    def answer(self, environ: dict[str, Any]) -> Answer:
        try:
            response = self._handler(environ, _ignore_head)
        except BodyWanted:
            _give_connections_back()
            raise
        status = response.status_code
        headers = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in response.items()
        ]
        headers += [
            (b"set-cookie", cookie.OutputString().encode("latin-1"))
            for cookie in response.cookies.values()
        ]
        if isinstance(response, StreamingHttpResponse):
            return _streamed(response, status, headers)
        body = response.content  # type: ignore[attr-defined]  # every other response has it
        response.close()
        return Answer(status, headers, body)


def _streamed(response: StreamingHttpResponse, status: int, headers: Headers) -> Answer:
    if isinstance(response, FileResponse) and response.file_to_stream is not None:
        path = str(response.file_to_stream.name)
        response.close()
        return Answer(status, headers, path=path)
    _give_connections_back()
    return Answer(status, headers, stream=response)


def _give_connections_back() -> None:
    """As the end of a request would, in this thread: others may wait for a connection."""
    close_old_connections()


def _ignore_head(_status: str, _headers: object, _error: object = None, /) -> Any:
    """WSGI passes the head of an answer here; the response has it too."""


class Sender:
    """Sends answers. A slow reader of a stream takes no thread from other requests."""

    def __init__(self) -> None:
        self._threads = Threads("stream", _STREAMS_AT_ONCE, most_of_one=_STREAMS_OF_ONE)

    async def send(self, answer: Answer, send: Send, caller: Hashable = None) -> None:
        if answer.stream is not None:
            await self._send_stream(answer, answer.stream, send, caller)
            return
        await send(_start(answer))
        if answer.path:
            await send({"type": "http.response.pathsend", "path": answer.path})
        else:
            await send(_block(answer.body, is_last=True))

    async def _send_stream(
        self, answer: Answer, stream: StreamingHttpResponse, send: Send, caller: Hashable
    ) -> None:
        loop = get_running_loop()
        try:
            await self._threads.run(caller, lambda: _pump(_start(answer), stream, send, loop))
        except RequestRefusedError:
            stream.close()
            raise
        await send(_block(b"", is_last=True))


def _start(answer: Answer) -> Message:
    return {"type": "http.response.start", "status": answer.status, "headers": answer.headers}


def _block(content: bytes, *, is_last: bool) -> Message:
    return {"type": "http.response.body", "body": content, "more_body": not is_last}


def _pump(
    start: Message, stream: StreamingHttpResponse, send: Send, loop: AbstractEventLoop
) -> None:
    """Sends the blocks of a stream as they are made, each once the client has room for it."""
    started, size = monotonic(), 0
    try:
        run_coroutine_threadsafe(_await(send, start), loop).result(seconds_allowed(0))
        for block in stream:
            sent = run_coroutine_threadsafe(_await(send, _block(block, is_last=False)), loop)
            sent.result(timeout=max(0.0, started + seconds_allowed(size) - monotonic()))
            size += len(block)
    finally:
        stream.close()


async def _await(send: Send, message: Message) -> None:
    await send(message)
