"""A provider that did not answer gets one mail, and the rest when that one was answered."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from postledger.accounts.models import ProviderAccount
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.providers.base import Accepted, InDoubt, Outcome, OutgoingMessage, Refused, TryLater
from tests.dispatch import office, vendors
from tests.dispatch.vendors import Answers, Stage, always

DOWN = TryLater("closed", "nobody is there", is_outage=True)

pytestmark = pytest.mark.django_db(transaction=True)


def has_hold(reason: Reason) -> bool:
    held = "SELECT count(*) > 0 FROM deliveries_senderhold WHERE reason = %(reason)s"
    return sql.exists(held, {"reason": reason.value})


@contextmanager
def after_an_outage(tmp_path: Path) -> Iterator[tuple[Stage, list[int]]]:
    """Two streams of an account whose provider was down; the hold has ended by its time."""
    with vendors.registered(always(DOWN), window_size=20) as stage:
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        streams = [office.stream(acme, office.people(40)) for _ in range(2)]
        with office.dispatching() as dispatcher:
            office.until(lambda: has_hold(Reason.PROVIDER_DOWN), dispatcher)
            office.until(lambda: not dispatcher.is_busy)
        office.end_sender_holds()
        stage.windows.clear()
        yield stage, streams


@pytest.mark.parametrize("first", [Accepted("m-1"), Refused("550 5.1.1", "No such user")])
def test_one_mail_goes_first_and_all_others_when_it_was_answered(
    first: Outcome, tmp_path: Path
) -> None:
    async def back(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        is_first = len(stage.windows) == 1
        if is_first:
            await asyncio.sleep(0.3)  # others would have their turn meanwhile
            calls.extend(map(len, stage.windows))
        for index, message in enumerate(window):
            yield index, first if is_first else Accepted(message.id)

    calls: list[int] = []
    with after_an_outage(tmp_path) as (stage, streams):
        ProviderAccount.objects.update(is_unchecked=True)
        stage.script = back
        office.send_all(*streams)

    assert calls == [1]
    assert ProviderAccount.objects.get().is_unchecked == isinstance(first, Refused)
    assert max(map(len, stage.windows)) > 1
    assert not has_hold(Reason.PROVIDER_DOWN)
    assert sum(office.counts(stream)[State.ACCEPTED] for stream in streams) >= 79


def test_a_mail_that_gets_no_answer_is_the_only_one_in_doubt(tmp_path: Path) -> None:
    with after_an_outage(tmp_path) as (stage, streams):
        stage.script = always(InDoubt("no answer"))
        with office.dispatching() as dispatcher:
            office.until(lambda: has_hold(Reason.PROVIDER_BROKEN), dispatcher)
            office.until(lambda: not dispatcher.is_busy)

    assert list(map(len, stage.windows)) == [1]
    assert sum(office.counts(stream).get(State.IN_DOUBT, 0) for stream in streams) == 1


def test_a_mail_that_finds_nobody_costs_no_attempt_and_the_hold_goes_on(tmp_path: Path) -> None:
    with after_an_outage(tmp_path) as (stage, streams), office.dispatching() as dispatcher:
        office.until(lambda: bool(stage.windows), dispatcher)
        office.until(lambda: not dispatcher.is_busy)

    assert set(map(len, stage.windows)) == {1}
    assert has_hold(Reason.PROVIDER_DOWN)
    assert [office.counts(stream) for stream in streams] == [{State.WAITING: 40}] * 2
