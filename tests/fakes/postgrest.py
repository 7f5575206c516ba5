"""PostgREST on loopback, as a Supabase project has it: one table of a real PostgreSQL."""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, override
from urllib.parse import parse_qsl, urlsplit

import psycopg
from psycopg import sql

KEY = "made-up.service-role.key"

# Ordered as people order, not as bytes: capitals and digits lie elsewhere than in ours.
_TABLE = """
CREATE TEMPORARY TABLE subscribers (
    email text COLLATE "und-x-icu" PRIMARY KEY,
    status text CHECK (status <> 'unwritable'),
    bounce_type text,
    bounce_subtype text,
    status_updated_at timestamptz,
    from_name text CHECK (status = 'active' OR from_name IS DISTINCT FROM 'Unwritable')
)
"""
_OPERATORS = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_RESERVED = {"select", "order", "limit", "offset"}


@dataclass(frozen=True)
class Seen:
    """A request that came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """What is answered instead."""

    status: int
    retry_after: str | None = None
    stall: float = 0.0  # seconds before it is answered
    body: bytes = b'{"code": "XX000", "message": "Something is wrong."}'


class ApiError(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def _nothing(_seen: Seen) -> None:
    """What happens unless a test wants something else."""


@dataclass
class FakePostgrest:
    url: str
    database: psycopg.Connection[tuple[Any, ...]]
    key: str = KEY
    max_rows: int = 1_000
    faults: deque[Fault] = field(default_factory=deque)
    requests: list[Seen] = field(default_factory=list)
    before_answer: Callable[[Seen], None] = _nothing
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, email: str, status: str | None = "active", **columns: object) -> None:
        values = {"email": email, "status": status, **columns}
        statement = sql.SQL("INSERT INTO subscribers ({}) VALUES ({})").format(
            sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL(", ").join(sql.Placeholder() * len(values)),
        )
        self.database.execute(statement, list(values.values()))

    def add_many(self, count: int) -> None:
        """Subscribers s0, S1, s2, …, every tenth of them unsubscribed."""
        self.database.execute(
            "INSERT INTO subscribers SELECT CASE WHEN n %% 2 = 1 THEN 'S' ELSE 's' END || n ||"
            " '@example.com', CASE WHEN n %% 10 = 0 THEN 'unsubscribed' ELSE 'active' END, NULL,"
            " NULL, '2026-11-01T00:00:00Z', 'Editor ' || n FROM generate_series(0, %s - 1) AS n",
            [count],
        )

    def set(self, email: str, **columns: object) -> None:
        for name, value in columns.items():
            self.database.execute(
                sql.SQL("UPDATE subscribers SET {} = %s WHERE email = %s").format(
                    sql.Identifier(name)
                ),
                [value, email],
            )

    def remove(self, email: str) -> None:
        self.database.execute("DELETE FROM subscribers WHERE email = %s", [email])

    def remove_many(self, count: int) -> None:
        """Some of those that there are."""
        self.database.execute(
            "DELETE FROM subscribers WHERE email IN (SELECT email FROM subscribers LIMIT %s)",
            [count],
        )

    def row(self, email: str) -> dict[str, Any]:
        fetched = self.database.execute(
            "SELECT to_jsonb(s) FROM subscribers AS s WHERE email = %s", [email]
        ).fetchone()
        assert fetched is not None
        row: dict[str, Any] = fetched[0]
        return row

    def list_requests(self, method: str) -> list[Seen]:
        return [request for request in self.requests if request.method == method]

    def select(self, query: Mapping[str, str], *, first: int, last: int | None) -> list[Any]:
        limit = min(int(query.get("limit", self.max_rows)), self.max_rows)
        if last is not None:
            limit = min(limit, last - first + 1)
        where, values = _where(query)
        statement = sql.SQL(
            "SELECT coalesce(jsonb_agg(to_jsonb(found)), '[]')"
            " FROM (SELECT {} FROM subscribers {} {} OFFSET {} LIMIT {}) AS found"
        ).format(_columns(query), where, _order(query), first, limit)
        return self._read_rows(statement, values)

    def update(self, query: Mapping[str, str], body: Mapping[str, object]) -> list[Any]:
        where, values = _where(query)
        changes = sql.SQL(", ").join(
            sql.SQL("{} = %s").format(sql.Identifier(name)) for name in body
        )
        statement = sql.SQL(
            "WITH found AS (UPDATE subscribers SET {} {} RETURNING {})"
            " SELECT coalesce(jsonb_agg(to_jsonb(found)), '[]') FROM found"
        ).format(changes, where, _columns(query))
        return self._read_rows(statement, [*body.values(), *values])

    def _read_rows(self, statement: sql.Composed, values: list[object]) -> list[Any]:
        try:
            with self.lock:
                row = self.database.execute(statement, values).fetchone()
        except psycopg.Error as error:
            raise ApiError(400, error.sqlstate or "", str(error)) from None
        assert row is not None
        rows: list[Any] = row[0]
        return rows


def _columns(query: Mapping[str, str]) -> sql.Composable:
    names = query.get("select", "*")
    if names == "*":
        return sql.SQL("*")
    return sql.SQL(", ").join(map(sql.Identifier, names.split(",")))


def _order(query: Mapping[str, str]) -> sql.Composable:
    if "order" not in query:
        return sql.SQL("")
    name, _, way = query["order"].partition(".")
    return sql.SQL("ORDER BY {} {}").format(
        sql.Identifier(name), sql.SQL("DESC" if way == "desc" else "ASC")
    )


def _where(query: Mapping[str, str]) -> tuple[sql.Composable, list[object]]:
    conditions: list[sql.Composable] = []
    values: list[object] = []
    for name, wanted in query.items():
        if name in _RESERVED:
            continue
        operator, _, value = wanted.partition(".")
        if wanted == "is.null":
            conditions.append(sql.SQL("{} IS NULL").format(sql.Identifier(name)))
        elif operator in _OPERATORS:
            conditions.append(
                sql.SQL("{} {} %s").format(sql.Identifier(name), sql.SQL(_OPERATORS[operator]))
            )
            values.append(value)
        else:
            raise ApiError(400, "PGRST100", f"failed to parse filter ({wanted})")
    if not conditions:
        return sql.SQL(""), []
    return sql.SQL("WHERE ") + sql.SQL(" AND ").join(conditions), values


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    @property
    def fake(self) -> FakePostgrest:
        assert isinstance(self.server, Server)
        return self.server.fake

    def _serve(self) -> None:
        seen = self._read()
        self.fake.requests.append(seen)
        self.fake.before_answer(seen)
        if self.fake.faults:
            self._send_fault(self.fake.faults.popleft())
            return
        try:
            self._check(seen)
            self._answer(seen)
        except ApiError as error:
            body = {"code": error.code, "message": str(error), "details": None, "hint": None}
            self._send(error.status, json.dumps(body).encode())

    def _read(self) -> Seen:
        parts = urlsplit(self.path)
        size = int(self.headers.get("Content-Length", "0"))
        body = json.loads(self.rfile.read(size)) if size else {}
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Seen(self.command, parts.path, query, headers, body)

    def _check(self, seen: Seen) -> None:
        key = self.fake.key
        if (
            seen.headers.get("apikey") != key
            or seen.headers.get("authorization") != f"Bearer {key}"
        ):
            raise ApiError(401, "", "Invalid API key")
        if seen.path != "/rest/v1/subscribers":
            message = "Could not find the table in the schema cache"
            raise ApiError(404, "PGRST205", message)

    def _answer(self, request: Seen) -> None:
        if request.method == "PATCH":
            rows = self.fake.update(request.query, request.body)
            is_shown = "return=representation" in request.headers.get("prefer", "")
            self._send(200 if is_shown else 204, json.dumps(rows).encode() if is_shown else b"")
            return
        first, _, last = request.headers.get("range", "0-").partition("-")
        rows = self.fake.select(request.query, first=int(first), last=int(last) if last else None)
        span = f"{first}-{int(first) + len(rows) - 1}" if rows else "*"
        self._send(200, json.dumps(rows).encode(), {"Content-Range": f"{span}/*"})

    def _send_fault(self, fault: Fault) -> None:
        time.sleep(fault.stall)
        headers = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
        self._send(fault.status, fault.body, headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """The requests are kept; nobody reads them on standard error."""


class Server(ThreadingHTTPServer):
    fake: FakePostgrest
    daemon_threads = True
    block_on_close = False  # a client may keep its line open

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed or hung up is no error of the server."""


@contextmanager
def running(database_url: str) -> Iterator[FakePostgrest]:
    with (
        psycopg.connect(database_url, autocommit=True) as database,
        Server(("127.0.0.1", 0), Handler) as server,
    ):
        database.execute(_TABLE)
        fake = server.fake = FakePostgrest(f"http://127.0.0.1:{server.server_port}", database)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()
