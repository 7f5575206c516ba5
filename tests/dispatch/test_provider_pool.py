"""Which provider takes a stream's mail: accounts that come, change and go, and test streams."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import override

import pytest

from postledger.accounts import provider_accounts, senders
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.ledger import sql
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch.db_threads import DbThreads
from postledger.dispatch.holds import Holds
from postledger.dispatch.provider_pool import Blocked, OpenProvider, ProviderPool
from postledger.dispatch.stream_worker import StreamWorker
from postledger.providers.base import Accepted, OutgoingMessage, TryLater
from tests import cast
from tests.dispatch import office, vendors
from tests.dispatch.vendors import Answers
from tests.providers.fake_smtp import FakeSmtp, serving

pytestmark = pytest.mark.django_db(transaction=True)

LEASE = timedelta(seconds=60)


def hold_of(stream_id: int) -> tuple[Reason, bool] | None:
    """The reason of the sender's hold in force, and whether it has an end."""
    hold = office.sender_hold(stream_id)
    return None if hold is None else (hold.reason, hold.until is not None)


@asynccontextmanager
async def routing() -> AsyncIterator[ProviderPool]:
    db = DbThreads(1)
    providers = ProviderPool(db, LEASE)
    try:
        yield providers
    finally:
        await providers.close()
        db.close()


@pytest.mark.slow
@pytest.mark.sample
def test_mail_of_a_sender_without_an_account_waits_and_goes_by_itself_once_it_has_one(
    tmp_path: Path,
) -> None:
    acme = office.open_office(tmp_path, kind=None)
    stream = office.stream(acme, office.people(3))

    with office.dispatching() as dispatcher:
        office.until(lambda: hold_of(stream) == (Reason.SENDER_BLOCKED, True), dispatcher)
        assert office.counts(stream) == {State.WAITING: 3}
        account_id = provider_accounts.create_account(
            acme.workspace_id,
            name="main",
            kind="sandbox",
            settings={"journal": str(acme.journal)},
            actor="alice",
        )
        senders.attach_sender(
            acme.workspace_id, sender_id=acme.sender_id, account_id=account_id, actor="alice"
        )

        def is_sent() -> bool:
            office.end_sender_holds()
            return not office.waiting(stream)

        office.until(is_sent, dispatcher)

    assert office.counts(stream) == {State.ACCEPTED: 3}
    assert acme.taken_from(stream) == [0, 1, 2]


def test_an_account_that_cannot_be_opened_holds_its_sender_and_fails_nobody(
    tmp_path: Path,
) -> None:
    acme = office.open_office(tmp_path, settings={"journal": str(tmp_path / "no" / "journal")})
    stream = office.stream(acme, office.people(3))

    with office.dispatching() as dispatcher:
        office.until(lambda: hold_of(stream) == (Reason.SENDER_BLOCKED, True), dispatcher)

    hold = office.sender_hold(stream)
    assert hold is not None
    assert hold.detail == "The provider cannot be opened: No such file or directory."
    assert office.counts(stream) == {State.WAITING: 3}


def test_changed_settings_open_a_new_provider_and_close_the_old_one_after_its_last_call(
    tmp_path: Path,
) -> None:
    async def journey() -> None:
        async with routing() as providers:
            async with providers.use(facts_) as before:
                await asyncio.to_thread(_change_name, acme, "new")
                providers._senders.clear()  # as if its settings had not been read for a while
                async with providers.use(facts_) as after:
                    assert isinstance(before, tuple)
                    assert isinstance(after, tuple)
                    assert before[1] is not after[1]
                    await asyncio.sleep(0)
                    assert stage.closed == []
            await asyncio.sleep(0.01)
            assert stage.closed == ["old"]

    with vendors.registered() as stage:
        acme = office.open_office(tmp_path, kind=vendors.KIND, settings={"name": "old"})
        facts_ = office.facts(office.stream(acme))
        asyncio.run(journey())

    assert stage.closed == ["old", "new"]


def _change_name(acme: office.Office, name: str) -> None:
    assert acme.account_id is not None
    with office.own_connection():
        provider_accounts.update_account(
            acme.workspace_id, account_id=acme.account_id, changes={"name": name}, actor="alice"
        )


