"""Makes verbs of the ledger collide: threads with their own connections, stopped where it hurts."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import LiteralString

from django.db import connection, connections, transaction
from psycopg import sql as pg

from postledger.deliveries import audit, ledger
from postledger.deliveries.entries import Claim, Entry, Evidence, Window, accepted
from postledger.deliveries.ledger import Planned, sql
from tests import cast

PATIENCE = 120.0
NOW = datetime.now(UTC)

type Verb[T] = Callable[[], T]


class Running[T]:
    """A verb on its way in a thread of its own; `stops` keeps it from committing until told."""

    def __init__(self, verb: Verb[T], *, stops: bool = False) -> None:
        self._answer: Future[T] = Future()
        self._pid: Future[int] = Future()
        self._reached = threading.Event()
        self._go = threading.Event()
        if not stops:
            self._go.set()
        threading.Thread(target=self._run, args=(verb, stops), daemon=True).start()

    def _run(self, verb: Verb[T], stops: bool) -> None:  # noqa: FBT001  a thread's target
        try:
            with connection.cursor() as cursor:
                # Whatever goes wrong, no test hangs.
                cursor.execute("SET lock_timeout = '100s'")
                cursor.execute("SELECT pg_backend_pid()")
                self._pid.set_result(cursor.fetchone()[0])
            if stops:
                with transaction.atomic():
                    value = verb()
                    self._reached.set()
                    self._go.wait(PATIENCE)
            else:
                value = verb()
            self._answer.set_result(value)
        except BaseException as error:  # noqa: BLE001  raised again where the answer is asked for
            self._answer.set_exception(error)
        finally:
            self._reached.set()
            connections.close_all()

    def must_wait(self) -> None:
        """Returns as soon as the verb waits for somebody's lock; fails when it does not."""
        assert self.comes_to_rest(), "it did not wait"

    def comes_to_rest(self) -> bool:
        """Returns when the verb waits for somebody's lock (True) or is done (False)."""
        pid = self._pid.result(PATIENCE)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if sql.rows("SELECT pg_blocking_pids(%(pid)s)", {"pid": pid})[0][0]:
                return True
            if self._reached.is_set():
                return False
            time.sleep(0.002)
        raise AssertionError("it neither waited nor came to its end")

    def must_stop(self) -> None:
        """Returns when the verb is done and only the commit is missing."""
        assert self._reached.wait(PATIENCE)
        if self._answer.done():
            self._answer.result()

    def answer(self) -> T:
        """Lets it commit, and returns what the verb returned or raises what it raised."""
        self._go.set()
        return self._answer.result(PATIENCE)

    def is_done(self) -> bool:
        return self._answer.done()


def start[T](verb: Verb[T]) -> Running[T]:
    return Running(verb)


def waiting[T](verb: Verb[T]) -> Running[T]:
    """A verb that waits for somebody's lock; fails when it does not."""
    running = start(verb)
    running.must_wait()
    return running


@contextmanager
def uncommitted[T](verb: Verb[T]) -> Iterator[Running[T]]:
    """A verb that has done its work and not committed; it commits at the end at the latest."""
    running = Running(verb, stops=True)
    try:
        running.must_stop()
        yield running
    finally:
        running.answer()


@contextmanager
def stopping[T](verb: Verb[T]) -> Iterator[Running[T]]:
    """The same for a verb that will first have to wait for somebody."""
    running = Running(verb, stops=True)
    try:
        yield running
    finally:
        running.answer()


@contextmanager
def meanwhile[T](verbs: Iterable[Callable[[threading.Event], T]]) -> Iterator[list[Running[T]]]:
    """Runs verbs in the background; each goes on until its event is set, at the end."""
    ends = threading.Event()
    running = [start(partial(verb, ends)) for verb in verbs]
    try:
        yield running
    finally:
        ends.set()
        for one in running:
            one.answer()


def together[T](verbs: Iterable[Verb[T]]) -> list[T]:
    """Runs them at the same moment, each on its own connection; answers in the order given."""
    verbs = list(verbs)
    barrier = threading.Barrier(len(verbs), timeout=PATIENCE)

    def at_once(verb: Verb[T]) -> Verb[T]:
        def run() -> T:
            barrier.wait()
            return verb()

        return run

    running = [start(at_once(verb)) for verb in verbs]
    return [one.answer() for one in running]


_NUMBERS = pg.SQL("""
SELECT 'r' || n || '@example.com' AS address, 'r' || n AS dedupe_key,
       NULL::bigint AS contact_id, NULL::text AS variables, 0 AS letter,
       NULL::text AS kept_back
FROM generate_series(%(first)s::bigint, %(last)s::bigint, %(step)s::bigint) AS n
""")


def plan(stream_id: int, first: int, last: int, *, step: int = 1) -> Planned:
    """Plans the recipients with the numbers first to last, by a query inside the database."""
    params = {"first": first, "last": last, "step": step}
    return ledger.plan(stream_id, source=_NUMBERS, params=params, due_at=NOW)


def findings(*stream_ids: int) -> list[str]:
    """What the audit holds against these streams."""
    return [
        str(discrepancy) for id_ in stream_ids for discrepancy in audit.audit(id_).discrepancies
    ]


def accept_all(*windows: Window) -> list[Entry]:
    """The answers of a provider that took everything."""
    return [
        accepted(position, message_id=f"m{window.batch.stream_id}-{position}")
        for window in windows
        for position in range(window.batch.lo, window.to)
    ]


def proof(position: int, *, try_number: int = 1) -> Evidence:
    """A provider's event: it took this try."""
    return Evidence(try_number, accepted(position, message_id=f"event-{position}"), "webhook")


def claim(stream_id: int, *, limit: int = 5) -> Claim | None:
    return ledger.claim(stream_id, holder="worker", limit=limit, lease_time=cast.LEASE)


def arm(claim: Claim, *windows: Window) -> list[Window]:
    """Arms these windows, or each batch as one."""
    return ledger.arm(claim, windows or whole(claim), lease_time=cast.LEASE)


def whole(claim: Claim) -> list[Window]:
    """Each batch of a claim as one window."""
    return [Window(batch, batch.hi) for batch in claim.batches]


def column(stream_id: int, name: LiteralString) -> dict[int, object]:
    """One column of a stream's deliveries, by position."""
    statement = pg.SQL(
        "SELECT position, {name} FROM deliveries_delivery WHERE stream_id = %(stream)s"
    ).format(name=pg.Identifier(name))
    return dict((row[0], row[1]) for row in sql.rows(statement, {"stream": stream_id}))  # noqa: C402


def batch_column(stream_id: int, name: LiteralString) -> dict[int, object]:
    """One column of a stream's live batches, by their first position."""
    statement = pg.SQL(
        "SELECT lo, {name} FROM deliveries_batch WHERE stream_id = %(stream)s ORDER BY lo"
    ).format(name=pg.Identifier(name))
    return dict((row[0], row[1]) for row in sql.rows(statement, {"stream": stream_id}))  # noqa: C402
