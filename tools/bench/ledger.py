"""`just bench ledger`: how fast the books are, beside the same SQL without a client."""

import argparse
import statistics
from collections.abc import Callable
from functools import partial

from tools.bench import cluster, work

ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mails", type=int, default=100_000)
    parser.add_argument("--singles", type=int, default=30_000)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    options = parser.parse_args()
    with cluster.running() as address:
        work.connect(address)
        sender_id = work.prepare(options.mails)
        from tools.bench import bare

        bare.install(address)
        Bench(address, sender_id, options.mails, options.singles).run(options.workers)


class Bench:
    """Measures both ways in turn, so that what else the machine does hits both alike."""

    def __init__(self, address: str, sender_id: int, mails: int, singles: int) -> None:
        self.address = address
        self.sender_id = sender_id
        self.mails = mails
        self.singles = singles

    def run(self, workers: list[int]) -> None:
        print(f"{'per second, medians of three':38}{'ledger':>10}{'bare':>10}{'ratio':>8}")
        self.line("plan, chunks of 10,000", self.plan, self.bare_plan)
        self.line("enqueue one-mail batches, 500 a call", self.enqueue_singles, None)
        for count in workers:
            noun = "worker" if count == 1 else "workers"
            self.line(
                f"batches of 500, windows of 50, {count} {noun}",
                partial(self.batches, count),
                partial(self.bare_batches, count),
            )
        for count in workers:
            noun = "worker" if count == 1 else "workers"
            self.line(
                f"one-mail batches, 50 a claim, {count} {noun}",
                partial(self.single, count),
                partial(self.bare_single, count),
            )

    def line(self, name: str, ours: Callable[[], float], bare: Callable[[], float] | None) -> None:
        pairs = [(ours(), bare() if bare else 0.0) for _ in range(ROUNDS)]
        mine = statistics.median(first for first, _ in pairs)
        engine = statistics.median(second for _, second in pairs)
        tail = f"{engine:10,.0f}{mine / engine:8.2f}" if bare else ""
        print(f"{name:38}{mine:10,.0f}{tail}", flush=True)

    def plan(self) -> float:
        return self.mails / work.plan(work.open_stream(self.sender_id), self.mails)

    def bare_plan(self) -> float:
        from tools.bench import bare

        return bare.run(self.address, "bare_plan", work.open_stream(self.sender_id), self.mails)

    def enqueue_singles(self) -> float:
        stream_id = work.open_stream(self.sender_id, is_single=True)
        return self.singles / work.enqueue_singles(stream_id, self.singles)

    def batches(self, workers: int) -> float:
        stream_id = self._planned()
        moved, seconds = work.in_parallel(
            self.address, work.move_batches, stream_id, workers=workers
        )
        return moved / seconds

    def bare_batches(self, workers: int) -> float:
        from tools.bench import bare

        return bare.run(
            self.address, "bare_batches", self._planned(), work.IN_FLIGHT, workers=workers
        )

    def single(self, workers: int) -> float:
        moved, seconds = work.in_parallel(
            self.address, work.move_singles, self._enqueued(), workers=workers
        )
        return moved / seconds

    def bare_single(self, workers: int) -> float:
        from tools.bench import bare

        return bare.run(self.address, "bare_singles", self._enqueued(), 50, workers=workers)

    def _planned(self) -> int:
        stream_id = work.open_stream(self.sender_id)
        work.plan(stream_id, self.mails)
        return stream_id

    def _enqueued(self) -> int:
        stream_id = work.open_stream(self.sender_id, is_single=True)
        work.enqueue_singles(stream_id, self.singles)
        return stream_id


if __name__ == "__main__":
    main()
