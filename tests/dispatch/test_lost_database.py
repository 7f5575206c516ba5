"""The database goes away in the middle: no mail is lost, repeated or doubted for it."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import override

import pytest
from django.db import OperationalError

from postledger.contacts.actions import suppression
from postledger.contacts.states import SuppressionReason
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch.db_threads import DbThreads
from postledger.dispatch.provider_pool import ProviderPool
from postledger.dispatch.rounds import round_input
from postledger.dispatch.rounds.hand_over import HandOver
from postledger.dispatch.stream_worker import StreamWorker
from tests import cast
from tests.dispatch import office, vendors
from tests.races import collide

pytestmark = pytest.mark.django_db(transaction=True)


class FlakyDb(DbThreads):
    """Loses its connection once, at one verb: before it was carried out, or after its commit."""

    def __init__(self, verb: Callable[..., object], moment: str) -> None:
        super().__init__(1)
        self._verb: Callable[..., object] | None = verb
        self._moment = moment

    @override
    async def run[**P, T](self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if getattr(call, "__func__", call) is not self._verb:
            return await super().run(call, *args, **kwargs)
        self._verb = None
        if self._moment == "after":
            await super().run(call, *args, **kwargs)
        raise OperationalError("the connection is lost")


async def carry(
    stream_id: int, db: DbThreads, *, is_stopping: bool = False
) -> BaseException | None:
    """One turn of one stream at this db; returns what it raised."""
    providers = ProviderPool(db, office.OPTIONS.shortest_lease)
    context = office.context(db, providers)
    if is_stopping:
        context.stop.set()
    try:
        stream = await DbThreads.run(db, queries.find_stream, stream_id)
        assert stream is not None
        await StreamWorker(stream, context).run()
    except OperationalError as error:
        return error
    finally:
        await providers.close()
        db.close()
    return None


SINGLE, BULK = StreamKind.TRANSACTIONAL, StreamKind.CAMPAIGN
CASES = [
    *((SINGLE, verb) for verb in (ledger.claim, round_input.read, ledger.arm)),
    *((SINGLE, verb) for verb in (queries.read_leased, ledger.settle, ledger.hold_sender)),
    *((BULK, verb) for verb in (ledger.arm, queries.read_leased, ledger.settle)),
    (BULK, HandOver._check_lease_and_consent),
]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(("kind", "verb"), CASES)
@pytest.mark.slow
@pytest.mark.sample
def test_a_connection_lost_at_any_verb_loses_repeats_and_doubts_nothing(
    kind: StreamKind, verb: Callable[..., object], moment: str, tmp_path: Path
) -> None:
    acme = office.open_office(tmp_path, settings={"retry_after": 0.01})
    suppression.suppress(
        acme.workspace_id,
        address="never@example.com",
        reason=SuppressionReason.BOUNCED,
        actor="test",
    )
    stream = office.stream(acme, kind=kind)
    # Of a campaign, each call is a batch: one with nothing to send, one with too fast a mail.
    for addresses in (["never@example.com"], ["throttle@example.com", *office.people(60)]):
        office.enqueue(stream, addresses)

    asyncio.run(carry(stream, FlakyDb(verb, moment)))
    _forget_unheard_claims(stream)
    with office.dispatching() as dispatcher:
        office.until(lambda: office.waiting(stream) == 1, dispatcher)

    assert len(acme.taken_from(stream)) == 60
    assert office.sent_once(acme, stream)
    assert office.counts(stream) == {
        State.ACCEPTED: 60,
        State.SUPPRESSED: 1,
        State.WAITING: 1,  # the one that is throttled for ever
    }
    assert office.attempts(stream)["throttle@example.com"] == 0


def _forget_unheard_claims(stream_id: int) -> None:
    """Nobody knows a lease whose claim was committed unheard: only its end gives the work back."""
    for lease in {lease for lease in collide.batch_column(stream_id, "lease").values() if lease}:
        assert isinstance(lease, int)
        cast.run_out(lease)
    ledger.sweep()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_connection_lost_while_handing_back_leaves_nothing_leased(
    moment: str, acme: office.Office
) -> None:
    stream = office.stream(acme, office.people(3))

    raised = asyncio.run(carry(stream, FlakyDb(ledger.wait, moment), is_stopping=True))

    assert raised is None
    assert collide.batch_column(stream, "lease") == {0: None}
    assert cast.batches(stream) == [(0, 3, 1, Reason.HANDED_BACK)]
    assert office.counts(stream) == {State.WAITING: 3}


def test_terminated_backends_cost_time_and_no_mail(tmp_path: Path) -> None:
    handed: list[str] = []
    with vendors.registered(vendors.slowly(handed), window_size=10):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        streams = [office.stream(acme, office.people(60)) for _ in range(2)]
        streams.append(office.stream(acme, office.people(60), kind=StreamKind.TRANSACTIONAL))
        with office.dispatching() as dispatcher:
            for done in (5, 30, 70, 110):
                office.until(lambda done=done: len(handed) > done, dispatcher)  # type: ignore[misc]
                office.terminate_backends()
            office.until(lambda: not office.waiting(*streams), dispatcher)

    assert [office.counts(stream) for stream in streams] == [{State.ACCEPTED: 60}] * 3
    assert len(handed) == len(set(handed)) == 180


# After a failover a connection may end at a standby for a while.
@pytest.mark.parametrize("absence", [office.no_connections, office.read_only])
@pytest.mark.slow
@pytest.mark.sample
def test_answers_that_come_while_the_database_is_away_are_booked_when_it_is_back(
    absence: Callable[[], AbstractContextManager[None]], tmp_path: Path
) -> None:
    acme = office.open_office(tmp_path, settings={"slow": 3})
    stream = office.stream(acme, ["slow@example.com", *office.people(3)])

    with office.dispatching():
        office.until(lambda: len(acme.taken()) >= 3)
        with absence():
            office.until(lambda: len(acme.taken()) == 4)
        office.until(lambda: not office.waiting(stream))

    assert office.counts(stream) == {State.ACCEPTED: 4}
    assert sorted(acme.taken_from(stream)) == [0, 1, 2, 3]
