"""A web server: `python -m postledger.config.web_process`.

`postledger serve` is the same; `postledger up` starts it under its supervisor.
"""

import asyncio
import errno
import os
import resource
import signal
import socket
import sys
import time
from argparse import ArgumentParser
from functools import partial

import structlog
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.server import Server

from postledger.config import asgi
from postledger.web.front.front import Front
from postledger.workers import supervisor

_log = structlog.get_logger("postledger.config.web_process")  # also where it is the program

# Each connection may hold a small body, and as much again in the server's buffer: that bounds the
# memory of all processes together.
_MOST_CONNECTIONS = 2_048
_BUFFER_SIZE = 65_536  # bytes; also the most that the headers of a request may have
_HEADER_TIMEOUT = 15_000  # milliseconds
_ENDING = (signal.SIGTERM, signal.SIGINT)
# Granian's own thread and the event loop may wait for each other for ever when a process ends.
_ENDS_WITHIN = 30  # seconds
_PORT_FREE_WITHIN = 5.0  # seconds; a server that was killed takes a moment to disappear


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=4, help="of one caller in each process")


def serve(*, host: str, port: int, processes: int, threads: int) -> None:
    """Serves until a signal ends it; a process that dies ends the server with a failure."""
    import postledger.dispatch.fence  # noqa: F401  every process needs it for its first connection

    _allow_connections()
    _refuse_taken_port(host, port)
    server = Server(
        "postledger.config.asgi",
        address=host,
        port=port,
        interface=Interfaces.ASGINL,
        loop=Loops.uvloop,
        workers=processes,
        workers_kill_timeout=_ENDS_WITHIN,
        backpressure=max(1, _MOST_CONNECTIONS // processes),
        # A proxy needs no more, and a stream of HTTP/2 may have a megabyte in a buffer.
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(
            header_read_timeout=_HEADER_TIMEOUT, max_buffer_size=_BUFFER_SIZE
        ),
        websockets=False,
        log_enabled=False,
    )
    _log.info("serving", url=f"http://{host}:{port}")
    os.register_at_fork(
        before=partial(signal.pthread_sigmask, signal.SIG_BLOCK, _ENDING),
        after_in_child=_end_by_signals,
        after_in_parent=partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, _ENDING),
    )
    server.serve(target_loader=partial(_load, threads, os.getpid()), wrap_loader=False)


def _end_by_signals() -> None:
    """Signals end a new process at once, by no handler that it inherits.

    By those they would be lost, and the server would wait for it for ever.
    """
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def _load(threads: int, parent: int) -> Front:
    """Runs in each process of the server, before its event loop does."""
    # One that outlives the server would go on answering at the port of its successor.
    supervisor.die_with_parent(parent)
    # For the threads that are started here, too: the handlers that Granian registers next lose
    # every signal until the event loop runs.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    front = asgi.load(threads + 1)  # what one caller leaves to the others
    loop = asyncio.get_event_loop()
    loop.call_soon(_hear_signals)
    supervisor.beat_from(loop)
    return front


def _hear_signals() -> None:
    """Ends a process that was told to end while it was loaded; nothing was answered yet."""
    if signal.sigpending() & set(_ENDING):
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def _refuse_taken_port(host: str, port: int) -> None:
    """Granian would share the port with a server of another installation, request by request."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    deadline = time.monotonic() + _PORT_FREE_WITHIN
    while True:
        try:
            socket.create_server((host, port), family=family).close()
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                reason = os.strerror(error.errno or 0)
                _log.critical(f"cannot listen at {host}:{port} ({reason}); choose another --port")
                sys.exit(1)
            time.sleep(0.1)
        else:
            return


def _allow_connections() -> None:
    """Each connection is an open file, and systems allow 1,024 unless they are asked for more."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
    django.setup(set_prefix=False)
    parser = ArgumentParser()
    add_arguments(parser)
    serve(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
