"""A dispatcher at work in a thread of its own, and what its tests ask of ledger and journal."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import LiteralString

import uvloop
from django.db import connection
from psycopg import sql as pg

from postledger.accounts import provider_accounts, senders, workspaces
from postledger.deliveries import audit, ledger, queries
from postledger.deliveries.entries import Body, Hold, NewDelivery, StreamKind
from postledger.deliveries.ledger import sql
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.states import State
from postledger.dispatch import retry
from postledger.dispatch.context import Context
from postledger.dispatch.db_threads import DbThreads
from postledger.dispatch.dispatcher import Dispatcher
from postledger.dispatch.fence import Fence
from postledger.dispatch.holds import Holds
from postledger.dispatch.options import Options
from postledger.dispatch.pace.permits import Permits
from postledger.dispatch.provider_pool import ProviderPool, TakeEvent
from postledger.dispatch.witness import TokenWitness
from postledger.lib.ids import DeliveryId
from tests import cast

PATIENCE = 120.0
BODY = Body(subject="Hello", html="<p>Good morning.</p>", text="Good morning.")
QUICKLY = retry.read("3: 0.1 0.1")
OPTIONS = Options(
    shortest_lease=timedelta(seconds=60),
    stop_within=timedelta(seconds=10),
    policies=dict.fromkeys(StreamKind, QUICKLY),
)


@dataclass(frozen=True, slots=True)
class Office:
    """One sender with its account, and the file in which its sandbox writes down what it took."""

    workspace_id: int
    sender_id: int
    account_id: int | None
    journal: Path

    def taken(self) -> list[tuple[DeliveryId, str]]:
        """Every hand-over the provider took, in order."""
        if not self.journal.exists():
            return []
        lines = [line.split(" ", 1) for line in self.journal.read_text().splitlines()]
        hand_overs = [(DeliveryId.parse(id_), address) for id_, address in lines]
        return [(id_, address) for id_, address in hand_overs if id_ is not None]

    def taken_from(self, stream_id: int) -> list[int]:
        """The positions of a stream that were taken, each as often as it was."""
        return [id_.position for id_, _ in self.taken() if id_.stream_id == stream_id]


def open_office(
    folder: Path,
    workspace: str = "acme",
    *,
    kind: str | None = "sandbox",
    settings: Mapping[str, object] | None = None,
) -> Office:
    """`settings` are added to the sandbox's journal, or are all there is for another kind."""
    journal = folder / f"{workspace}-journal"
    workspace_id = workspaces.create_workspace(workspace, actor="alice")
    account_id = None
    if kind is not None:
        given = {"journal": str(journal)} if kind == "sandbox" else {}
        account_id = provider_accounts.create_account(
            workspace_id,
            name="main",
            kind=kind,
            settings={**given, **(settings or {})},
            actor="alice",
        )
    sender_id = senders.create_sender(
        workspace_id,
        address=f"news@{workspace}.example",
        name="News",
        account_id=account_id,
        actor="alice",
    )
    return Office(workspace_id, sender_id, account_id, journal)


def stream(
    office: Office,
    addresses: Sequence[str] = (),
    *,
    kind: StreamKind = StreamKind.CAMPAIGN,
    is_test: bool = False,
) -> int:
    """A stream with mail to these addresses, due now; positions are in their order."""
    is_single = kind is StreamKind.TRANSACTIONAL
    stream_id = ledger.open_stream(
        office.workspace_id,
        sender_id=office.sender_id,
        kind=kind,
        title="News",
        is_test=is_test,
        body=None if is_single else BODY,
    )
    enqueue(stream_id, addresses, body=BODY if is_single else None)
    return stream_id


def enqueue(stream_id: int, addresses: Sequence[str], *, body: Body | None = BODY) -> list[int]:
    positions: list[int] = []
    for first in range(0, len(addresses), 1000):
        lines = [NewDelivery(address, body=body) for address in addresses[first : first + 1000]]
        positions += ledger.enqueue(stream_id, lines)
    return positions


def people(count: int) -> list[str]:
    return [f"r{number}@example.com" for number in range(count)]


def context(db: DbThreads, providers: ProviderPool, holds: Holds | None = None) -> Context:
    """What stream workers share, without a witness outside the database."""
    fence = Fence(TokenWitness(redis_url="", folder=None, name="worker"))
    permits = Permits(db, None, OPTIONS.reserve, OPTIONS.horizon)
    return Context("worker", OPTIONS, db, providers, holds or Holds(db), fence, permits)


class Broke(list[BaseException]):
    """What `run` raised, if it did."""


@contextmanager
def dispatching(
    options: Options = OPTIONS, name: str = "worker", take_event: TakeEvent | None = None
) -> Iterator[Dispatcher]:
    """Runs a dispatcher until the block ends; then it is told to stop, and has stopped."""
    dispatcher = Dispatcher(name, options, take_event)
    broke = Broke()

    def run() -> None:
        try:
            uvloop.run(dispatcher.run())
        except BaseException as error:  # noqa: BLE001  raised again below
            broke.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield dispatcher
    finally:
        dispatcher.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the dispatcher does not stop"
    if broke:
        raise broke[0]


