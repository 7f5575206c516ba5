"""Waits with an end, and ports nobody uses."""

import socket
import time
from collections.abc import Callable


def until(true: Callable[[], object], *, seconds: float, every: float = 0.05) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            msg = f"still not so after {seconds} s"
            raise TimeoutError(msg)
        time.sleep(every)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
