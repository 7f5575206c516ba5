"""Runs a request through Django, and sends what Django answers."""

from asyncio import AbstractEventLoop, get_running_loop, run_coroutine_threadsafe
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.http import FileResponse, StreamingHttpResponse

from postledger.web.front.arrival import Message, seconds_allowed
from postledger.web.front.threads import Threads

type Headers = list[tuple[bytes, bytes]]
type Send = Callable[[Message], Awaitable[None]]

# Each has a thread and a database connection for as long as its client reads.
_STREAMS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Headers
    body: bytes = b""
    path: str = ""  # of a file that is sent in place of the body
    stream: StreamingHttpResponse | None = None


class Django:
    """Django's synchronous handler, which a thread calls."""

    def __init__(self) -> None:
        self._handler = WSGIHandler()

    def answer(self, environ: dict[str, Any]) -> Answer:
        response = self._handler(environ, _ignore_head)
        status = response.status_code
        headers = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in response.items()
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
    return Answer(status, headers, stream=response)


def _ignore_head(_status: str, _headers: object, _error: object = None, /) -> Any:
    """WSGI passes the head of an answer here; the response has it too."""


class Sender:
    """Sends answers. A slow reader of a stream takes no thread from other requests."""

    def __init__(self) -> None:
        self._threads = Threads("stream", _STREAMS_AT_ONCE)

    async def send(self, answer: Answer, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
        )
        if answer.path:
            await send({"type": "http.response.pathsend", "path": answer.path})
            return
        if answer.stream is not None:
            stream, loop = answer.stream, get_running_loop()
            await self._threads.run(lambda: _pump(stream, send, loop))
        await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def _pump(stream: StreamingHttpResponse, send: Send, loop: AbstractEventLoop) -> None:
    """Sends the blocks of a stream as they are made, each once the client has room for it."""
    started, size = monotonic(), 0
    try:
        for block in stream:
            message = {"type": "http.response.body", "body": block, "more_body": True}
            sent = run_coroutine_threadsafe(_await(send, message), loop)
            sent.result(timeout=max(0.0, started + seconds_allowed(size) - monotonic()))
            size += len(block)
    finally:
        stream.close()


async def _await(send: Send, message: Message) -> None:
    await send(message)
