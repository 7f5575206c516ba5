"""A program that a supervisor runs in tests: it writes down what happens to it.

Arguments: the folder to write to, and what the first process of it does; all later ones live.
"""

import asyncio
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

from postledger.workers import supervisor

FOLDER, FIRST = Path(sys.argv[1]), sys.argv[2]


def note(file: str, line: object) -> None:
    with (FOLDER / file).open("a") as out:
        out.write(f"{line}\n")


async def live() -> None:
    """Beats until the second signal that asks for the end."""
    loop, beat = asyncio.get_running_loop(), supervisor.heartbeat()
    signals: asyncio.Queue[signal.Signals] = asyncio.Queue()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signals.put_nowait, number)

    def beat_again() -> None:
        beat()
        loop.call_later(0.1, beat_again)

    beat_again()
    note("started", os.getpid())
    for _ in range(2):
        note("signals", (await signals.get()).name)
    await asyncio.sleep(0.5)


def beat_from_a_thread() -> None:
    beat = supervisor.heartbeat()
    while True:
        beat()
        time.sleep(0.1)


def hold_the_interpreter() -> None:
    """One call of the regular-expression engine, in C, that takes longer than anybody lives."""
    signal.signal(signal.SIGTERM, lambda *_: note("signals", "SIGTERM"))
    threading.Thread(target=beat_from_a_thread, daemon=True).start()
    time.sleep(0.5)
    note("started", os.getpid())
    re.match(r"(a|aa)+$", "a" * 90 + "b")


def main() -> int:
    is_first = not (FOLDER / "started").exists()
    if is_first and FIRST == "holds":
        hold_the_interpreter()
    if is_first and FIRST == "fails":
        note("started", os.getpid())
        return 3
    asyncio.run(live())
    return 7


if __name__ == "__main__":
    sys.exit(main())
