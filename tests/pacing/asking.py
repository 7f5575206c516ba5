"""A worker in a process of its own: asks for mails, and prints the moments it was granted.

python asking.py <Redis URL> <rate> <mails to take> <file>

It ends when it has so many mails and the file exists.
"""

import asyncio
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from postledger.pacing.limiter import Limiter
from postledger.pacing.limits import (
    AccountLimits,
    Day,
    Figures,
    Granted,
    Horizon,
    Request,
    SenderLimits,
    Unfilled,
)

_EVER = Day(
    "ever",
    datetime(2000, 1, 1, tzinfo=UTC),
    datetime(2100, 1, 1, tzinfo=UTC),
    datetime(2100, 1, 1, tzinfo=UTC),
)


async def ask(url: str, rate: float, least: int, end: Path) -> list[int]:
    horizon = Horizon(start=0.1, end=0.1, reserved_start=0.1, reserved_end=0.1, lifetime=0.1)
    limiter = Limiter(url, horizon, timeout=60)
    request = Request(50, SenderLimits(1, AccountLimits(1), _EVER, rate=rate))
    moments: list[int] = []
    while len(moments) < least or not end.exists():  # noqa: ASYNC240  nothing else waits here
        outcome = await limiter.grant(request)
        if isinstance(outcome, Granted):
            moments += outcome.moments
        elif isinstance(outcome, Unfilled):
            await limiter.fill(outcome, request, Figures(0, 0))
        else:
            await asyncio.sleep(0.01)
    await limiter.close()
    return moments


if __name__ == "__main__":
    _, url, rate, least, end = sys.argv
    moments = asyncio.run(ask(url, float(rate), int(least), Path(end)))
    print(json.dumps(moments))  # noqa: T201