def until(
    holds: Callable[[], bool], dispatcher: Dispatcher | None = None, *, patience: float = PATIENCE
) -> None:
    """Waits for something to become true, and ticks meanwhile as beat would."""
    end = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        if dispatcher is not None:
            dispatcher.tick()
        time.sleep(0.03)


def send_all(*stream_ids: int, options: Options = OPTIONS) -> None:
    """Lets a dispatcher work until none of the streams has a mail that waits."""
    with dispatching(options) as dispatcher:
        until(lambda: not waiting(*stream_ids), dispatcher)


def waiting(*stream_ids: int) -> int:
    return sum(books.waiting for books in queries.read_books(stream_ids).values())


def counts(stream_id: int) -> dict[State, int]:
    """The stream's books without the zeros, after a recount that found nothing wrong."""
    audited = audit.audit(stream_id)
    assert [str(discrepancy) for discrepancy in audited.discrepancies] == []
    books = audited.books
    booked = {**books.counts, State.WAITING: books.waiting}
    return {state: count for state, count in booked.items() if count}


def states(stream_id: int) -> dict[str, State]:
    """The state of each address of a stream."""
    rows = sql.rows(
        "SELECT address, state FROM deliveries_delivery WHERE stream_id = %(stream)s",
        {"stream": stream_id},
    )
    return {address: State(state) for address, state in rows}


def facts(stream_id: int) -> StreamFacts:
    stream = queries.find_stream(stream_id)
    assert stream is not None
    return stream


def sender_hold(stream_id: int) -> Hold | None:
    return cast.sender_hold(facts(stream_id))


def attempts(stream_id: int) -> dict[str, int]:
    rows = sql.rows(
        "SELECT address, attempts FROM deliveries_delivery WHERE stream_id = %(stream)s",
        {"stream": stream_id},
    )
    return {address: count for address, count in rows}  # noqa: C416  rows are of any type


def details(stream_id: int) -> set[tuple[str, str | None, str | None]]:
    """What is kept of the attempts: outcome, code and detail."""
    rows = sql.rows(
        "SELECT outcome, code, detail FROM deliveries_attempt WHERE stream_id = %(stream)s",
        {"stream": stream_id},
    )
    return {(outcome, code, detail) for outcome, code, detail in rows}


def sent_once(office: Office, stream_id: int) -> bool:
    """Whether nobody of the stream was mailed twice."""
    return not [at for at, times in Counter(office.taken_from(stream_id)).items() if times > 1]


def end_sender_holds(ago: str = "1 second") -> None:
    """Lets the database's clock pass the end of every sender's hold that has one."""
    sql.rows(
        "UPDATE deliveries_senderhold SET until = clock_timestamp() - %(ago)s::text::interval"
        " WHERE until IS NOT NULL",
        {"ago": ago},
    )


def backends() -> list[int]:
    """The other connections to this database, whoever has them."""
    rows = sql.rows(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
        {},
    )
    return [pid for (pid,) in rows]


def terminate_backends() -> None:
    for pid in backends():
        sql.rows("SELECT pg_terminate_backend(%(pid)s)", {"pid": pid})


def alter_database(change: LiteralString) -> None:
    """Changes this database, for connections that are opened from now on."""
    name = pg.Identifier(connection.settings_dict["NAME"])
    with connection._nodb_cursor() as cursor:
        cursor.execute((pg.SQL("ALTER DATABASE {} ").format(name) + pg.SQL(change)).as_string())


@contextmanager
def no_connections() -> Iterator[None]:
    """Nobody but this thread keeps a connection to the database, and nobody gets a new one."""
    alter_database("ALLOW_CONNECTIONS false")
    try:
        terminate_backends()
        yield
    finally:
        alter_database("ALLOW_CONNECTIONS true")


@contextmanager
def read_only() -> Iterator[None]:
    """Everybody but this thread finds a standby: it answers, and takes no writes."""
    alter_database("SET default_transaction_read_only = on")
    try:
        terminate_backends()
        yield
    finally:
        alter_database("RESET default_transaction_read_only")


@contextmanager
def own_connection() -> Iterator[None]:
    """For a thread that ends: its connection ends with it."""
    try:
        yield
    finally:
        connection.close()


def of_sender(office: Office, sender_id: int) -> Office:
    return replace(office, sender_id=sender_id)


def leases(stream_id: int) -> list[int]:
    rows = sql.rows(
        "SELECT lease FROM deliveries_batch WHERE stream_id = %(stream)s AND lease IS NOT NULL",
        {"stream": stream_id},
    )
    return [lease for (lease,) in rows]


def is_leased(stream_id: int) -> bool:
    return bool(leases(stream_id))


def with_lease(seconds: float) -> Options:
    return replace(OPTIONS, shortest_lease=timedelta(seconds=seconds))
