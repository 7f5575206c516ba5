"""Timeouts that a stop of the process does not cause.

After SIGSTOP and SIGCONT, a pause of the virtual machine or a long block of the event loop, the
loop runs timers that are due before it reads its sockets. An answer that lies in a socket would be
thrown away for a timeout, and a mail that was taken would be in doubt. How late the timer fires
says nothing: a stop may end directly after the timeout. So a timer that fires ends nothing yet: it
first gives the loop time to read.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

GRACE = 0.1  # seconds for the loop to read what arrived meanwhile


@asynccontextmanager
async def timeout_at(when: float) -> AsyncGenerator[None]:
    """As asyncio.timeout_at, but the loop reads its sockets once more before the timeout."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as timeout:

        def expire() -> None:
            timeout.reschedule(loop.time() + GRACE)

        timer = loop.call_at(when, expire)
        try:
            yield
        finally:
            timer.cancel()
