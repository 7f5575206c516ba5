"""`just bench holds`: pausing, releasing and cancelling a stream of a million."""

import argparse
import time
from collections.abc import Callable

from tools.bench import cluster, work


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mails", type=int, default=1_000_000)
    options = parser.parse_args()
    with cluster.running() as address:
        work.connect(address)
        sender_id = work.prepare(options.mails)
        stream_id = work.open_stream(sender_id)
        work.plan(stream_id, options.mails)
        _measure(stream_id)


def _measure(stream_id: int) -> None:
    from postledger.deliveries import ledger
    from postledger.deliveries.reasons import Reason

    _timed("hold", lambda: ledger.hold(stream_id, reason=Reason.PAUSED, actor="bench"))
    _timed("release", lambda: ledger.release(stream_id))
    _timed("cancel", lambda: ledger.cancel(stream_id, actor="bench"))
    _drain(stream_id)


def _timed(name: str, verb: Callable[[], object]) -> None:
    began = time.perf_counter()
    verb()
    print(f"{name:10}{(time.perf_counter() - began) * 1000:8.1f} ms", flush=True)


def _drain(stream_id: int) -> None:
    """Drains in the background's portions; recounts the whole stream now and then."""
    from postledger.deliveries import audit, ledger

    drained, portions, recounts, seconds = 0, 0, 0, 0.0
    while True:
        began = time.perf_counter()
        ended = ledger.drain(stream_id)
        seconds += time.perf_counter() - began
        if not ended:
            break
        drained, portions = drained + ended, portions + 1
        if portions % 200 == 0:
            assert audit.audit(stream_id).discrepancies == []
            recounts += 1
    assert audit.audit(stream_id).discrepancies == []
    print(f"drain     {drained:,} in {portions:,} portions, {drained / seconds:,.0f}/s")
    print(f"the books balanced at each of {recounts + 1} recounts")


if __name__ == "__main__":
    main()
