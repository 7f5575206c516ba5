"""A client that writes and reads the bytes of HTTP itself."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

PATIENCE = 30.0  # of a client that waits for what must come


@dataclass(frozen=True, slots=True)
class WireAnswer:
    status: int
    headers: Mapping[str, str]  # names in lowercase
    body: bytes

    @property
    def error_type(self) -> str:
        return self.headers["x-amzn-errortype"]


class Wire:
    """A socket to the fake."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)

    def read_answer(self, data: bytes = b"") -> WireAnswer:
        """One complete answer, whose first bytes may be read already."""
        while b"\r\n\r\n" not in data:
            data += self._receive()
        head, _, body = data.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        pairs = (line.partition(": ") for line in lines)
        headers = {name.lower(): value for name, _, value in pairs}
        while len(body) < int(headers["content-length"]):
            body += self._receive()
        assert len(body) == int(headers["content-length"])
        return WireAnswer(int(status.split()[1]), headers, body)

    def read_to_end(self) -> bytes:
        """All until the fake closes; a reset raises ConnectionResetError."""
        data = b""
        while part := self.socket.recv(65536):
            data += part
        return data

    def _receive(self) -> bytes:
        part = self.socket.recv(65536)
        assert part, "the connection ended in the middle of an answer"
        return part

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()
