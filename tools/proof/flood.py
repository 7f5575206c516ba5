"""`python -m tools.proof.flood`: strangers and tenants try to exhaust the web process.

A thousand slow connections, and a hundred bodies of 16 MiB with and without a key, directly or
through a proxy. Meanwhile `/live` is asked five times a second, by the same way, and the resident
memory of all web processes is added up. On loopback alone; ends by itself.
"""

import argparse
import asyncio
import json
import os
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Self

from tools.bench import cluster, work
from tools.drill.saying import say
from tools.proof import proxies

if TYPE_CHECKING:
    from tests.journeys.rig import Installation

MOST_SECONDS = 1.0  # for an answer of /live
MOST_MEMORY = 600.0  # MB, of all web processes together
_MIB = 1024 * 1024
_BLOCK = 65_536
_HOST = "127.0.0.1"


@dataclass(frozen=True)
class Target:
    """Where the requests go, and what the processes behind it are."""

    port: int
    token: str
    pids: Callable[[], list[int]]


@dataclass
class Watch:
    """What is seen while a scenario runs, by a thread: the event loop here is busy itself."""

    target: Target
    waits: list[float] = field(default_factory=list)
    memory: float = 0.0

    def __enter__(self) -> Self:
        self._ended = Event()
        self._thread = Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.2):
            began = time.monotonic()
            # A minute without an answer is shown as one.
            with (
                suppress(OSError),
                socket.create_connection((_HOST, self.target.port), timeout=60) as connection,
            ):
                connection.sendall(_head("GET", "/live"))
                connection.recv(1024)
            self.waits.append(time.monotonic() - began)
            self.memory = max(self.memory, _resident(self.target.pids()))


def _resident(pids: list[int]) -> float:
    """Megabytes."""
    pages = 0
    for pid in pids:
        with suppress(OSError):
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _head(method: str, path: str, *, token: str = "", size: int | None = None) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {_HOST}", "Connection: close"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if size is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {size}"]
    return "\r\n".join([*lines, "", ""]).encode()


async def request(port: int, head: bytes, body: bytes = b"") -> int:
    """Sends a request and returns the status of its answer, which may come before all is sent."""
    reader, writer = await asyncio.open_connection(_HOST, port)
    try:
        writer.write(head)
        sending = asyncio.create_task(_send(writer, body))
        line = await reader.readuntil(b"\r\n")
        sending.cancel()
        return int(line.split()[1])
    finally:
        writer.close()


async def _send(writer: asyncio.StreamWriter, body: bytes) -> None:
    for start in range(0, len(body), _BLOCK):
        writer.write(body[start : start + _BLOCK])
        await writer.drain()


type Scenario = Callable[[Target, argparse.Namespace], Awaitable[Counter[int]]]


async def idle(_target: Target, _options: argparse.Namespace) -> Counter[int]:
    await asyncio.sleep(3)
    return Counter()


