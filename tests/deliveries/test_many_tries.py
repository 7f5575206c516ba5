"""No mail fails for how often it was tried, and no number of a try is given out twice."""

from datetime import timedelta
from pathlib import Path

import pytest

from postledger.deliveries import entries, ledger, undecided
from postledger.deliveries.entries import Decision, Entry, Evidence, SeenDelivery
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from tests import cast
from tests.dispatch import office
from tests.dispatch.office import Office

pytestmark = pytest.mark.django_db(transaction=True)

MILLION = 1_000_000
MINUTE = timedelta(minutes=1)


@pytest.fixture
def acme(tmp_path: Path) -> Office:
    return office.open_office(tmp_path)


def not_sent(position: int) -> Entry:
    return entries.not_sent(position, detail="CONNECT: refused")


def refused(position: int) -> Entry:
    return entries.refused(position, code="550")


def pretend_tries(stream_id: int, times: int) -> None:
    """Makes the stream's one mail one that was tried so often and waits for its next try."""
    params = {"stream": stream_id, "times": times}
    sql.rows(
        "UPDATE deliveries_delivery SET last_try = %(times)s::integer WHERE stream_id = %(stream)s",
        params,
    )
    sql.rows(
        "UPDATE deliveries_batch SET try_number = %(times)s::integer + 1"
        " WHERE stream_id = %(stream)s",
        params,
    )


def wait_of(stream_id: int) -> timedelta:
    """How long the stream's only batch waits, counted from when it was made."""
    [(wait,)] = sql.rows(
        "SELECT due_at - since FROM deliveries_batch WHERE stream_id = %(stream)s",
        {"stream": stream_id},
    )
    assert isinstance(wait, timedelta)
    return wait


def test_a_mail_that_an_outage_kept_for_thousands_of_tries_goes_when_the_outage_ends(
    acme: Office,
) -> None:
    for number, times in enumerate((3_999, 4_000, 4_094, 4_095, 40_000)):
        stream_id = office.stream(acme, ["one@example.com"])
        pretend_tries(stream_id, times)
        cast.book(stream_id, not_sent)
        cast.book(stream_id, not_sent)

        office.send_all(stream_id)

        [(taken, address)] = acme.taken()[number:]
        assert (taken.stream_id, taken.position, taken.try_number) == (stream_id, 0, times + 3)
        assert address == "one@example.com"
        assert office.counts(stream_id) == {State.ACCEPTED: 1}

    # So does one that failed, after a requeue.
    stream_id = office.stream(acme, ["one@example.com"])
    pretend_tries(stream_id, 4_095)
    cast.book(stream_id, refused)
    [failed] = undecided.find_undecided(stream_id, State.FAILED)
    seen = SeenDelivery(failed.position, failed.last_try)
    assert ledger.requeue(stream_id, [seen], actor="alice") == [0]
    office.send_all(stream_id)
    assert acme.taken()[-1][0].try_number == 4_097


def test_a_doubt_about_a_try_with_a_large_number_ends_by_evidence_about_that_try() -> None:
    stream_id = cast.stream(mails=1)
    pretend_tries(stream_id, 70_000)
    cast.lose(stream_id)

    about_another = ledger.record(stream_id, [Evidence(70_000, refused(0), "event")])
    about_this = ledger.record(stream_id, [Evidence(70_001, refused(0), "event")])

    assert (about_another, about_this) == (0, 1)
    assert cast.states(stream_id) == {0: State.FAILED}


def settle(stream_id: int) -> None:
    cast.book(stream_id, not_sent)


def disprove(stream_id: int) -> None:
    window = cast.lose(stream_id)
    ledger.record(stream_id, [Evidence(window.batch.try_number, not_sent(0), "late answer")])


def requeue(stream_id: int) -> None:
    window = cast.book(stream_id, refused)
    ledger.requeue(stream_id, [SeenDelivery(0, window.batch.try_number)], actor="alice")


def send_again(stream_id: int) -> None:
    window = cast.lose(stream_id)
    cast.pass_grace(stream_id)
    seen = [SeenDelivery(0, window.batch.try_number)]
    ledger.resolve(stream_id, seen, decision=Decision.SEND_AGAIN, actor="alice")


def test_after_a_million_tries_the_next_one_waits_an_hour_or_as_long_as_it_must() -> None:
    """At one try an hour the numbers last for another 1,800 years."""
    for try_again in (settle, disprove, requeue, send_again):
        often, most_often = cast.stream(mails=1), cast.stream(mails=1)
        pretend_tries(often, MILLION - 2)
        pretend_tries(most_often, MILLION - 1)

        try_again(often)
        try_again(most_often)

        assert wait_of(often) < MINUTE, try_again
        assert timedelta(hours=1) <= wait_of(most_often) < timedelta(hours=1) + MINUTE, try_again
    stream_id = cast.stream(mails=1)
    pretend_tries(stream_id, MILLION)
    cast.book(stream_id, lambda at: entries.throttled(at, delay=timedelta(hours=7)))
    assert wait_of(stream_id) == timedelta(hours=7)
