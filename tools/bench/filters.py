"""`just bench filters`: how long filters take to be counted among a million contacts.

Every filter is answered in 300 ms, or the product says which index is missing or that none helps.
"""

import argparse
import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING

from tools.bench import cluster, work
from tools.bench.asked import ASKED

if TYPE_CHECKING:
    from postledger.contacts.filters.expressions import Filter

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
PROMISED = 0.300
SEED = 20261115
HEEDED = 6


@dataclass(frozen=True)
class Timed:
    """A filter, how many it means, how long the quicker of two counts took, and the advice.

    Beside the clock, the server's processor time: other work on the machine does not change it.
    """

    asked: object
    meant: int
    seconds: float
    processor: float
    advice: str | None

    @property
    def is_slow(self) -> bool:
        return self.seconds > PROMISED


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contacts", type=int, default=1_000_000)
    parser.add_argument("--made-up", type=int, default=200)
    options = parser.parse_args()
    with cluster.running() as address:
        work.connect(address)
        workspace_id = _prepared(options.contacts)
        made_up = list(islice(_generate_filters(), options.made_up))
        written = measure(workspace_id, ASKED)
        report("written by hand", written)
        generated = measure(workspace_id, made_up)
        report("made up", generated)
        heed(workspace_id, [*written, *generated])


def _prepared(contacts: int) -> int:
    from django.core.management import call_command

    from tools.bench import crowd

    call_command("migrate", verbosity=0)
    began = time.perf_counter()
    workspace_id = crowd.gather("acme", size=contacts, now=NOW)
    print(f"{contacts:,} contacts in {time.perf_counter() - began:.0f} s", flush=True)
    return workspace_id


def _generate_filters() -> Iterator[object]:
    """Filters of the generator with which the database is compared to Python, each once."""
    import hypothesis

    from tests.contacts.test_filter_agreement import expressions

    filters: dict[str, object] = {}

    @hypothesis.seed(SEED)
    @hypothesis.settings(
        max_examples=1_000,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(expressions)
    def collect(data: object) -> None:
        filters.setdefault(json.dumps(data), data)

    collect()
    yield from map(json.loads, filters)


def measure(workspace_id: int, asked: list[object]) -> list[Timed]:
    return [_time_filter(workspace_id, data) for data in asked]


def _time_filter(workspace_id: int, data: object) -> Timed:
    from postledger.contacts import index_advice

    meant = _parsed(data)
    counted, seconds, processor = _count_members(workspace_id, meant)
    if seconds > PROMISED:
        # Pages are read from the disk once, and other work comes and goes.
        _, again, less = _count_members(workspace_id, meant)
        seconds, processor = min(seconds, again), min(processor, less)
    advice = index_advice.advise(workspace_id, meant, took=timedelta(seconds=seconds))
    return Timed(data, counted, seconds, processor, advice)


def _count_members(workspace_id: int, meant: "Filter") -> tuple[int, float, float]:
    from postledger.contacts import audience

    worked, began = _read_processor_time(), time.perf_counter()
    count = audience.count(workspace_id, meant)
    seconds = time.perf_counter() - began
    return count, seconds, _read_processor_time() - worked


def _read_processor_time() -> float:
    """The processor time of the one process that serves this connection, in seconds."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET max_parallel_workers_per_gather = 0")
        cursor.execute("SELECT pg_backend_pid()")
        [(pid,)] = cursor.fetchall()
    numbers = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def _parsed(data: object) -> "Filter":
    from postledger.contacts.filters import parsing

    return parsing.parse(data, now=NOW)


def report(name: str, timings: list[Timed]) -> None:
    slow = [timing for timing in timings if timing.is_slow]
    kinds = Counter(_kind(timing.advice) for timing in slow)
    print(f"\n{name}: {len(timings)} filters")
    print(f"  by the clock        {_spread([timing.seconds for timing in timings])}")
    print(f"  by processor time   {_spread([timing.processor for timing in timings])}")
    print(f"  of the {len(slow)} slow ones: {', '.join(f'{kinds[kind]} {kind}' for kind in KINDS)}")
    warned = sum(timing.advice is not None and not timing.is_slow for timing in timings)
    print(f"  advice on {warned} that were within the time", flush=True)
    for timing in slow:
        print(
            f"{_ms(timing.seconds)} {_ms(timing.processor)}"
            f" {timing.meant:9,}  {_kind(timing.advice)}"
        )
        print(f"           {json.dumps(timing.asked)[:240]}", flush=True)


def _spread(times: list[float]) -> str:
    at, within = quantiles(times, n=100), sum(one <= PROMISED for one in times)
    return (
        f"{within:3} within {_ms(PROMISED)}: p50 {_ms(at[49])}, p95 {_ms(at[94])},"
        f" at most {_ms(max(times))}"
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:6,.0f} ms"


KINDS = ("with an index to make", "that no index helps", "SILENT")


def _kind(suggestion: str | None) -> str:
    if suggestion is None:
        return KINDS[2]
    return KINDS[0] if "CREATE INDEX" in suggestion else KINDS[1]


def heed(workspace_id: int, timings: list[Timed]) -> None:
    """Makes the indexes that the first few slow filters lack, and counts again."""
    from django.db import connection

    lacking = [timing for timing in timings if timing.is_slow and _kind(timing.advice) == KINDS[0]]
    print("\nwith the index that was named:")
    made: set[str] = set()  # several may lack the same one
    for timing in lacking[:HEEDED]:
        wanted = set(re.findall(r"CREATE [^;]+", str(timing.advice)))
        with connection.cursor() as cursor:
            for statement in wanted - made:
                cursor.execute(statement)
            made |= wanted
            cursor.execute("ANALYZE contacts_contact")
        again = _time_filter(workspace_id, timing.asked)
        assert again.meant == timing.meant
        print(
            f"{_ms(timing.seconds)} -> {_ms(again.seconds)} by the clock,"
            f" {_ms(timing.processor)} -> {_ms(again.processor)} by processor time"
        )
        print(f"           {json.dumps(timing.asked)[:240]}", flush=True)


if __name__ == "__main__":
    main()
