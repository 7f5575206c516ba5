"""`python -m tools.proof.ses_idle`: services that close idle connections, and our mail.

First a fake SES closes idle connections after two to five seconds; we close ours after one. In
bursts with pauses of up to seven seconds no mail is in doubt. Then servers close idle connections
at random moments, while mail comes at random moments: in doubt is only a mail whose connection was
closed after we had looked at it for the last time.
"""

import argparse
import asyncio
import multiprocessing
import random
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, cast, override

import uvloop

from postledger.lib.clock import boottime
from postledger.providers.base import Accepted, InDoubt
from postledger.providers.ses.provider import Ses
from postledger.providers.ses.settings import SesSettings
from tools.fakes.http import journal
from tools.fakes.http.connection import Connection
from tools.fakes.http.faults import IdleLimit
from tools.fakes.http.journal import Journal
from tools.fakes.http.server import serving
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import Service
from tools.proof.cuts import SENDER, SES, SMALL, make_mail

type Span = tuple[float, float]  # two moments between which something happened


def settings(endpoint: str) -> SesSettings:
    return SesSettings.model_validate({**SES.settings, "endpoint": endpoint})


# The servers, in a process of their own.


def make_service(path: Path | None) -> Service:
    service = Service(journal=Journal(path) if path else None)
    service.account.add_identities(SENDER)
    return service


def serve_fake(pipe: Pipe, path: Path) -> None:
    async def run() -> None:
        service = make_service(path)
        service.idle_limit = IdleLimit(2.0, 5.0)
        async with serving(FakeSes(service)) as fake:
            pipe.send(fake.endpoint)
            await asyncio.to_thread(pipe.recv)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


class NotingTransport:
    """Notes when its connection is closed: a moment before, and one after."""

    def __init__(self, transport: Any, closes: list[Span]) -> None:
        self._transport = transport
        self._closes = closes

    def close(self) -> None:
        before, is_open = boottime(), not self._transport.is_closing()
        self._transport.close()
        if is_open:
            # The transport closes its socket in the next turn of the event loop.
            asyncio.get_running_loop().call_soon(lambda: self._closes.append((before, boottime())))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class NotingConnection(Connection[Service]):
    def __init__(self, service: Service, closes: list[Span]) -> None:
        super().__init__(service, {}, set())
        self._closes = closes

    @override
    def connection_made(self, transport: Any) -> None:
        noting = NotingTransport(transport, self._closes)
        super().connection_made(cast("asyncio.BaseTransport", noting))


def serve_lanes(pipe: Pipe, lanes: int, longest: float) -> None:
    """One server for each lane, so that a closed connection is known to be that of a lane."""

    async def run() -> None:
        closes: list[list[Span]] = [[] for _ in range(lanes)]
        ports = [await listen(lane_closes, seed) for seed, lane_closes in enumerate(closes)]
        pipe.send([f"http://127.0.0.1:{port}" for port in ports])
        await asyncio.to_thread(pipe.recv)
        pipe.send(closes)

    async def listen(closes: list[Span], seed: int) -> int:
        service = make_service(None)
        service.idle_limit = IdleLimit(0.0, longest, seed=seed)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: NotingConnection(service, closes), "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def start(target: Callable[..., None], *arguments: object) -> Pipe:
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    context.Process(target=target, args=(theirs, *arguments), daemon=True).start()
    return ours


# Our side.


async def send_bursts(endpoint: str, count: int, burst: int) -> Counter[str]:
    provider = Ses(settings(endpoint))
    await provider.open()
    told: Counter[str] = Counter()
    for first in range(0, count, burst):
        mails = [make_mail(n, SMALL) for n in range(first, first + burst)]
        async for _, outcome in provider.send(mails, boottime() + 600):
            told[type(outcome).__name__] += 1
        await asyncio.sleep(random.uniform(0.0, 7.0))
    await provider.close()
    return told


