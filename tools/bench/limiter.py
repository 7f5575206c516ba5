"""`just bench limiter`: what the limiter costs a mail in blocks, beside one bare INCR a mail."""

import argparse
import asyncio
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from redis.asyncio import Redis

from postledger.pacing.limiter import Limiter
from postledger.pacing.limits import (
    AccountLimits,
    Day,
    Figures,
    Granted,
    Horizon,
    MemberLimit,
    Quota,
    Request,
    SenderLimits,
    Unfilled,
)

_PARTS = 9
_PLENTY = 1_000_000_000
_FAR = Horizon(3600, 3600, 3600, 3600, lifetime=3600)  # the bench waits for no moment
_COMMANDS = {"cmdstat_evalsha", "cmdstat_incr"}


class Bench:
    def __init__(self, url: str, block: int) -> None:
        self._redis = Redis.from_url(url)
        self._limiter = Limiter(url, _FAR, timeout=60)
        self._block = block
        self._costs: dict[str, list[tuple[float, float]]] = {}

    async def run(self, mails: int) -> None:
        """Measures in turn, in small parts, so that what else the machine does hits all alike."""
        for _ in range(_PARTS):
            await self._measure("bare INCR", self._count, mails, 1)
            for name, rate, ahead in (
                ("counts, no rate", None, 0),
                ("counts and two rates, idle", 500.0, 0),
                ("the same, 500 moments ahead", 500.0, 500),
            ):
                request = await self._prepare(rate, ahead)
                rounds = 10 if rate else mails // self._block
                await self._measure(name, partial(self._grant, request), rounds * self._block)
        self._print()
        await self._limiter.close()
        await self._redis.aclose()

    async def _measure(
        self, name: str, step: Callable[[], Awaitable[None]], mails: int, size: int = 0
    ) -> None:
        rounds = mails // (size or self._block)
        await self._redis.config_resetstat()
        began = time.perf_counter()
        for _ in range(rounds):
            await step()
        seconds = time.perf_counter() - began
        stats = await self._redis.info("commandstats")
        spent = sum(row["usec"] for command, row in stats.items() if command in _COMMANDS)
        self._costs.setdefault(name, []).append((seconds * 1e6 / mails, spent / mails))

    async def _count(self) -> None:
        # incr() would send INCRBY, which the script sends too.
        await self._redis.execute_command("INCR", "bare")  # type: ignore[no-untyped-call]

    async def _grant(self, request: Request) -> None:
        outcome = await self._limiter.grant(request)
        assert isinstance(outcome, Granted), outcome
        assert outcome.count == self._block

    async def _prepare(self, rate: float | None, ahead: int) -> Request:
        """A Redis that was filled long ago, with so many moments taken ahead."""
        await self._redis.flushall()
        run_id = (await self._redis.info("server"))["run_id"]
        await self._redis.set("postledger:pacing:server", f"{run_id}:1")
        request = _ask(self._block, rate)
        outcome = await self._limiter.grant(request)
        assert isinstance(outcome, Unfilled), outcome
        assert await self._limiter.fill(outcome, request, Figures(0, 0))
        for _ in range(ahead // self._block):
            await self._grant(request)
        return request

    def _print(self) -> None:
        print(f"{'µs a mail':30}{'client':>10}{'server':>10}")
        for name, costs in self._costs.items():
            client, server = (statistics.median(column) for column in zip(*costs, strict=True))
            print(f"{name:30}{client:10.2f}{server:10.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mails", type=int, default=2_000, help="of each part")
    parser.add_argument("--block", type=int, default=50)
    options = parser.parse_args()
    with _serve_redis() as url:
        asyncio.run(Bench(url, options.block).run(options.mails))


@contextmanager
def _serve_redis() -> Iterator[str]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "redis.sock"
        command = ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", ""]
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        try:
            while not path.exists():
                time.sleep(0.05)
            yield f"unix://{path}"
        finally:
            server.terminate()
            server.wait(10)


def _ask(block: int, rate: float | None) -> Request:
    """Every count has a limit, and none is ever reached."""
    now = datetime.now(UTC)
    day = Day("ever", now - timedelta(days=1), now + timedelta(days=1), now)
    account = AccountLimits(1, rate=rate, quota=Quota(_PLENTY, _PLENTY, 1, None, now))
    limits = SenderLimits(1, account, day, rate, per_hour=_PLENTY, per_day=_PLENTY)
    return Request(block, limits, MemberLimit(1, per_day=_PLENTY))


if __name__ == "__main__":
    main()
