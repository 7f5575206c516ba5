"""Requests to the front as a server makes them, without a server."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from postledger.web.front.front import Front

type Message = dict[str, Any]


@dataclass
class Reply:
    """What the front sent so far."""

    messages: list[Message] = field(default_factory=list)

    async def send(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode().lower(): text.decode() for name, text in self.messages[0]["headers"]}

    @property
    def content(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages[1:])

    @property
    def body(self) -> Any:
        return json.loads(self.content)


class Client:
    """A client's body as it arrives: blocks, then nothing more or the end."""

    def __init__(self, blocks: Iterable[bytes] = (), *, stalls: bool = False) -> None:
        self._blocks = list(blocks)
        self._stalls = stalls
        self.received = 0

    async def receive(self) -> Message:
        if self._blocks:
            block = self._blocks.pop(0)
            self.received += len(block)
            more = bool(self._blocks) or self._stalls
            return {"type": "http.request", "body": block, "more_body": more}
        if self._stalls:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}


def scope(method: str, path: str, *headers: tuple[str, str]) -> Message:
    named = [(b"host", b"testserver"), *((n.encode(), text.encode()) for n, text in headers)]
    return {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": named,
        "http_version": "1.1",
        "scheme": "http",
        "client": ("192.0.2.1", 40_000),
        "server": ("127.0.0.1", 8000),
    }


async def ask(
    front: Front, method: str, path: str, *headers: tuple[str, str], client: Client | None = None
) -> Reply:
    reply = Reply()
    client = client or Client([b""])
    await front(scope(method, path, *headers), client.receive, reply.send)
    return reply
