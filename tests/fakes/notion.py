"""Notion's API on loopback: pages, blocks in parts, its errors, and files that expire."""

import json
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, override
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from tests.fakes.notion_pages import NOBODY, HostedFile, Json, Node, Schema

TOKEN = "ntn_made-up-0123456789abcdef"
MOST_RESULTS = 100

_SOME_TIME = "2026-11-15T08:00:00.000Z"


def _nothing() -> None:
    """What happens unless a test wants something else."""


@dataclass(frozen=True)
class Seen:
    """A request that came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Json


@dataclass(frozen=True)
class Fault:
    """What is answered instead; without a code the body is not Notion's JSON."""

    status: int
    code: str = ""
    message: str = "Something is wrong."
    retry_after: str | None = None
    stall: float = 0.0  # seconds before it is answered


@dataclass
class File:
    content: bytes
    type: str = "image/png"
    location: str | None = None  # a redirect instead of the content
    drip: float = 0.0  # seconds between two bytes


class ApiError(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass
class FakeNotion:
    url: str
    token: str = TOKEN
    pages: dict[str, Json] = field(default_factory=dict)
    created: list[str] = field(default_factory=list)  # pages that callers made
    databases: dict[str, Json] = field(default_factory=dict)
    data_sources: dict[str, Json] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    faults: deque[Fault] = field(default_factory=deque)
    requests: list[Seen] = field(default_factory=list)
    before_create: Callable[[], None] = _nothing  # a row was asked for and is not there yet
    after_create: Callable[[], None] = _nothing  # a row is there, and nobody was told
    others: list["FakeNotion"] = field(default_factory=list)  # at the same address
    _children: dict[str, tuple[Node, ...]] = field(default_factory=dict)
    _id_count: int = 0
    _signature: int = 0
    _expired: int = 0  # signatures up to this one are

    def add_page(
        self, *nodes: Node, properties: Json | None = None, table: Schema | None = None
    ) -> str:
        page_id = self._new_id()
        self.pages[page_id] = _page(page_id, _home(table))
        self.pages[page_id]["properties"] = properties or {}
        self._keep(page_id, nodes)
        return page_id

    def add_database(self, schema: Schema) -> None:
        parent = {"type": "database_id", "database_id": schema.database_id}
        source: Json = {"id": schema.data_source_id, "name": "Rows"}
        self.databases[schema.database_id] = {
            "object": "database",
            "id": schema.database_id,
            "title": [],
            "in_trash": False,
            "data_sources": [source],
        }
        properties = {
            name: {"id": name, "name": name, "type": kind, kind: {}}
            for name, kind in schema.properties.items()
        }
        self.data_sources[schema.data_source_id] = {
            "object": "data_source",
            "id": schema.data_source_id,
            "title": [],
            "parent": parent,
            "properties": properties,
            "in_trash": False,
        }

    def beside(self, token: str) -> "FakeNotion":
        """What another token opens at the same address: nothing of this one."""
        self.others.append(FakeNotion(self.url, token, _id_count=1_000 * (1 + len(self.others))))
        return self.others[-1]

    def limit_rate(self, count: int, *, retry_after: str | None = "1") -> None:
        fault = Fault(429, "rate_limited", "You have been rate limited.", retry_after)
        self.faults.extend([fault] * count)

    def fail(self, count: int, *, status: int = 500) -> None:
        self.faults.extend([Fault(status, "internal_server_error")] * count)

    def expire_files(self) -> None:
        """As if an hour had passed: the addresses given so far lead nowhere."""
        self._expired = self._signature

    def file_url(self, name: str) -> str:
        self._signature += 1
        signed = f"X-Amz-Expires=3600&X-Amz-Signature={self._signature}"
        return f"{self.url}/files/{name}?{signed}"

    def is_expired(self, signature: str) -> bool:
        return int(signature or "0") <= self._expired

    def children(self, block_id: str, *, start: str, size: int) -> Json:
        if block_id not in self._children:
            raise _missing("block", block_id)
        nodes = self._children[block_id]
        ids = [node.id for node in nodes]
        if not 1 <= size <= MOST_RESULTS or (start and start not in ids):
            raise ApiError(400, "validation_error", "page_size or start_cursor is not valid.")
        first = ids.index(start) if start else 0
        rest = ids[first + size : first + size + 1]
        return {
            "object": "list",
            "type": "block",
            "block": {},
            "request_id": NOBODY,
            "results": [self._block(node, block_id) for node in nodes[first : first + size]],
            "next_cursor": rest[0] if rest else None,
            "has_more": bool(rest),
        }

    def update(self, page_id: str, body: Json) -> Json:
        if page_id not in self.pages:
            raise _missing("page", page_id)
        page = self.pages[page_id]
        properties = page["properties"]
        assert isinstance(properties, dict)
        properties.update(_check_properties(body, properties))
        return page

    def create(self, body: Json) -> Json:
        parent = body["parent"]
        assert isinstance(parent, dict)
        source = self.data_sources.get(str(parent.get("data_source_id")))
        if source is None:
            raise _missing("data source", str(parent.get("data_source_id")))
        properties = source["properties"]
        assert isinstance(properties, dict)
        written = _check_properties(body, properties)
        self.before_create()
        page_id = self._new_id()
        self.pages[page_id] = _page(page_id, parent) | {"properties": written}
        self.created.append(page_id)
        self.after_create()
        return self.pages[page_id]

    def search(self, body: Json) -> Json:
        """Everything that is shared: no words are looked for here."""
        found = [*self.pages.values(), *self.data_sources.values()]
        listed = found[: int(str(body.get("page_size", MOST_RESULTS)))]
        return {"object": "list", "results": listed, "next_cursor": None, "has_more": False}

    def rows(self, data_source_id: str) -> list[Json]:
        """What callers added to a table."""
        made = (self.pages[page_id] for page_id in self.created)
        return [page for page in made if _source_of(page) == data_source_id]

    def query(self, data_source_id: str, body: Json) -> Json:
        """Rows by the exact text of their title, which is all that is asked for here."""
        if data_source_id not in self.data_sources:
            raise _missing("data source", data_source_id)
        match body.get("filter"):
            case {"property": str(name), "title": {"equals": str(title)}}:
                rows = self.rows(data_source_id)
                matching = [row for row in rows if text_of(row["properties"], name) == title]
            case _:
                raise ApiError(400, "validation_error", "The filter is not valid.")
        listed = {"results": matching[: int(str(body.get("page_size", MOST_RESULTS)))]}
        return {"object": "list", **listed, "next_cursor": None, "has_more": False}

    def _new_id(self) -> str:
        self._id_count += 1
        return str(UUID(int=self._id_count, version=4))

    def _keep(self, parent: str, nodes: Sequence[Node]) -> None:
        named = tuple(
            Node(node.type, node.content, node.children, node.id or self._new_id())
            for node in nodes
        )
        self._children[parent] = named
        for node in named:
            self._keep(node.id, node.children)

    def _block(self, node: Node, parent: str) -> Json:
        kind = "page_id" if parent in self.pages else "block_id"
        return {
            "object": "block",
            "id": node.id,
            "parent": {"type": kind, kind: parent},
            **_dated(),
            "has_children": bool(node.children) or node.type in {"child_page", "synced_block"},
            "in_trash": False,
            "type": node.type,
            node.type: self._signed(node.content),
        }

    def _signed(self, value: object) -> object:
        match value:
            case HostedFile(name=name):
                return self.file_url(name)
            case dict():
                return {name: self._signed(each) for name, each in value.items()}
            case _:
                return value


def _home(table: Schema | None) -> Json:
    if table is None:
        return {"type": "workspace", "workspace": True}
    ids = {"data_source_id": table.data_source_id, "database_id": table.database_id}
    return {"type": "data_source_id", **ids}


def _source_of(page: Json) -> str:
    parent = page["parent"]
    assert isinstance(parent, dict)
    return str(parent.get("data_source_id"))


def text_of(properties: Any, name: str) -> str:
    """What a title or a rich text says."""
    value = properties[name]
    return "".join(run["text"]["content"] for run in value[value["type"]])


def _dated() -> Json:
    somebody = {"object": "user", "id": NOBODY}
    times = {"created_time": _SOME_TIME, "last_edited_time": _SOME_TIME}
    return {**times, "created_by": somebody, "last_edited_by": somebody}


def _page(page_id: str, parent: Json) -> Json:
    return {
        "object": "page",
        "id": page_id,
        "parent": parent,
        **_dated(),
        "cover": None,
        "icon": None,
        "in_trash": False,
        "is_locked": False,
        "url": f"https://www.notion.so/{UUID(page_id).hex}",
        "public_url": None,
        "properties": {},
    }


def _check_properties(body: Json, schema: dict[str, Json]) -> Json:
    given = body.get("properties")
    assert isinstance(given, dict)
    for name, value in given.items():
        if name not in schema or schema[name]["type"] not in value:
            message = f"{name} is not a property that exists, or has another type."
            raise ApiError(400, "validation_error", message)
    return {
        name: {"id": schema[name]["id"], "type": schema[name]["type"], **value}
        for name, value in given.items()
    }


def _missing(kind: str, missing_id: str) -> ApiError:
    message = (
        f"Could not find {kind} with ID: {missing_id}."
        " Make sure the relevant pages and databases are shared with your integration."
    )
    return ApiError(404, "object_not_found", message)


_ID = "([0-9a-f-]{36})"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    @property
    def notion(self) -> FakeNotion:
        """Whose token is shown; who shows none of them is told so by the first."""
        assert isinstance(self.server, Server)
        first, shown = self.server.notion, self.headers.get("Authorization")
        return next((one for one in first.others if shown == f"Bearer {one.token}"), first)

    def _serve(self) -> None:
        seen = self._read()
        if seen.path.startswith("/files/"):
            self._send_file(seen)
            return
        self.notion.requests.append(seen)
        if self.notion.faults:
            self._send_fault(self.notion.faults.popleft())
            return
        try:
            self._check(seen)
            self._send_json(200, self._answer(seen))
        except ApiError as error:
            self._send_fault(Fault(error.status, error.code, str(error)))

    def _read(self) -> Seen:
        parts = urlsplit(self.path)
        size = int(self.headers.get("Content-Length", "0"))
        body = json.loads(self.rfile.read(size)) if size else {}
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Seen(self.command, parts.path, query, headers, body)

    def _check(self, request: Seen) -> None:
        if request.headers.get("authorization") != f"Bearer {self.notion.token}":
            raise ApiError(401, "unauthorized", "API token is invalid.")
        if "notion-version" not in request.headers:
            raise ApiError(400, "missing_version", "Notion-Version header should be defined.")

    def _answer(self, request: Seen) -> Json:
        fake = self.notion
        if request.path == "/v1/users/me":
            return {"object": "user", "id": NOBODY, "type": "bot", "bot": {}}
        posted = {"/v1/pages": fake.create, "/v1/search": fake.search}
        if request.method == "POST" and request.path in posted:
            return posted[request.path](request.body)
        if match := re.fullmatch(f"/v1/data_sources/{_ID}/query", request.path):
            return fake.query(match[1], request.body)
        if match := re.fullmatch(f"/v1/blocks/{_ID}/children", request.path):
            size = int(request.query.get("page_size", MOST_RESULTS))
            return fake.children(match[1], start=request.query.get("start_cursor", ""), size=size)
        if not (match := re.fullmatch(f"/v1/(pages|databases|data_sources)/{_ID}", request.path)):
            raise ApiError(400, "invalid_request_url", "Invalid request URL.")
        if request.method == "PATCH":
            return fake.update(match[2], request.body)
        kept: dict[str, Json] = getattr(fake, match[1])
        if match[2] not in kept:
            raise _missing(match[1].removesuffix("s"), match[2])
        return kept[match[2]]

    def _send_fault(self, fault: Fault) -> None:
        time.sleep(fault.stall)
        headers = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
        if not fault.code:
            self._send(fault.status, b"<h1>Bad gateway</h1>", "text/html", headers)
            return
        shape = {"code": fault.code, "message": fault.message, "request_id": NOBODY}
        self._send_json(fault.status, {"object": "error", "status": fault.status, **shape}, headers)

    def _send_json(self, status: int, body: Json, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(body).encode(), "application/json", headers or {})

    def _send(self, status: int, body: bytes, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_file(self, request: Seen) -> None:
        file = self.notion.files.get(request.path.removeprefix("/files/"))
        if file is None or self.notion.is_expired(request.query.get("X-Amz-Signature", "")):
            self._send(403, b"<Code>AccessDenied</Code>", "application/xml", {})
        elif file.location is not None:
            self._send(302, b"", "text/html", {"Location": file.location})
        elif file.drip:
            self._drip(file)
        else:
            self._send(200, file.content, file.type, {})

    def _drip(self, file: File) -> None:
        self.send_response(200)
        self.send_header("Content-Type", file.type)
        self.end_headers()
        for byte in file.content:
            time.sleep(file.drip)
            self.wfile.write(bytes([byte]))

    @override
    def log_message(self, format: str, *args: object) -> None:
        """The requests are kept; nobody reads them on standard error."""


class Server(ThreadingHTTPServer):
    notion: FakeNotion

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle of a file is no error of the server."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


@contextmanager
def running() -> Iterator[FakeNotion]:
    with Server(("127.0.0.1", 0), Handler) as server:
        fake = server.notion = FakeNotion(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()
