"""A fake as a process: what the command lines of all fakes have in common."""

import asyncio
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections import deque
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import uvloop

from tools.fakes.http.server import FakeServer, serving
from tools.fakes.http.service import Service


def add_arguments(parser: ArgumentParser, port: int) -> None:
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="default: this machine only")
    add("--port", type=int, default=port, help=f"default: {port}; 0 takes any free one")
    add("--journal", type=Path, metavar="FILE", help="gets accepted mail and its events")
    add("--eml", type=Path, metavar="FOLDER", help="gets one .eml file for each accepted mail")
    add("--keep", type=int, default=100, metavar="N", help="mails to show at /_fake/messages")


def keep_mail(service: Service[Any], options: Namespace) -> None:
    """Has a service keep mail as the options say, except its journal."""
    service.kept = deque(maxlen=options.keep)
    if options.eml is not None:
        options.eml.mkdir(parents=True, exist_ok=True)
        service.eml_folder = options.eml


def serve[F: FakeServer[Any]](build: Callable[[], F], introduce: Callable[[F], str]) -> None:
    """Serves until SIGTERM or SIGINT; a fake is built in its event loop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(build, introduce))


async def _serve[F: FakeServer[Any]](build: Callable[[], F], introduce: Callable[[F], str]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    fake = build()
    await fake.service.record_set_up()  # what is set up keeps its names after a restart
    async with serving(fake):
        sys.stdout.write(introduce(fake))
        sys.stdout.flush()
        await stop.wait()


def tell_unfinished(count: int) -> list[str]:
    """A line for a fake that goes on with events of before a restart."""
    return [f"Events that the journal knows as unfinished: {count}."] if count else []


def warn_of_others(host: str) -> list[str]:
    """A line for a fake that others can reach."""
    if _is_loopback(host):
        return []
    return ["Other machines can reach it, and read every mail at /_fake/messages."]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
