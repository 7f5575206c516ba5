"""Every way a mail can go, from the ledger through the sandbox and back into the books."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postledger.deliveries.entries import StreamKind
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch import retry
from tests import cast
from tests.dispatch import office
from tests.races import collide

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = {"retry_after": 0.05, "slow": 0.1}


@pytest.mark.parametrize("kind", [StreamKind.CAMPAIGN, StreamKind.TRANSACTIONAL])
def test_one_failing_address_never_stops_the_others(kind: StreamKind, tmp_path: Path) -> None:
    acme = office.open_office(tmp_path, settings=AT_ONCE)
    ends = {
        "refuse@example.com": (State.FAILED, 1),
        "later@example.com": (State.FAILED, 3),  # after its last attempt
        "broken@example.com": (State.FAILED, 3),
        "vanish@example.com": (State.IN_DOUBT, 1),
        "slow@example.com": (State.ACCEPTED, 1),
        "no address": (State.FAILED, 1),
    }
    addresses = [address for n, odd in enumerate(ends) for address in (f"r{n}@example.com", odd)]
    stream = office.stream(acme, [*addresses, "last@example.com"], kind=kind)

    office.send_all(stream)

    states, attempts = office.states(stream), office.attempts(stream)
    assert {address: (states[address], attempts[address]) for address in ends} == ends
    assert office.details(stream) >= {
        ("refused", "550 5.1.1", "The sandbox refuses this address."),
        ("try_later", "451 4.3.0", "The sandbox asks to try later."),
        ("in_doubt", "no_answer", "The sandbox took it and did not answer."),
    }
    assert office.counts(stream) == {State.ACCEPTED: 8, State.FAILED: 4, State.IN_DOUBT: 1}
    assert len(acme.taken_from(stream)) == 9  # what vanished was taken too
    assert office.sent_once(acme, stream)


def test_a_mail_to_be_tried_later_waits_with_its_reason_and_time(tmp_path: Path) -> None:
    acme = office.open_office(tmp_path, settings=AT_ONCE)
    stream = office.stream(acme, ["later@example.com", "r@example.com"])
    patiently = replace(office.OPTIONS, policies=dict.fromkeys(StreamKind, retry.read("3: 60 60")))

    began = datetime.now(UTC)
    with office.dispatching(patiently):
        office.until(lambda: cast.batches(stream) == [(0, 1, 2, Reason.RETRY)])

    [due_at] = collide.batch_column(stream, "due_at").values()
    assert isinstance(due_at, datetime)
    assert due_at > began + timedelta(seconds=40)
    assert due_at <= datetime.now(UTC) + timedelta(seconds=60)
    assert office.attempts(stream)["later@example.com"] == 1
    assert office.counts(stream) == {State.ACCEPTED: 1, State.WAITING: 1}


def test_a_throttled_sender_rests_and_nobodys_attempts_are_counted(tmp_path: Path) -> None:
    acme = office.open_office(tmp_path, settings={"retry_after": 30})
    stream = office.stream(acme, ["throttle@example.com", "r@example.com"])

    began = datetime.now(UTC)
    with office.dispatching() as dispatcher:
        office.until(lambda: cast.batches(stream) == [(0, 1, 2, Reason.THROTTLED)], dispatcher)
        later = office.stream(acme, ["r2@example.com"])
        office.until(lambda: office.waiting(later) == 1, dispatcher)

    [hold] = office.facts(stream).holds
    assert hold.reason is Reason.THROTTLED
    assert hold.until is not None
    assert hold.until > began + timedelta(seconds=15)
    assert hold.until <= datetime.now(UTC) + timedelta(seconds=30)
    assert office.attempts(stream) == {"throttle@example.com": 0, "r@example.com": 1}
    assert office.counts(stream) == {State.ACCEPTED: 1, State.WAITING: 1}
    assert office.counts(later) == {State.WAITING: 1}


def test_a_blocked_sender_is_held_without_an_end_and_nobody_fails(acme: office.Office) -> None:
    stream = office.stream(acme, ["r1@example.com", "block@example.com", "r2@example.com"])

    with office.dispatching() as dispatcher:
        office.until(lambda: office.waiting(stream) == 1, dispatcher)

    [hold] = office.facts(stream).holds
    assert (hold.reason, hold.until) == (Reason.SENDER_BLOCKED, None)
    assert "535 5.7.8" in hold.detail
    assert cast.batches(stream) == [(1, 2, 2, Reason.SENDER_BLOCKED)]
    assert office.attempts(stream)["block@example.com"] == 0
    assert office.counts(stream) == {State.ACCEPTED: 2, State.WAITING: 1}


@pytest.mark.slow
@pytest.mark.sample
def test_what_is_never_answered_is_in_doubt_by_its_deadline_and_holds_up_nobody(
    tmp_path: Path,
) -> None:
    acme = office.open_office(tmp_path, settings={"slow": 0.1, "hang": 600})
    stream = office.stream(acme, [*office.people(5), "hang@example.com"])

    with office.dispatching(office.with_lease(12)) as dispatcher:
        office.until(lambda: office.waiting(stream) == 1)
        other = office.stream(acme, office.people(5))
        office.until(lambda: not office.waiting(other), dispatcher)
        is_still_hanging = office.waiting(stream) == 1
        office.until(lambda: not office.waiting(stream))

    assert is_still_hanging
    assert office.counts(stream) == {State.ACCEPTED: 5, State.IN_DOUBT: 1}
    assert ("in_doubt", "no_answer", "The sandbox took it and did not answer.") in office.details(
        stream
    )
