"""A fake in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FakeProcess:
    process: subprocess.Popen[str]
    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def running(command: Sequence[str], most_kilobytes: int | None = None) -> Iterator[FakeProcess]:
    """The module of a fake with its arguments; its files can be limited in size."""
    limit = ["bash", "-c", f'ulimit -f {most_kilobytes}; exec "$@"', "limit"]
    process = subprocess.Popen(
        [*(limit if most_kilobytes else []), sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        introduction = process.stdout.readline()
        port = int(introduction.partition("http://127.0.0.1:")[2].partition(";")[0])
        yield FakeProcess(process, port)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
