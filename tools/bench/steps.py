"""The measurements of a bench, one at a time on request: what `pairs` asks two checkouts for.

Run as a file in the folder of the checkout that is measured, which `tools.bench` then belongs to.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

type Steps = Mapping[str, Callable[[], float]]

READY, RESULT, END = "ready", "result", "end"


@contextmanager
def ledger() -> Iterator[Steps]:
    from tools.bench import cluster, work
    from tools.bench.ledger import Bench

    mails, singles = 40_000, 10_000
    with cluster.running() as address:
        work.connect(address)
        bench = Bench(address, work.prepare(mails), mails, singles)
        yield {
            "plan": bench.plan,
            "enqueue": bench.enqueue_singles,
            "batches, 1 worker": lambda: bench.batches(1),
            "batches, 2 workers": lambda: bench.batches(2),
            "singles, 1 worker": lambda: bench.single(1),
            "singles, 2 workers": lambda: bench.single(2),
        }


@contextmanager
def send() -> Iterator[Steps]:
    from tools.bench import cluster, send, work

    options = argparse.Namespace(mails=20_000, seconds=5, workers=2)
    prefix = os.environ["QUEUE_PREFIX"] = f"bench-{os.getpid()}"
    with cluster.running() as address, tempfile.TemporaryDirectory() as folder:
        work.connect(address)
        work.prepare(options.mails)
        send.furnish()
        import postledger.config.celery  # noqa: F401  installs the wake-ups that `carried` sends
        from tests.journeys import rig

        with (
            rig.installation(
                Path(folder), address, prefix=prefix, API_RATE="1000000/second"
            ) as installed,
            send.sink() as port,
        ):
            bench = send.Bench(installed, options)
            to_sandbox = send.sender("sandbox", journal=str(Path(folder) / "journal"))
            to_sink = send.sender("smtp", host="127.0.0.1", port=port, tls="none", connections=25)
            url, token = bench.serving(), send.key()
            yield {
                "sandbox": lambda: bench.carried(to_sandbox),
                "smtp": lambda: bench.carried(to_sink),
                "api": lambda: bench.requested(f"{url}/v1/email/send", token),
            }


BENCHES = {"ledger": ledger, "send": send}


def main(name: str) -> None:
    with BENCHES[name]() as steps:
        print(READY, *steps, sep="\t", flush=True)
        for line in sys.stdin:
            if line.strip() == END:
                return
            print(RESULT, steps[line.strip()](), sep="\t", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
