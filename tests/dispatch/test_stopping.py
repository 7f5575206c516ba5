"""A dispatcher that is told to stop: what is under way is booked, the rest is handed back."""

import asyncio
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from postledger.deliveries.entries import StreamKind
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch.dispatcher import Dispatcher
from postledger.dispatch.models import Worker
from postledger.dispatch.options import Options
from tests import cast
from tests.dispatch import office, vendors

pytestmark = pytest.mark.django_db(transaction=True)


def impatient(seconds: float) -> Options:
    return replace(office.OPTIONS, stop_within=timedelta(seconds=seconds))


def test_what_is_under_way_is_settled_and_the_rest_handed_back(tmp_path: Path) -> None:
    handed: list[str] = []
    with vendors.registered(vendors.slowly(handed), window_size=10):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        bulk = office.stream(acme, office.people(500))
        single = office.stream(acme, office.people(100), kind=StreamKind.TRANSACTIONAL)
        with office.dispatching():
            office.until(lambda: len(handed) > 15)

    accepted = [office.counts(stream).get(State.ACCEPTED, 0) for stream in (bulk, single)]
    assert sum(accepted) == len(handed) == len(set(handed))
    assert office.counts(bulk) == {State.ACCEPTED: accepted[0], State.WAITING: 500 - accepted[0]}
    assert State.IN_DOUBT not in office.counts(single)
    assert not office.is_leased(bulk)
    assert not office.is_leased(single)
    assert {reason for *_, reason in cast.batches(bulk)} == {Reason.HANDED_BACK}


@pytest.mark.parametrize("grace", [0.0, 0.3])
def test_a_call_that_outlasts_the_grace_is_ended_and_only_what_was_handed_over_is_in_doubt(
    grace: float, tmp_path: Path
) -> None:
    acme = office.open_office(tmp_path, settings={"slow": 300, "hang": 600, "window_size": 5})
    odd = ["hang@example.com", "slow@example.com"]
    hung = office.stream(acme, [*office.people(3), *odd, "later@example.com"])

    with office.dispatching(impatient(grace)):
        office.until(lambda: len(acme.taken()) == 4)
        began = time.monotonic()
    took = time.monotonic() - began

    assert took < 200  # the mail that is slow takes three hundred seconds
    states = office.states(hung)
    assert states.pop("hang@example.com") is State.IN_DOUBT
    assert states.pop("slow@example.com") is State.WAITING  # its time had not come
    assert office.counts(hung) == {State.ACCEPTED: 3, State.IN_DOUBT: 1, State.WAITING: 2}
    assert not office.is_leased(hung)


def test_a_dispatcher_that_was_told_to_stop_before_it_ran_ends_at_once(acme: office.Office) -> None:
    stream = office.stream(acme, office.people(3))

    dispatcher = Dispatcher("worker", office.OPTIONS)
    dispatcher.stop()
    asyncio.run(dispatcher.run())

    assert office.counts(stream) == {State.WAITING: 3}
    dispatcher.wake(stream)  # whoever rings now does no harm
    dispatcher.poll()


def test_a_worker_shows_that_it_lives_and_takes_its_sign_away_at_the_end(tmp_path: Path) -> None:
    with office.dispatching(name="host:17"):
        office.until(lambda: Worker.objects.filter(name="host:17").exists())

    assert not Worker.objects.exists()


def test_two_dispatchers_send_each_mail_once(acme: office.Office) -> None:
    streams = [office.stream(acme, office.people(700), kind=kind) for kind in StreamKind]

    with office.dispatching(name="one") as one, office.dispatching(name="other") as other:

        def is_sent() -> bool:
            other.tick()
            return not office.waiting(*streams)

        office.until(is_sent, one)

    for stream in streams:
        assert office.counts(stream) == {State.ACCEPTED: 700}
        assert len(acme.taken_from(stream)) == 700
        assert office.sent_once(acme, stream)
