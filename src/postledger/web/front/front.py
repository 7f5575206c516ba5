"""The application that the server calls: it reads bodies, and Django's threads do the rest.

A thread is taken for a request whose body is there. So neither a slow client nor many of them keep
others from being served, and `/live` answers without a thread.
"""

from asyncio import Semaphore
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing, suppress
from typing import Any
from weakref import WeakValueDictionary

import structlog

from postledger.web.front.answers import Answer, Django, Send, Sender, refuse
from postledger.web.front.arrival import (
    Arrival,
    Arrivals,
    BrokenOffError,
    Receive,
    TooLargeError,
)
from postledger.web.front.environ import Head, read_head
from postledger.web.front.refusals import OverloadedError, RequestRefusedError, TooManyError
from postledger.web.front.threads import Threads
from postledger.web.shared import bodies
from postledger.web.shared.bodies import Body, BodyWanted, UnreadBody

type Scope = Mapping[str, Any]

# Large bodies lie in files while they arrive, and in memory while they are parsed.
_LARGE_AT_ONCE = 32
_LARGE_OF_ONE_KEY = 4

# A file to import is read to its end, which may take a minute: one waits for another, and mail for
# none of them.
_FILES_AT_ONCE = 16
_FILES_OF_ONE_KEY = 2
_FILES_READ_AT_ONCE = 1

EVENT_THREADS = 3
# Strangers can send such bodies until a signature was compared with them, so there are many places,
# and few for one network. A provider's body is here in a moment.
_LARGE_EVENTS_AT_ONCE = 128
_LARGE_EVENTS_OF_ONE_NETWORK = 2

_LIVE = Answer(
    200,
    [
        (b"content-type", b"application/json"),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ],
    b'{"live": true}',
)
_METHOD_NOT_ALLOWED = Answer(405, [(b"allow", b"GET, HEAD")])

_log = structlog.get_logger(__name__)


class Front:
    """An ASGI application."""

    def __init__(self, *, thread_count: int) -> None:
        self._django = Django()
        self._threads = Threads("django", thread_count, most_of_one=max(1, thread_count - 1))
        # Whatever else is asked of this process: an event that is not taken soon is lost.
        self._event_threads = Threads("events", EVENT_THREADS, most_of_one=EVENT_THREADS - 1)
        self._sender = Sender()
        self._arrivals = Arrivals()
        self._large = _LargeBodies(
            _LARGE_AT_ONCE, of_one=_LARGE_OF_ONE_KEY, parsed_at_once=max(1, thread_count // 2)
        )
        self._files = _LargeBodies(
            _FILES_AT_ONCE, of_one=_FILES_OF_ONE_KEY, parsed_at_once=_FILES_READ_AT_ONCE
        )
        self._large_events = _LargeBodies(
            _LARGE_EVENTS_AT_ONCE,
            of_one=_LARGE_EVENTS_OF_ONE_NETWORK,
            parsed_at_once=EVENT_THREADS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["path"] == "/live":
                await self._sender.send(_live(scope), send)
            else:
                await self._serve(read_head(scope), receive, send)
        except RequestRefusedError as refusal:
            _log.info("request_refused", status=refusal.status, cause=refusal.cause)
            await self._sender.send(refuse(_repeatable(refusal, scope["path"])), send)
        except TimeoutError:
            _log.info("stream_given_up")
        except Exception as error:
            # The server answers with 500, and says nothing.
            _log.error("request_failed", error=type(error).__name__)
            raise

    async def _serve(self, head: Head, receive: Receive, send: Send) -> None:
        arrival = Arrival(receive, announced=head.announced)
        answer = await self._ask(head, arrival)
        # A client that waits for leave to send its body has sent nothing.
        if not arrival.is_complete and "HTTP_EXPECT" not in head.environ:
            with suppress(RequestRefusedError), self._arrivals.one_of(head.network):
                await arrival.discard()
        await self._sender.send(answer, send, head.caller)

    async def _ask(self, head: Head, arrival: Arrival) -> Answer:
        largest, announced = bodies.find_largest(head.path), head.announced
        if announced is None or 0 < announced <= min(bodies.SMALL, largest):
            try:
                with self._arrivals.one_of(head.network):
                    await arrival.read(bodies.SMALL)
            except TimeoutError:
                return await self._run(head, bodies.too_late(), arrival.size + 1)
        size = max(arrival.size, announced or 0)
        if size > largest:
            return await self._run(head, bodies.too_large(), size)
        if arrival.is_complete:
            return await self._run(head, arrival.as_stream(), size)
        return await self._ask_with_large_body(head, arrival, size)

    async def _ask_with_large_body(self, head: Head, arrival: Arrival, size: int) -> Answer:
        """Reads the body only once a view asks for it, and then calls the view again."""
        environ = head.with_body(UnreadBody(), size)
        try:
            return await self._run_view(head, environ)
        except BodyWanted:
            sender = environ.get(bodies.KEY_ID) or head.network
        large = self._find_places(head.path)
        with self._arrivals.one_of(head.network):
            async with large.arriving(sender):
                return await self._ask_with_file(head, arrival, size, large)

    def _find_places(self, path: str) -> "_LargeBodies":
        if bodies.is_for_events(path):
            return self._large_events
        return self._files if bodies.is_for_imports(path) else self._large

    async def _ask_with_file(
        self, head: Head, arrival: Arrival, size: int, large: "_LargeBodies"
    ) -> Answer:
        try:
            file = await arrival.read_into_file(bodies.find_largest(head.path))
        except TimeoutError:
            return await self._run(head, bodies.too_late(), size, is_counted=True)
        except TooLargeError:
            return await self._run(head, bodies.too_large(), size, is_counted=True)
        with closing(file):
            async with large.parsing:
                return await self._run(head, file, arrival.size, is_counted=True)

    async def _run(self, head: Head, body: Body, size: int, *, is_counted: bool = False) -> Answer:
        environ = head.with_body(body, size)
        environ[bodies.IS_COUNTED] = is_counted
        return await self._run_view(head, environ)

    async def _run_view(self, head: Head, environ: dict[str, Any]) -> Answer:
        threads, caller = self._threads, head.caller
        if bodies.is_for_events(head.path):  # where Authorization says nothing
            threads, caller = self._event_threads, head.network
        return await threads.run(caller, lambda: self._django.answer(environ))


def _repeatable(refusal: RequestRefusedError, path: str) -> RequestRefusedError:
    """The refusal as the sender of a request to this path has to hear it."""
    may_pass = isinstance(refusal, TooManyError | BrokenOffError)
    return OverloadedError() if may_pass and bodies.is_for_events(path) else refusal


def _live(scope: Scope) -> Answer:
    """The process answers. It asks no other service, because a restart would not repair one."""
    return _LIVE if scope["method"] in {"GET", "HEAD"} else _METHOD_NOT_ALLOWED


class _LargeBodies:
    """How many large bodies may arrive at once, and how many may be in memory.

    One sender, a key or else a network, cannot keep the others waiting by sending slowly.
    """

    def __init__(self, at_once: int, *, of_one: int, parsed_at_once: int) -> None:
        self.parsing = Semaphore(parsed_at_once)
        self._all = Semaphore(at_once)
        self._most_of_one = of_one
        # Those that somebody holds or waits for.
        self._of_sender: WeakValueDictionary[object, Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def arriving(self, sender: object) -> AsyncIterator[None]:
        of_sender = self._of_sender.setdefault(sender, Semaphore(self._most_of_one))
        async with of_sender, self._all:
            yield
