"""`just pairs ledger ../before`: this checkout beside another one, measured in turn.

The other checkout needs a virtual environment of its own, and a `steps.py` that takes the same
orders.
Each step is measured in both, one directly after the other and with the order changing, so that
what else the machine does hits both alike. The ratio is this checkout's figure to the other's.
"""

import argparse
import os
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.bench import steps

HERE = Path(__file__).parents[2]


class Checkout:
    """A checkout whose bench is up, in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.steps = self._hear(steps.READY)

    def measure(self, step: str) -> float:
        self._say(step)
        [figure] = self._hear(steps.RESULT)
        return float(figure)

    def end(self) -> None:
        self._say(steps.END)
        self._process.wait(60)

    def _say(self, word: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def _hear(self, word: str) -> list[str]:
        """The fields of the next line that begins with a word; benches print other lines, too."""
        for line in self._process.stdout or ():
            first, *fields = line.rstrip("\n").split("\t")
            if first == word:
                return fields
        msg = f"the bench ended with {self._process.wait()}"
        raise RuntimeError(msg)


@contextmanager
def started(folder: Path, bench: str, redis: int) -> Iterator[Checkout]:
    environment = {
        **os.environ,
        "PATH": f"{folder / '.venv/bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
        "REDIS_URL": f"redis://127.0.0.1:6379/{redis}",
    }
    with subprocess.Popen(
        [str(folder / ".venv/bin/python"), str(next(folder.glob("*/bench/steps.py"))), bench],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        checkout = Checkout(process)
        yield checkout
        checkout.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench", choices=steps.BENCHES)
    parser.add_argument("before", type=Path, help="the folder of the other checkout")
    parser.add_argument("steps", nargs="*", help="some of the bench's steps")
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    with (
        started(options.before.resolve(), options.bench, redis=14) as before,
        started(HERE, options.bench, redis=15) as after,
    ):
        print(f"{'':20}{'before':>9}{'after':>9}{'ratio':>8}{'quartiles':>12}")
        for step in options.steps or after.steps:
            before.measure(step), after.measure(step)  # the first one is slower
            _print(step, [_pair(before, after, step, n) for n in range(options.pairs)])


def _pair(before: Checkout, after: Checkout, step: str, number: int) -> tuple[float, float]:
    if number % 2:
        later = after.measure(step)
        return before.measure(step), later
    return before.measure(step), after.measure(step)


def _print(step: str, pairs: Sequence[tuple[float, float]]) -> None:
    old, new = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = sorted(after / before for before, after in pairs)
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    print(f"{step:20}{old:9,.0f}{new:9,.0f}{median:8.2f}{low:7.2f}-{high:.2f}", flush=True)


if __name__ == "__main__":
    main()
