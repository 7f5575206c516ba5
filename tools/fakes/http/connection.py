"""One connection of a client: reads requests with h11, and answers them as the fault has it.

The answers are written without h11, because most faults are answers that it would not write.
"""

import asyncio
import socket
import struct
import sys
from collections.abc import Mapping
from typing import Any, Never, assert_never, cast, override

import h11

from tools.fakes.http import control
from tools.fakes.http.control import ControlPath
from tools.fakes.http.exchanges import Answer, Handled, Request
from tools.fakes.http.faults import (
    AnswerBadBody,
    AnswerError,
    AnswerGarbage,
    AnswerGateway,
    AnswerLast,
    CutRequest,
    DelayAnswer,
    DropAnswer,
    End,
    HalveAnswer,
    Moment,
    ResetAtConnect,
    Stage,
    TrickleAnswer,
)
from tools.fakes.http.service import Service

_GARBAGE = b"\x00\x15\xff SSH-2.0-nothing like HTTP\n\n\x00"


class _EndedError(Exception):
    """The connection is over."""


class Connection[S: Service[Any]](asyncio.Protocol):
    def __init__(
        self, service: S, controls: Mapping[str, ControlPath[S]], connections: set["Connection[S]"]
    ) -> None:
        self._service = service
        self._controls = controls
        self._connections = connections
        self._parser = h11.Connection(h11.SERVER)
        self._has_data = asyncio.Event()
        self.is_lost = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)
        if isinstance(self._service.script.choose(Stage.CONNECT), ResetAtConnect):
            self.end(End.RESET)
        else:
            self._task = asyncio.get_running_loop().create_task(self._serve())

    @override
    def data_received(self, data: bytes) -> None:
        self._parser.receive_data(data)
        self._has_data.set()

    @override
    def eof_received(self) -> bool:
        self._parser.receive_data(b"")
        self._has_data.set()
        return True  # the client may still read

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self.is_lost.set()
        if self._task is not None:
            self._task.cancel()

    def end(self, end: End) -> None:
        if end == End.RESET:
            sock: socket.socket = self._transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()
        else:
            self._transport.close()

    async def _serve(self) -> None:
        try:
            while True:
                await self._wait_while_idle()
                request = await self._read_request()
                handled = self._handle(request)
                await self._service.record(handled)
                await self._answer(handled, is_last=_is_last(request))
                self._prepare_next()
        except _EndedError:
            pass
        except h11.RemoteProtocolError as error:
            self._transport.write(Answer(400, str(error).encode(), "text/plain").to_bytes())
        except OSError as error:
            sys.stderr.write(f"A mail was not answered, because it cannot be stored: {error}\n")
        finally:
            self._transport.close()

    async def _wait_while_idle(self) -> None:
        limit = self._service.idle_limit
        if limit is None or self._parser.trailing_data != (b"", False):
            return
        self._has_data.clear()
        try:
            async with asyncio.timeout(limit.draw(self._service.count_idle())):
                await self._has_data.wait()
        except TimeoutError:
            raise _EndedError from None

    async def _read_request(self) -> Request:
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            raise _EndedError
        headers = {name.decode(): value.decode("latin-1") for name, value in head.headers}
        request = Request(head.method.decode(), head.target.decode(), headers)
        if int(headers.get("content-length", 0)) > self._service.max_body:
            self._refuse_large()
        cut = self._service.choose_cut(request)
        if cut is not None and cut.at == Moment.HEAD:
            self._cut(cut.end)
        body = bytearray()
        while isinstance(event := await self._next_event(), h11.Data):
            body += event.data
            if cut is not None:
                self._cut(cut.end)
        request.body = bytes(body)
        return request

    async def _next_event(self) -> object:
        while (event := self._parser.next_event()) is h11.NEED_DATA:
            self._has_data.clear()
            await self._has_data.wait()
        return event

    def _cut(self, end: End) -> Never:
        self.end(end)
        raise _EndedError

    def _refuse_large(self) -> Never:
        self._write(self._service.answer_too_large(), is_last=True)
        raise _EndedError

    def _handle(self, request: Request) -> Handled[Any]:
        if control.is_control(request):
            return control.handle(self._service, self._controls, request)
        return self._service.handle(request)

    async def _answer(self, handled: Handled[Any], *, is_last: bool) -> None:
        answer = handled.answer or Answer(200, b"")
        match handled.fault:
            case None | AnswerError() | ResetAtConnect():
                self._write(answer, is_last=is_last)
            case CutRequest(end=end) | DropAnswer(end=end):
                self._cut(end)
            case AnswerGateway(status=status):
                self._write(_gateway_page(status), is_last=is_last)
            case AnswerGarbage():
                self._transport.write(_GARBAGE)
                raise _EndedError
            case AnswerBadBody(body=body):
                self._write(self._service.answer_badly(body), is_last=is_last)
            case DelayAnswer(seconds=seconds):
                await asyncio.sleep(seconds)
                self._write(answer, is_last=is_last)
            case TrickleAnswer(seconds=seconds):
                await self._trickle(answer.to_bytes(is_last=is_last), seconds)
            case HalveAnswer(end=end):
                await self._halve(answer.to_bytes(is_last=is_last), end)
            case AnswerLast(is_announced=is_announced):
                self._write(answer, is_last=is_announced)
                raise _EndedError
            case other:
                assert_never(other)
        if is_last:
            raise _EndedError

    def _write(self, answer: Answer, *, is_last: bool) -> None:
        self._transport.write(answer.to_bytes(is_last=is_last))

    async def _trickle(self, answer: bytes, seconds: float) -> None:
        for index in range(len(answer)):
            self._transport.write(answer[index : index + 1])
            await asyncio.sleep(seconds)

    async def _halve(self, answer: bytes, end: End | None) -> None:
        self._transport.write(answer[: len(answer) // 2])
        if end is None:
            await asyncio.Event().wait()  # until the client leaves
        else:
            self._cut(end)

    def _prepare_next(self) -> None:
        remaining, has_ended = self._parser.trailing_data
        self._parser = h11.Connection(h11.SERVER)
        if remaining:
            self._parser.receive_data(remaining)
        if has_ended:
            self._parser.receive_data(b"")


def _is_last(request: Request) -> bool:
    return "close" in request.headers.get("connection", "").lower()


def _gateway_page(status: int) -> Answer:
    page = f"<html><head><title>{status}</title></head><body>Bad gateway</body></html>"
    return Answer(status, page.encode(), "text/html")
