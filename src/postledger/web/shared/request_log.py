"""The API requests of the last day, for the developers of the workspace that sent them.

Redis keeps them: they are no part of the books, and a request never waits for its line. A thread
writes the lines of half a second together; those that Redis does not take are dropped. There is no
body in a line, no query and no address: a path is the pattern of its URL, and of a problem there is
its code alone.
"""

import heapq
import re
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import islice
from operator import attrgetter
from typing import Any, Protocol

import structlog
from django.conf import settings
from django.http import HttpRequest
from redis import Redis
from redis.exceptions import RedisError

from postledger.accounts.keys import Caller

KEPT = timedelta(days=1)
# Of each workspace, and of failed requests apart: a busy program does not push out what failed.
MOST_KEPT = 10_000

_PREFIX = "postledger:requests"
_PAUSE = 0.5  # seconds
_PAUSE_AFTER_FAILURE = 5.0
_MOST_PENDING = 10_000
_TIMEOUT = 2.0  # seconds; only the thread and the page wait
_CHUNK = 1_000
_FIRST_FAILURE = 400
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
_META_KEY = "postledger.caller"
_META_CODE = "postledger.problem"

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request; its line in Redis has these values in this order."""

    at: int  # milliseconds since 1970
    method: str
    path: str
    status: int
    duration_ms: int
    key: str  # the prefix of the API key
    request_id: str
    code: str = ""  # of the problem; empty: it succeeded

    def to_line(self) -> str:
        return (
            f"{self.at}\t{self.method}\t{self.path}\t{self.status}\t{self.duration_ms}"
            f"\t{self.key}\t{self.request_id}\t{self.code}"
        )

    @property
    def is_failed(self) -> bool:
        return self.status >= _FIRST_FAILURE

    @property
    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.at / 1000, UTC)


class Log(Protocol):
    def __call__(self, workspace_id: int, request: LoggedRequest, /) -> None: ...


def _ignore(_workspace_id: int, _request: LoggedRequest) -> None:
    """Shells and tests send requests without a log."""


_note: Log = _ignore


def install(log: Log | None) -> None:
    global _note  # noqa: PLW0603  installed once for each process, at its start
    _note = log or _ignore


def remember_caller(request: HttpRequest, caller: Caller) -> None:
    """Whose log has the request; one without a right key is in none."""
    request.META[_META_KEY] = caller


def remember_code(request: HttpRequest, code: str) -> None:
    """What was wrong with the request, in one word."""
    request.META[_META_CODE] = code


def note(  # noqa: PLR0913  what a line has, each by its name
    request: HttpRequest, *, at: float, route: str, status: int, duration_ms: int, request_id: str
) -> None:
    caller: Caller | None = request.META.get(_META_KEY)
    if caller is not None:
        line = LoggedRequest(
            int(at * 1000),
            request.method or "",
            _write_path(route),
            status,
            duration_ms,
            caller.prefix,
            request_id,
            request.META.get(_META_CODE, ""),
        )
        _note(caller.workspace_id, line)


@lru_cache(maxsize=1_000)
def _write_path(route: str) -> str:
    """The pattern of a URL as the API reference writes it."""
    return _PARAMETER.sub(r"{\1}", route)


class LogWriter:
    """Writes lines from a thread of its own, many at once."""

    def __init__(self, redis_url: str) -> None:
        self._redis = _connect(redis_url)
        self._lock = threading.Condition()
        self._pending: list[tuple[int, LoggedRequest]] = []
        self._thread: threading.Thread | None = None

    def note(self, workspace_id: int, request: LoggedRequest) -> None:
        with self._lock:
            if len(self._pending) >= _MOST_PENDING:
                return
            self._pending.append((workspace_id, request))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="request-log", daemon=True)
                self._thread.start()
            if len(self._pending) == 1:
                self._lock.notify()

    def flush(self) -> None:
        with self._lock:
            pending, self._pending = self._pending, []
        if pending:
            _write(self._redis, pending, now=time.time())

    def _run(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._pending)
            time.sleep(_PAUSE)
            try:
                self.flush()
            except RedisError as error:
                _log.warning("request_log_without_redis", error=type(error).__name__)
                time.sleep(_PAUSE_AFTER_FAILURE)


def _write(redis: Redis, lines: Iterable[tuple[int, LoggedRequest]], *, now: float) -> None:
    """Adds the lines, and drops what is too much or too old."""
    by_name: dict[str, dict[str, int]] = {}
    for workspace_id, request in lines:
        name = _name(workspace_id, is_failed=request.is_failed)
        by_name.setdefault(name, {})[request.to_line()] = request.at
    oldest = int((now - KEPT.total_seconds()) * 1000)
    with redis.pipeline(transaction=False) as pipe:
        for name, scores in by_name.items():
            # Many lines in one command, by the time of their request: a command for each was
            # measured to take six times as long.
            pipe.zadd(name, scores)
            pipe.zremrangebyrank(name, 0, -MOST_KEPT - 1)
            pipe.zremrangebyscore(name, "-inf", oldest)
            pipe.expire(name, KEPT)
        pipe.execute()


@dataclass(frozen=True, slots=True)
class RequestFilters:
    """`keys` are those of the workspace whose requests are wanted, by their prefixes: what another
    installation wrote into the same Redis, or one before it, is nobody's here.
    """

    keys: Collection[str]
    is_failed: bool | None = None  # None: both kinds
    path: str = ""  # a part of it

    def match(self, request: LoggedRequest) -> bool:
        return request.key in self.keys and self.path.casefold() in request.path.casefold()


def read_requests(
    workspace_id: int, filters: RequestFilters, *, limit: int, now: datetime
) -> list[LoggedRequest]:
    """The newest requests of the last day that match."""
    kinds = (True, False) if filters.is_failed is None else (filters.is_failed,)
    since = int((now - KEPT).timestamp() * 1000)
    redis = _connect(settings.REDIS_URL)
    kept = [_iterate(redis, _name(workspace_id, is_failed=kind), since=since) for kind in kinds]
    newest_first = heapq.merge(*kept, key=attrgetter("at"), reverse=True)
    return list(islice(filter(filters.match, newest_first), limit))


def _iterate(redis: Redis, name: str, *, since: int) -> Iterator[LoggedRequest]:
    for start in range(0, MOST_KEPT, _CHUNK):
        lines: Any = redis.zrevrangebyscore(name, "+inf", since, start=start, num=_CHUNK)
        yield from map(_parse_line, lines)
        if len(lines) < _CHUNK:
            return


def _parse_line(line: str) -> LoggedRequest:
    # A line that was written before lines had codes has none.
    at, method, path, status, duration_ms, *rest = line.split("\t")
    return LoggedRequest(int(at), method, path, int(status), int(duration_ms), *rest)


def _name(workspace_id: int, *, is_failed: bool) -> str:
    return f"{_PREFIX}:{workspace_id}:{'failed' if is_failed else 'fine'}"


@cache
def _connect(redis_url: str) -> Redis:
    return Redis.from_url(
        redis_url,
        decode_responses=True,
        socket_timeout=_TIMEOUT,
        socket_connect_timeout=_TIMEOUT,
    )