def test_who_read_the_settings_before_they_changed_does_not_open_the_old_ones_again(
    tmp_path: Path,
) -> None:
    async def journey() -> None:
        async with routing() as providers:
            async with providers.use(of_news):
                pass
            await asyncio.to_thread(_change_name, acme, "new")
            async with providers.use(of_desk):  # reads for the first time
                pass
            async with providers.use(of_news):  # believes what it read a moment ago
                pass

    with vendors.registered() as stage:
        acme = office.open_office(tmp_path, kind=vendors.KIND, settings={"name": "old"})
        desk = senders.create_sender(
            acme.workspace_id,
            address="desk@acme.example",
            account_id=acme.account_id,
            actor="alice",
        )
        of_news = office.facts(office.stream(acme))
        of_desk = office.facts(office.stream(office.of_sender(acme, desk)))
        asyncio.run(journey())

    assert stage.opened == ["old", "new"]


def test_a_provider_that_is_slow_to_say_goodbye_is_not_waited_for_and_its_successor_stays_open(
    tmp_path: Path,
) -> None:
    async def journey() -> None:
        stage.farewell = asyncio.Event()
        async with routing() as providers:
            async with providers.use(facts_):
                pass
            for name in ("second", "third"):
                await asyncio.to_thread(_change_name, acme, name)
                providers._senders.clear()
                async with asyncio.timeout(30), providers.use(facts_) as way:
                    assert isinstance(way, tuple)
                    assert await _outcomes(way[1]) == [Accepted("1")]
            stage.farewell.set()

    with vendors.registered() as stage:
        acme = office.open_office(tmp_path, kind=vendors.KIND, settings={"name": "first"})
        facts_ = office.facts(office.stream(acme))
        asyncio.run(journey())

    assert sorted(map(str, stage.closed)) == ["first", "second", "third"]


async def _outcomes(route: OpenProvider) -> list[object]:
    message = OutgoingMessage("1", "1", "news@acme.example", "alice@example.com", b"")
    return [outcome async for _, outcome in route.provider.send([message], 1e9)]


def test_a_provider_that_is_slow_to_open_holds_up_nobody_else(tmp_path: Path) -> None:
    async def journey() -> None:
        stage.opening["slow"] = asyncio.Event()
        async with routing() as providers:

            async def use(facts_: StreamFacts) -> None:
                async with providers.use(facts_):
                    pass

            waiting = asyncio.create_task(use(slow))
            await stage.knocked.wait()
            async with asyncio.timeout(30):
                await use(quick)
            assert not waiting.done()
            stage.opening["slow"].set()
            await waiting

    with vendors.registered() as stage:
        offices = [
            office.open_office(tmp_path, name, kind=vendors.KIND, settings={"name": pace})
            for name, pace in (("acme", "slow"), ("globex", "quick"))
        ]
        slow, quick = (office.facts(office.stream(one)) for one in offices)
        asyncio.run(journey())

    assert stage.opened == ["quick", "slow"]


def test_a_sender_that_is_gone_is_blocked(acme: office.Office) -> None:
    async def journey() -> object:
        async with routing() as providers, providers.use(gone) as way:
            return way

    gone = replace(office.facts(office.stream(acme)), sender_id=0)

    assert isinstance(asyncio.run(journey()), Blocked)


def test_the_from_is_the_senders_and_the_lease_the_providers(tmp_path: Path) -> None:
    async def journey() -> object:
        async with routing() as providers, providers.use(facts_) as way:
            assert isinstance(way, tuple)
            return way[0].address, way[0].name, way[1].lease

    acme = office.open_office(tmp_path, kind="smtp", settings={"host": "127.0.0.1"})
    facts_ = office.facts(office.stream(acme))

    lease = timedelta(seconds=660 + 2 * 60)
    assert asyncio.run(journey()) == ("news@acme.example", "News", lease)


