"""What `just bench send ses` needs: the fake, bare clients of it, and the processor's seconds."""

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FakeProcess:
    endpoint: str
    pid: int


@contextmanager
def fake_ses() -> Iterator[FakeProcess]:
    """A fake without a journal: that would measure the disk."""
    command = [sys.executable, "-m", "tools.fakes.ses", "--port", "0"]
    named = ["--identity", "bench.example", "--keep", "1"]
    process = subprocess.Popen([*command, *named], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    [endpoint] = re.findall(r"http://[\d.:]+\d", process.stdout.readline())
    try:
        yield FakeProcess(endpoint, process.pid)
    finally:
        process.terminate()
        process.wait()


@dataclass
class CpuMeter:
    """Milliseconds of the processor for each mail: of the clients, and of the fake."""

    fake: FakeProcess
    mails: int
    clients: list[float] = field(default_factory=list)
    fakes: list[float] = field(default_factory=list)

    @contextmanager
    def measuring(self, pids: Sequence[int]) -> Iterator[None]:
        before = read_seconds(pids), read_seconds([self.fake.pid])
        yield
        after = read_seconds(pids), read_seconds([self.fake.pid])
        self.clients.append((after[0] - before[0]) * 1000 / self.mails)
        self.fakes.append((after[1] - before[1]) * 1000 / self.mails)

    def describe(self) -> str:
        client, fake = statistics.median(self.clients), statistics.median(self.fakes)
        return f"{client:.2f} ms CPU per mail, and {fake:.2f} ms of the fake"


def read_seconds(pids: Sequence[int]) -> float:
    """What these processes have used so far, user and system."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def call_bare(meter: CpuMeter, count: int, size: int) -> float:
    """Mails a second of so many clients that share the mails; each prepares its own first."""
    share = meter.mails // count
    module = [sys.executable, "-m", "tools.bench.bare_ses"]
    command = [*module, meter.fake.endpoint, str(share), str(size)]
    pipe = subprocess.PIPE
    clients = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(count)]
    for client in clients:
        _read_line(client)
    began = time.perf_counter()
    with meter.measuring([client.pid for client in clients]):
        for client in clients:
            _write_line(client)
        for client in clients:
            _read_line(client)
        elapsed = time.perf_counter() - began
    for client in clients:
        _write_line(client)
        assert client.wait() == 0
    return share * count / elapsed


def _read_line(client: subprocess.Popen[str]) -> None:
    assert client.stdout is not None
    assert client.stdout.readline() in {"ready\n", "done\n"}


def _write_line(client: subprocess.Popen[str]) -> None:
    assert client.stdin is not None
    client.stdin.write("\n")
    client.stdin.flush()
