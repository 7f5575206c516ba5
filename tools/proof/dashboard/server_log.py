"""What the web process wrote about its requests."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Request:
    route: str
    status: int
    milliseconds: int  # inside the process, from the first middleware to the last


@dataclass
class ServerLog:
    """The requests that came since it was last asked."""

    path: Path
    _read_to: int = 0

    def list_new(self, route_end: str) -> list[Request]:
        with self.path.open("rb") as file:
            file.seek(self._read_to)
            text = file.read()
        self._read_to += len(text)
        return [one for one in _list_requests(text) if one.route.endswith(route_end)]


def _list_requests(text: bytes) -> Iterator[Request]:
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # of the server itself, or not whole yet
        if isinstance(entry, dict) and entry.get("event") == "request":
            yield Request(entry["route"], entry["status"], entry["duration_ms"])
