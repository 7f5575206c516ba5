"""Timeouts that a stop of the process does not cause.

After SIGSTOP and SIGCONT, a pause of the virtual machine or a long block of the event loop, the
loop runs timers that are due before it reads its sockets. An answer that lies in a socket would be
thrown away for a timeout, and a mail that was taken would be in doubt. So a timer that fires late
ends nothing yet: it first gives the loop time to read.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

LATE = 0.1  # a timer later than this by so many seconds fires after a stop
GRACE = 0.1  # seconds for the loop to read what arrived meanwhile


@asynccontextmanager
async def timeout_at(when: float) -> AsyncGenerator[None]:
    """As asyncio.timeout_at, but after a stop the loop reads its sockets before the timeout."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as timeout:

        def expire() -> None:
            now = loop.time()
            timeout.reschedule(now + GRACE if now - when > LATE else now)

        timer = loop.call_at(when, expire)
        try:
            yield
        finally:
            timer.cancel()