async def slow(target: Target, options: argparse.Namespace) -> Counter[int]:
    """Headers that do not end, and bodies of which a byte comes every few seconds."""
    beginnings = (
        _head("POST", "/v1/email/send", size=60_000),
        _head("POST", "/v1/campaigns/send", size=15_000),
        _head("POST", "/subscribe/1/news", size=60_000),
        b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    )
    writers = []
    for number in range(options.connections):
        _, writer = await asyncio.open_connection(_HOST, target.port)
        writer.write(beginnings[number % len(beginnings)])
        writers.append(writer)
    for _ in range(options.seconds // 3):
        for writer in writers:
            with suppress(OSError):
                writer.write(b"x")
        await asyncio.sleep(3)
    closed = sum(writer.is_closing() for writer in writers)
    for writer in writers:
        writer.close()
    return Counter({0: closed})


async def strangers(target: Target, options: argparse.Namespace) -> Counter[int]:
    heads = [
        _head("POST", path, size=16 * _MIB) for path in ("/v1/email/batch", "/v1/campaigns/send")
    ]
    return await _bodies(target, options.bodies, heads, list(_contents().values()))


async def tenants(target: Target, options: argparse.Namespace) -> Counter[int]:
    contents = list(_contents().values())
    heads = [_head("POST", "/v1/email/send", token=target.token, size=16 * _MIB)]
    return await _bodies(target, options.bodies, heads, contents)


async def errors(target: Target, options: argparse.Namespace) -> Counter[int]:
    """As many unknown fields as a body may have values."""
    body = json.dumps({f"f{number}": 0 for number in range(99_000)}).encode()
    heads = [_head("POST", "/v1/email/send", token=target.token, size=len(body))]
    return await _bodies(target, options.bodies, heads, [body])


async def _bodies(
    target: Target, count: int, heads: list[bytes], contents: list[bytes]
) -> Counter[int]:
    async def one(number: int) -> int:
        head, body = heads[number % len(heads)], contents[number % len(contents)]
        try:
            return await request(target.port, head, body)
        except (OSError, asyncio.IncompleteReadError):
            return 0

    return Counter(await asyncio.gather(*(one(number) for number in range(count))))


@cache
def _contents() -> Mapping[str, bytes]:
    """Bodies of exactly 16 MiB: many values, one wide text, and a mail that can be sent."""
    attachment = {"filename": "a.bin", "content_type": "application/octet-stream"}
    mail = {"to": "a@example.com", "subject": "x", "html": "<p>x</p>", "text": "x"}
    return {
        "values": (b"[" + b'{"":0},' * (16 * _MIB // 7 - 1) + b"0]").ljust(16 * _MIB),
        "text": _padded({**mail, "html": "\U0001f600"}, "html"),
        "attachment": _padded(
            {**mail, "attachments": [{**attachment, "content": "QUJD" * 2_000_000}]}, "text"
        ),
    }


def _padded(mail: dict[str, object], name: str) -> bytes:
    missing = 16 * _MIB - len(json.dumps(mail, ensure_ascii=False).encode())
    return json.dumps({**mail, name: f"{mail[name]}{'x' * missing}"}, ensure_ascii=False).encode()


SCENARIOS: Mapping[str, Scenario] = {
    "idle": idle,
    "slow": slow,
    "strangers": strangers,
    "tenants": tenants,
    "errors": errors,
}


async def prove(target: Target, options: argparse.Namespace, way: str) -> bool:
    """Runs the scenarios by one way, and says whether all of them were within their limits."""
    _contents()
    is_held = True
    for name in options.scenarios or SCENARIOS:
        with Watch(target) as watch:
            answers = await SCENARIOS[name](target, options)
        slowest = max(watch.waits, default=60.0)
        is_held &= slowest < MOST_SECONDS and watch.memory < MOST_MEMORY
        shown = ", ".join(f"{status}: {count}" for status, count in sorted(answers.items()))
        say(
            f"| {way} | {name} | {len(watch.waits)} | {slowest:.2f} s | {watch.memory:,.0f} MB"
            f" | {shown} |"
        )
        await asyncio.sleep(1)
    return is_held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", help=f"some of {', '.join(SCENARIOS)}")
    parser.add_argument("--through", action="append", choices=("directly", *proxies.NAMES))
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument("--bodies", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=30, help="for which connections are held")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    with cluster.running() as database, tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        work.connect(database)
        from django.core.management import call_command

        from tests.journeys import rig

        call_command("migrate", verbosity=0)
        rates = dict.fromkeys(("API_RATE", "PUBLIC_RATE"), "1000000/second")
        with rig.installation(Path(folder), database, **rates) as installed:
            return 0 if run(installed, options) else 1


def run(installed: "Installation", options: argparse.Namespace) -> bool:
    from tests import children
    from tests.journeys import rig, stage

    web = rig.free_port()
    process = installed.web(web, "--processes", str(options.processes))
    token = make_key(stage.sender("acme").workspace_id)
    say("| way | scenario | asked | slowest /live | memory | answers |\n|---|---|---|---|---|---|")
    pid = process.popen.pid

    def pids() -> list[int]:
        return [pid, *children.pids(pid)]

    is_held = True
    for way in options.through or ("directly", "caddy", "apache"):
        with ExitStack() as stack:
            port = web
            if way != "directly":
                port = rig.free_port()
                stack.enter_context(proxies.running(way, installed.folder, port=port, upstream=web))
                url = f"http://{_HOST}:{port}/live"
                rig.until(lambda url=url: rig.answers(url))  # type: ignore[misc]
            target = Target(port, token, pids)
            is_held &= asyncio.run(prove(target, options, way))
    return is_held


def make_key(workspace_id: int) -> str:
    from postledger.accounts import keys
    from postledger.accounts.keys import Scope

    made = keys.create_key(workspace_id, name="proof", scopes=list(Scope), actor="proof")
    return made.token


if __name__ == "__main__":
    sys.exit(main())
