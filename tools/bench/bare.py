"""The ledger's own statements, run inside PostgreSQL without any client: what the engine allows."""

import re
import time
from multiprocessing import get_context
from typing import LiteralString

import psycopg

from postledger.deliveries.ledger import arming, claiming, planning, settling
from postledger.deliveries.queries import work

_PARAMETER = re.compile(r"%\((\w+)\)[sb]")

_DECLARE: LiteralString = """
    v_lease bigint; v_lease_time interval := '120 seconds'; v_grace interval := '15 minutes';
    v_holder text := 'bare'; v_ids bigint[]; v_versions int[]; v_los bigint[]; v_his bigint[];
    v_tos bigint[]; v_moved_tos bigint[]; v_positions bigint[]; v_message_ids text[];
    v_durations int[]; v_n int; v_ignored record; v_matched bigint[]; v_booked text[];
    v_found boolean; v_epoch int := 1; v_alone boolean := false;
"""

_ACCEPTED: LiteralString = """
    v_durations := array_fill(NULL::int, ARRAY[cardinality(v_positions)]);
    v_message_ids := ARRAY(
        SELECT '0100' || left(md5((v_stream + p)::text), 16) || '-9d1c7a6e-000000'
        FROM unnest(v_positions) AS p
    );
"""


def install(address: str) -> None:
    """Writes the procedures into the measured database."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(_batches().encode())
        connection.execute(_singles().encode())
        connection.execute(_plan().encode())


def _batches() -> str:
    waiting = _bare(work._WAITING).replace(
        "SELECT d.position, d.address, d.contact_id, d.variables, d.attempts, d.letter",
        "SELECT array_agg(d.position) INTO v_positions",
        1,
    )
    return f"""
CREATE PROCEDURE bare_batches(v_stream bigint, v_limit int, INOUT moved bigint)
LANGUAGE plpgsql AS $$
DECLARE {_DECLARE}
BEGIN
    LOOP
        {_claim()}
        COMMIT;
        EXIT WHEN v_n = 0;
        WHILE v_n > 0 LOOP
            SELECT array_agg(least(lo + 50, hi)) INTO v_tos FROM unnest(v_los, v_his) AS w (lo, hi);
            v_moved_tos := v_tos;
            {waiting}
            {_into(arming._ARM, "v_ignored")}
            COMMIT;
            {_ACCEPTED}
            {_into(settling._SETTLE_ACCEPTED, "v_matched, v_booked, v_found")}
            COMMIT;
            moved := moved + cardinality(v_booked);
            SELECT count(*), array_agg(id), array_agg(version), array_agg(upto), array_agg(hi)
            INTO v_n, v_ids, v_versions, v_los, v_his
            FROM unnest(v_ids, v_versions, v_tos, v_his) AS w (id, version, upto, hi)
            WHERE upto < hi;
        END LOOP;
    END LOOP;
END $$"""


def _claim() -> str:
    head, _ = _bare(claiming._CLAIM).rsplit("SELECT lease, (SELECT epoch", 1)
    return f"""{head}
        SELECT max(lease), count(*), array_agg(id), array_agg(version), array_agg(lo),
               array_agg(hi)
        INTO v_lease, v_n, v_ids, v_versions, v_los, v_his FROM claimed;"""


def _singles() -> str:
    return f"""
CREATE PROCEDURE bare_singles(v_stream bigint, v_limit int, INOUT moved bigint)
LANGUAGE plpgsql AS $$
DECLARE {_DECLARE}
BEGIN
    LOOP
        {_claim()}
        COMMIT;
        EXIT WHEN v_n = 0;
        v_tos := v_his; v_moved_tos := v_his; v_positions := v_los;
        {_into(arming._ARM, "v_ignored")}
        COMMIT;
        {_ACCEPTED}
        {_into(settling._SETTLE_ACCEPTED, "v_matched, v_booked, v_found")}
        COMMIT;
        moved := moved + cardinality(v_booked);
    END LOOP;
END $$"""


def _plan() -> str:
    source = (
        "SELECT address, address AS dedupe_key, id AS contact_id, NULL::text AS variables,"
        " 0 AS letter, NULL::text AS kept_back"
        " FROM bench_contact WHERE id > v_after AND id <= v_after + 10000 ORDER BY id"
    )
    return f"""
CREATE PROCEDURE bare_plan(v_stream bigint, v_mails bigint, INOUT moved bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_after bigint := 0; v_due_at timestamptz := clock_timestamp(); v_reason text := 'ready';
    v_size int := 500; v_ignored record;
BEGIN
    WHILE v_after < v_mails LOOP
        {_into(planning.PLAN.replace("{source}", source).replace("{repeated}", ""), "v_ignored")}
        COMMIT;
        v_after := v_after + 10000;
    END LOOP;
    moved := v_mails;
END $$"""


def _bare(statement: str) -> str:
    return _PARAMETER.sub(r"v_\1", statement).rstrip() + ";"


def _into(statement: str, targets: str) -> str:
    """The statement with its last SELECT's columns put into variables."""
    head, _, tail = _bare(statement).rpartition("\nSELECT ")
    if not tail.startswith("("):
        columns, _, source = tail.rpartition(" FROM ")
        return f"{head}\nSELECT {columns} INTO {targets} FROM {source}"
    return f"{head}\nSELECT {tail.removesuffix(';')} INTO {targets};"


def run(address: str, procedure: str, stream_id: int, size: int, *, workers: int = 1) -> float:
    """Calls a procedure from several sessions at once; returns deliveries per second."""
    context = get_context("spawn")
    results = context.Queue()
    start = context.Barrier(workers)
    arguments = (address, procedure, stream_id, size, start, results)
    processes = [context.Process(target=_session, args=arguments) for _ in range(workers)]
    for process in processes:
        process.start()
    sessions = [results.get() for _ in processes]
    for process in processes:
        process.join()
    moved = sum(count for count, _, _ in sessions)
    return float(
        moved / (max(last for *_, last in sessions) - min(first for _, first, _ in sessions))
    )


def _session(address, procedure, stream_id, size, start, results):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    with psycopg.connect(address, autocommit=True) as connection:
        start.wait()
        began = time.monotonic()
        [(moved,)] = connection.execute(
            f"CALL {procedure}(%s, %s, 0)", [stream_id, size]
        ).fetchall()
        results.put((moved, began, time.monotonic()))
