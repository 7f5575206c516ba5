"""`postledger serve`: serves HTTP with granian."""

import resource
from argparse import ArgumentParser
from functools import partial
from typing import override

from django.core.management.base import BaseCommand
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.server import Server

from postledger.config import asgi

# Each connection may hold a small body, and as much again in the server's buffer: that bounds the
# memory of all processes together.
_MOST_CONNECTIONS = 2_048
_BUFFER_SIZE = 65_536  # bytes; also the most that the headers of a request may have
_HEADER_TIMEOUT = 15_000  # milliseconds


class Command(BaseCommand):
    help = "Serves HTTP until it is stopped; put a proxy with TLS in front of it."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--processes", type=int, default=1)
        parser.add_argument("--threads", type=int, default=4, help="of each process")

    @override
    def handle(
        self,
        *args: object,
        host: str = "",
        port: int = 0,
        processes: int = 1,
        threads: int = 4,
        **options: object,
    ) -> None:
        _allow_connections()
        server = Server(
            "postledger.config.asgi",
            address=host,
            port=port,
            interface=Interfaces.ASGINL,
            loop=Loops.uvloop,
            workers=processes,
            backpressure=max(1, _MOST_CONNECTIONS // processes),
            # A proxy needs no more, and a stream of HTTP/2 may have a megabyte in a buffer.
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(
                header_read_timeout=_HEADER_TIMEOUT, max_buffer_size=_BUFFER_SIZE
            ),
            websockets=False,
            log_enabled=False,
        )
        self.stderr.write(f"Postledger serves http://{host}:{port}")
        server.serve(target_loader=partial(asgi.load, threads), wrap_loader=False)


def _allow_connections() -> None:
    """Each connection is an open file, and systems allow 1,024 unless they are asked for more."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