class KnownSmtp(FakeSmtp):
    """A server at a port that is known before it is up."""

    @override
    async def start(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", self.port)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def smtp_server(server: FakeSmtp) -> Iterator[FakeSmtp]:
    """A server in a thread with a loop of its own."""
    started, ends = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        async with serving(server):
            started.set()
            await ends.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    assert started.wait(office.PATIENCE)
    try:
        yield server
    finally:
        loops[0].call_soon_threadsafe(ends.set)
        thread.join(office.PATIENCE)


def open_smtp(folder: Path, port: int, workspace: str = "acme") -> office.Office:
    settings = {
        "host": "127.0.0.1",
        "port": port,
        "tls": "none",
        "connections": 2,
        "timeouts": {"connect": 2, "command": 2, "body": 2, "answer": 2, "quit": 1},
    }
    return office.open_office(folder, workspace, kind="smtp", settings=settings)


def test_a_test_streams_mail_stays_in_the_sandbox(tmp_path: Path) -> None:
    with smtp_server(FakeSmtp()) as server:
        acme = open_smtp(tmp_path, server.port)
        live = office.stream(acme, ["live@example.com"])
        test = office.stream(acme, ["test@example.com"], is_test=True)
        office.send_all(live, test)

    assert server.recipients == ["live@example.com"]
    assert office.counts(live) == office.counts(test) == {State.ACCEPTED: 1}


@pytest.mark.parametrize("word", ["block", "throttle"])
def test_what_the_sandbox_says_of_a_test_stream_never_stops_the_senders_own_mail(
    word: str, tmp_path: Path
) -> None:
    with smtp_server(FakeSmtp()) as server:
        acme = open_smtp(tmp_path, server.port)
        test = office.stream(acme, [f"{word}@example.com"], is_test=True)
        with office.dispatching() as dispatcher:
            office.until(lambda: cast.stream_hold(office.facts(test)) is not None, dispatcher)
            live = office.stream(acme, ["live@example.com"])
            office.until(lambda: not office.waiting(live), dispatcher)

    hold = cast.stream_hold(office.facts(test))
    assert hold is not None
    assert hold.until is not None
    assert office.sender_hold(test) is None
    assert server.recipients == ["live@example.com"]
    assert office.counts(test) == {State.WAITING: 1}


def test_while_the_server_is_down_nobodys_attempts_are_used_and_all_goes_when_it_is_up(
    tmp_path: Path,
) -> None:
    port = free_port()
    acme = open_smtp(tmp_path, port)
    streams = [
        office.stream(acme, office.people(5)),
        office.stream(acme, office.people(5), kind=StreamKind.TRANSACTIONAL),
    ]

    with ExitStack() as afterwards, office.dispatching() as dispatcher:
        office.until(lambda: hold_of(streams[0]) == (Reason.PROVIDER_DOWN, True), dispatcher)
        office.end_sender_holds()  # and once more, in vain
        office.until(lambda: hold_of(streams[0]) == (Reason.PROVIDER_DOWN, True), dispatcher)
        tries = [set(office.attempts(stream).values()) for stream in streams]
        server = afterwards.enter_context(smtp_server(KnownSmtp(port=port)))

        def is_sent() -> bool:
            office.end_sender_holds()
            return not office.waiting(*streams)

        office.until(is_sent, dispatcher)

    assert tries == [{0}, {0}]
    assert [set(office.attempts(stream).values()) for stream in streams] == [{1}, {1}]
    assert [office.counts(stream) for stream in streams] == [{State.ACCEPTED: 5}] * 2
    assert sorted(server.recipients) == sorted(office.people(5) * 2)


def test_carriers_that_meet_one_outage_together_rest_once(tmp_path: Path) -> None:
    async def down(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        async with met:  # leaves when all of them are here
            pass
        for index in range(len(window)):
            yield index, TryLater("closed", "nobody is there", is_outage=True)

    async def journey() -> None:
        db = DbThreads(3)
        holds = Holds(db)
        # The sixth rest is of half a minute: so far apart the calls of stream workers cannot end.
        holds._troubles[False, acme.sender_id] = 5
        providers = ProviderPool(db, LEASE)
        context = office.context(db, providers, holds)
        await asyncio.gather(*(StreamWorker(facts_, context).run() for _ in range(6)))
        await providers.close()
        db.close()

    met = asyncio.Barrier(6)
    with vendors.registered(down):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = office.stream(acme, office.people(300), kind=StreamKind.TRANSACTIONAL)
        facts_ = office.facts(stream)
        asyncio.run(journey())

    [(rest,)] = sql.rows(
        "SELECT extract(epoch FROM until - since)::float8 FROM deliveries_senderhold", {}
    )
    assert 31 < rest < 45  # a minute, were it two outages
    assert office.counts(stream) == {State.WAITING: 300}