async def prove_bursts(count: int, burst: int, folder: Path) -> bool:
    path = folder / "journal.jsonl"
    pipe = start(serve_fake, path)
    told = await send_bursts(await asyncio.to_thread(pipe.recv), count, burst)
    pipe.send("stop")
    mails = journal.read_mails(path)
    taken = Counter(address for mail in mails for address in mail["destination"])
    twice = sum(1 for times in taken.values() if times > 1)
    sys.stdout.write(
        f"Bursts of {burst}, pauses of 0 to 7 s, closed by the fake after 2 to 5 s:"
        f" {dict(told)}, taken {len(taken)}, taken twice {twice}.\n"
    )
    return told == {Accepted.__name__: count} and len(taken) == count and not twice


@dataclass(slots=True)
class NotingClock:
    """Keeps its last readings. With one mail at a time these are, from the last one: after the
    outcome, between the last look and the last write, and before the last look.
    """

    readings: deque[float] = field(default_factory=lambda: deque([0.0] * 3, maxlen=3))

    def __call__(self) -> float:
        self.readings.append(boottime())
        return self.readings[-1]


@dataclass(slots=True)
class Lane:
    told: Counter[str] = field(default_factory=Counter)
    doubts: list[tuple[float, ...]] = field(default_factory=list)  # the readings of the clock


async def run_lane(account: SesSettings, count: int, longest: float) -> Lane:
    lane, clock = Lane(), NotingClock()
    provider = Ses(account, clock=clock)
    await provider.open()
    for number in range(count):
        async for _, outcome in provider.send([make_mail(number, SMALL)], boottime() + 600):
            lane.told[type(outcome).__name__] += 1
            if isinstance(outcome, InDoubt):
                lane.doubts.append(tuple(clock.readings))
        await asyncio.sleep(random.uniform(0.0, longest))
    await provider.close()
    return lane


def find_delays(lane: Lane, closes: list[Span]) -> list[float | None]:
    """How long after the last look the connection of each mail in doubt was closed at most; None
    if it was closed before that look, or not at all.
    """
    delays: list[float | None] = []
    for before_look, _, told_at in lane.doubts:
        ends = (end for start, end in closes if before_look < end and start < told_at)
        end = next(ends, None)
        delays.append(None if end is None else end - before_look)
    return delays


async def prove_random(count: int, lanes: int, longest: float) -> bool:
    pipe = start(serve_lanes, lanes, longest)
    endpoints = await asyncio.to_thread(pipe.recv)
    runs = [run_lane(settings(endpoint), count // lanes, longest) for endpoint in endpoints]
    done = await asyncio.gather(*runs)
    pipe.send("stop")
    closes = await asyncio.to_thread(pipe.recv)
    told = sum((lane.told for lane in done), Counter[str]())
    delays = [
        delay
        for lane, lane_closes in zip(done, closes, strict=True)
        for delay in find_delays(lane, lane_closes)
    ]
    known = sorted(delay for delay in delays if delay is not None)
    sys.stdout.write(
        f"{lanes} connections, pauses and closes of 0 to {longest * 1000:.0f} ms at random:"
        f" {dict(told)}; the servers closed {sum(map(len, closes))}. Of {len(delays)} in doubt,"
        f" {len(known)} were closed after our last look: {describe(known)}.\n"
    )
    is_harmless = set(told) <= {"Accepted", "InDoubt", "TryLater"}
    return is_harmless and len(known) == len(delays)


def describe(delays: list[float]) -> str:
    if not delays:
        return "none"
    middle = delays[len(delays) // 2]
    return f"{delays[0] * 1e3:.1f} to {delays[-1] * 1e3:.1f} ms, half within {middle * 1e3:.1f} ms"


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bursts", type=int, default=20_000, metavar="MAILS")
    parser.add_argument("--random", type=int, default=20_000, metavar="MAILS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        held = await prove_bursts(options.bursts, 400, Path(folder))
    held = await prove_random(options.random, 20, 0.2) and held
    sys.stdout.write("Held.\n" if held else "BROKEN.\n")
    return 0 if held else 1


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as _runner:
        sys.exit(_runner.run(main()))
