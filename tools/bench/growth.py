"""`just bench growth`: what one delivery costs in a small and in a large ledger."""

import argparse
import time
from multiprocessing import get_context

from tools.bench import cluster, work

MOVED = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=[100_000, 10_000_000])
    options = parser.parse_args()
    header = ("deliveries", "plan/s", "moved/s", "pages/mail", "HOT %", "table MB", "grown MB")
    print("".join(f"{name:>12}" for name in header), flush=True)
    for size in options.sizes:
        # A process has one database for its life.
        child = get_context("spawn").Process(target=_measure, args=(size,))
        child.start()
        child.join()


def _measure(size: int) -> None:
    with cluster.running() as address:
        work.connect(address)
        _measure_at(address, size)


def _measure_at(address: str, size: int) -> None:
    """Fills one stream with `size` random addresses, then moves its first 100,000."""
    from django.db import connection

    sender_id = work.prepare(size)
    stream_id = work.open_stream(sender_id)
    planned = size / work.plan(stream_id, size)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")
        cursor.execute("SELECT pg_stat_statements_reset()")
        before = _size(cursor)
        updates, hot = _updates(cursor)
    began = time.perf_counter()
    moved, _ = work.in_parallel(
        address, work.move_first, (stream_id, min(MOVED, size) // 2), workers=2
    )
    seconds = time.perf_counter() - began
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(shared_blks_hit + shared_blks_read) FROM pg_stat_statements"
            " WHERE query LIKE '%deliveries_%' AND calls > 10"
        )
        [(pages,)] = cursor.fetchall()
        time.sleep(1.5)  # the statistics of a finished session arrive within a second
        updates_after, hot_after = _updates(cursor)
        grown = _size(cursor) - before
    share = 100 * (hot_after - hot) / (updates_after - updates)
    values = (size, planned, moved / seconds)
    print("".join(f"{value:12,.0f}" for value in values), end="")
    print(f"{float(pages) / moved:12.2f}{share:12.1f}{before / 1e6:12,.0f}{grown / 1e6:12,.1f}")


def _size(cursor) -> int:  # type: ignore[no-untyped-def]  # noqa: ANN001
    cursor.execute(
        "SELECT sum(pg_relation_size(inhrelid)) FROM pg_inherits"
        " WHERE inhparent = 'deliveries_delivery'::regclass"
    )
    [(size,)] = cursor.fetchall()
    return int(size)


def _updates(cursor) -> tuple[int, int]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    cursor.execute(
        "SELECT sum(n_tup_upd), sum(n_tup_hot_upd) FROM pg_stat_user_tables"
        " WHERE relname LIKE 'deliveries\\_delivery\\_%'"
    )
    [(updates, hot)] = cursor.fetchall()
    return int(updates), int(hot)


if __name__ == "__main__":
    main()
