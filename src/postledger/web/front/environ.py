"""Translates a request from ASGI to WSGI, in which Django's synchronous handler reads it."""

import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from postledger.web.front.refusals import HeadTooLargeError, UnreadableError
from postledger.web.shared import guesses, throttle
from postledger.web.shared.bodies import KIB, Body

_UNPREFIXED = {"CONTENT_TYPE", "CONTENT_LENGTH"}
_LARGEST_HEAD = 64 * KIB
# Python parses their parameters in quadratic time.
_LARGEST_WITH_PARAMETERS = KIB
_WITH_PARAMETERS = (("CONTENT_TYPE", "Content-Type"), ("HTTP_ACCEPT", "Accept"))
_MOST_DIGITS = 18  # of a size


@dataclass(frozen=True)
class Head:
    """A request without its body."""

    path: str
    environ: Mapping[str, Any]
    announced: int | None  # size of the body; None if it comes in chunks

    def with_body(self, body: Body, size: int) -> dict[str, Any]:
        """The environment of the request; Django changes it, so each call makes another one."""
        return {**self.environ, "wsgi.input": body, "CONTENT_LENGTH": str(size)}

    @cached_property
    def network(self) -> str:
        return throttle.client_network(self.environ)

    @cached_property
    def caller(self) -> Hashable:
        """Who sent it, as far as that is known without asking: a key, or else a network.

        A key is a caller from its second request on: strangers could invent as many as they like.
        """
        _, _, token = self.environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        # No key stays in memory longer than its request.
        return hash(token) if guesses.KEYS.is_familiar(token) else self.network


def read_head(scope: Mapping[str, Any]) -> Head:
    """Raises HeadTooLargeError or UnreadableError."""
    server = scope.get("server") or ("", 0)
    client = scope.get("client") or ("", 0)
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        # WSGI has bytes in texts.
        "PATH_INFO": scope["path"].encode().decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "REMOTE_ADDR": client[0],
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    _add_headers(environ, scope["headers"])
    return Head(scope["path"], environ, _announced_size(environ))


def _add_headers(environ: dict[str, Any], headers: list[tuple[bytes, bytes]]) -> None:
    size = 0
    for name, value in headers:
        size += len(name) + len(value)
        # WSGI has one name for X-Forwarded-For and X_Forwarded_For: the second could pass for the
        # first, which a proxy has written.
        if b"_" in name:
            continue
        key, text = _environ_key(name), value.decode("latin-1")
        environ[key] = f"{environ[key]},{text}" if key in environ else text
    if size > _LARGEST_HEAD:
        raise HeadTooLargeError("All headers together", "64 KiB")
    for key, known_as in _WITH_PARAMETERS:
        if len(environ.get(key, "")) > _LARGEST_WITH_PARAMETERS:
            raise HeadTooLargeError(known_as, "1 KiB")


def _announced_size(environ: Mapping[str, Any]) -> int | None:
    if "HTTP_TRANSFER_ENCODING" in environ:
        return None
    # The server compared those of a header that came several times.
    digits = environ.get("CONTENT_LENGTH", "0").rpartition(",")[2]
    if not digits.isdecimal() or len(digits) > _MOST_DIGITS:
        raise UnreadableError("content_length")
    return int(digits)


@lru_cache(maxsize=256)
def _environ_key(name: bytes) -> str:
    key = name.decode("latin-1").upper().replace("-", "_")
    return key if key in _UNPREFIXED else f"HTTP_{key}"
