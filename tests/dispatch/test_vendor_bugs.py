"""A provider that breaks its promises harms its own mails at most, and nobody else's."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from postledger.deliveries import ledger
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from postledger.providers.base import Accepted, OutgoingMessage, Refused
from tests import cast
from tests.dispatch import office, vendors
from tests.dispatch.vendors import Answers, Script
from tests.races import collide

pytestmark = pytest.mark.django_db(transaction=True)


class VendorError(Exception):
    """Something no one thought of."""


async def raising_at_once(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
    if window:
        raise VendorError
    yield 0, Accepted("")


async def raising_later(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
    yield 0, Accepted(window[0].id)
    await asyncio.sleep(0.01)
    raise VendorError


async def silent(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
    yield 0, Accepted(window[0].id)


async def out_of_range(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
    yield 0, Accepted(window[0].id)
    yield len(window), Accepted("")


async def saying_it_twice(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
    yield 0, Accepted(window[0].id)
    while await asyncio.to_thread(_waiting, window[0]) == len(window):  # noqa: ASYNC110  a table
        await asyncio.sleep(0.05)
    yield 0, Refused("550", "no")  # what it says otherwise is settled


def _waiting(message: OutgoingMessage) -> int:
    found = DeliveryId.parse(message.id)
    assert found is not None
    with office.own_connection():
        return office.waiting(found.stream_id)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (raising_at_once, {State.IN_DOUBT: 3}),
        (raising_later, {State.ACCEPTED: 1, State.IN_DOUBT: 2}),
        (silent, {State.ACCEPTED: 1, State.IN_DOUBT: 2}),
        (out_of_range, {State.ACCEPTED: 1, State.IN_DOUBT: 2}),
        (saying_it_twice, {State.ACCEPTED: 1, State.IN_DOUBT: 2}),
    ],
)
def test_what_has_no_answer_is_in_doubt_and_others_mail_goes_on(
    script: Script, expected: dict[State, int], tmp_path: Path
) -> None:
    with vendors.registered(script):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        globex = office.open_office(tmp_path, "globex")
        broken = office.stream(acme, office.people(3))
        fine = office.stream(globex, office.people(3))
        office.send_all(broken, fine)

    assert office.counts(broken) == expected
    assert office.counts(fine) == {State.ACCEPTED: 3}


def test_the_rest_of_a_batch_that_met_a_bug_comes_back_with_the_end_of_its_lease(
    tmp_path: Path,
) -> None:
    with vendors.registered(raising_at_once, window_size=2) as stage:
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = office.stream(acme, office.people(5))
        with office.dispatching() as dispatcher:
            office.until(lambda: office.waiting(stream) == 3, dispatcher)
            office.until(lambda: not dispatcher.is_carrying)
        [lease] = collide.batch_column(stream, "lease").values()
        assert isinstance(lease, int)
        cast.run_out(lease)
        ledger.sweep()
        stage.script = vendors.accepting
        office.send_all(stream)

    assert office.counts(stream) == {State.IN_DOUBT: 2, State.ACCEPTED: 3}


def test_a_call_that_keeps_no_deadline_is_ended(tmp_path: Path) -> None:
    async def forever(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        yield 0, Accepted(window[0].id)
        await asyncio.sleep(3600)

    with vendors.registered(forever, call_time=0.1):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = office.stream(acme, office.people(2))
        with office.dispatching(office.with_lease(2)) as dispatcher:
            office.until(lambda: not office.waiting(stream), dispatcher, patience=60)
            office.until(lambda: not dispatcher.is_carrying)

    assert office.counts(stream) == {State.ACCEPTED: 1, State.IN_DOUBT: 1}
    assert ("in_doubt", None, "No answer was reported.") in office.details(stream)


def test_an_answer_the_database_refuses_ends_its_call_and_costs_no_other_stream(
    tmp_path: Path,
) -> None:
    """PostgreSQL stores no NUL: the one detail that can never be booked."""

    async def with_nul(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        try:
            yield 0, Refused("550", "half a \0 word")
            await asyncio.sleep(3600)
        finally:
            ended.append(window[0].id)

    ended: list[str] = []
    with vendors.registered(with_nul):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        globex = office.open_office(tmp_path, "globex")
        stream = office.stream(acme, office.people(2))
        with office.dispatching() as dispatcher:
            office.until(lambda: len(ended) == 1, dispatcher)
            fine = office.stream(globex, office.people(3))
            office.until(lambda: not office.waiting(fine), dispatcher)
            office.until(lambda: not dispatcher.is_carrying)

    assert office.counts(fine) == {State.ACCEPTED: 3}
    assert office.counts(stream) == {State.WAITING: 2}  # and in doubt when its lease is over
