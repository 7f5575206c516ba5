"""Translates a request from ASGI to WSGI, in which Django's synchronous handler reads it."""

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from postledger.web.shared.bodies import Body

_UNPREFIXED = {"CONTENT_TYPE", "CONTENT_LENGTH"}


def build_environ(scope: Mapping[str, Any], body: Body, size: int) -> dict[str, Any]:
    """The environment of a request whose body has `size` bytes."""
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
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        # WSGI has one name for X-Forwarded-For and X_Forwarded_For: the second could pass for the
        # first, which a proxy has written.
        if b"_" in name:
            continue
        key, text = _environ_key(name), value.decode("latin-1")
        environ[key] = f"{environ[key]},{text}" if key in environ else text
    environ["CONTENT_LENGTH"] = str(size)
    return environ


def announced_size(scope: Mapping[str, Any]) -> int | None:
    """The size that the client announced; None if its body comes in chunks."""
    size = 0
    for name, value in scope["headers"]:
        if name == b"transfer-encoding":
            return None
        if name == b"content-length":
            size = int(value)
    return size


@lru_cache(maxsize=256)
def _environ_key(name: bytes) -> str:
    key = name.decode("latin-1").upper().replace("-", "_")
    return key if key in _UNPREFIXED else f"HTTP_{key}"
