"""Claims about what comes after or beside the work: sweep, cancel, evidence, people, counters."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection

from postledger.deliveries import audit, entries, ledger, queries
from postledger.deliveries.entries import (
    Decision,
    Entry,
    Evidence,
    SeenDelivery,
    StreamKind,
    Window,
)
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from tests import cast, epochs

pytestmark = pytest.mark.django_db(transaction=True)


def sent(position: int) -> Entry:
    return entries.accepted(position, message_id=f"m{position}")


def refused(position: int) -> Entry:
    return entries.refused(position, code="NO")


def attempts(stream_id: int, position: int = 0) -> int:
    facts = queries.find_delivery(stream_id, position)
    assert facts is not None
    return facts.attempts


def test_a_lost_lease_gives_back_what_was_not_armed_and_doubts_the_rest() -> None:
    stream_id = cast.stream(mails=10)
    taken, _ = cast.armed(stream_id, size=4)
    running = ledger.sweep()
    cast.run_out(taken.lease)

    swept = ledger.sweep()

    assert (running.given_back, running.in_doubt) == (0, 0)
    assert (swept.given_back, swept.in_doubt) == (1, 4)
    assert cast.batches(stream_id) == [(4, 10, 1, "lease_lost")]
    assert audit.audit(stream_id).discrepancies == []


def test_a_poisonous_mail_fails_alone() -> None:
    """Each worker that takes the batch with the poison dies before it arms anything."""
    stream_id = cast.stream(mails=8)
    poison = 5

    for _ in range(40):
        cast.bring_forward(stream_id)
        if not cast.batches(stream_id):
            break
        taken = cast.claim(stream_id)
        [batch] = taken.batches
        if batch.lo <= poison < batch.hi:
            cast.run_out(taken.lease)
            ledger.sweep()
        else:
            window = Window(batch, batch.hi)
            ledger.arm(taken, [window], lease_time=cast.LEASE)
            results = [sent(position) for position in range(batch.lo, batch.hi)]
            ledger.settle(taken, [window], results=results)

    states = cast.states(stream_id)
    assert states.pop(poison) is State.FAILED
    assert set(states.values()) == {State.ACCEPTED}
    assert audit.audit(stream_id).discrepancies == []


def test_draining_books_the_rest_as_cancelled_and_leaves_armed_windows() -> None:
    stream_id = cast.stream(mails=1000)
    taken, window = cast.armed(stream_id, size=5)
    ledger.cancel(stream_id, actor="bob")

    drained = ledger.drain(stream_id)
    settled = ledger.settle(taken, [window], results=[sent(position) for position in range(5)])
    ledger.wait(
        taken,
        [cast.again(window.batch, lo=5)],
        reason=Reason.HANDED_BACK,
    )
    drained += ledger.drain(stream_id)

    assert settled.counts == {State.ACCEPTED: 5}
    assert drained == 995
    assert audit.audit(stream_id).discrepancies == []


def test_doubt_survives_a_cancel_and_a_refusal_of_the_second_try() -> None:
    cancelled, stream_id = cast.doubtful(), cast.doubtful()
    for doubtful in (cancelled, stream_id):
        cast.pass_grace(doubtful)
        ledger.resolve(doubtful, [SeenDelivery(0, 1)], decision=Decision.SEND_AGAIN, actor="bob")

    ledger.cancel(cancelled, actor="bob")
    ledger.drain(cancelled)
    cast.book(stream_id, refused)

    for doubtful in (cancelled, stream_id):
        facts = queries.find_delivery(doubtful, 0)
        assert facts is not None
        assert (facts.state, list(facts.doubts)) == (State.IN_DOUBT, [1])
        assert audit.audit(doubtful).discrepancies == []


def test_a_person_ends_a_doubt_once() -> None:
    for decision, state in {
        Decision.COUNT_AS_SENT: State.ACCEPTED,
        Decision.COUNT_AS_NOT_SENT: State.FAILED,
        Decision.SEND_AGAIN: State.WAITING,
    }.items():
        stream_id = cast.stream(mails=1)
        cast.lose(stream_id)
        cast.pass_grace(stream_id)
        clicks = [
            ledger.resolve(stream_id, [SeenDelivery(0, 1)], decision=decision, actor="bob")
            for _ in range(2)
        ]
        assert clicks == [[0], []], decision
        assert cast.states(stream_id) == {0: state}
        assert audit.audit(stream_id).discrepancies == []


def test_a_click_on_an_old_page_changes_nothing() -> None:
    stream_id = cast.stream(mails=1)
    cast.lose(stream_id)
    cast.pass_grace(stream_id)
    old_page = [SeenDelivery(0, 1)]
    ledger.resolve(stream_id, old_page, decision=Decision.SEND_AGAIN, actor="bob")
    cast.lose(stream_id)

    clicked = ledger.resolve(stream_id, old_page, decision=Decision.COUNT_AS_NOT_SENT, actor="bob")

    assert clicked == []
    assert cast.states(stream_id) == {0: State.IN_DOUBT}


def test_nothing_is_sent_again_while_bytes_may_still_leave() -> None:
    stream_id = cast.stream(mails=1)
    cast.lose(stream_id)

    again = ledger.resolve(
        stream_id, [SeenDelivery(0, 1)], decision=Decision.SEND_AGAIN, actor="bob"
    )
    ledger.resolve(
        stream_id, [SeenDelivery(0, 1)], decision=Decision.COUNT_AS_NOT_SENT, actor="bob"
    )
    requeued = ledger.requeue(stream_id, [SeenDelivery(0, 1)], actor="bob")
    cast.pass_grace(stream_id)
    requeued_later = ledger.requeue(stream_id, [SeenDelivery(0, 1)], actor="bob")

    assert (again, requeued, requeued_later) == ([], [], [0])


def test_a_requeue_resets_the_attempts_and_goes_on_counting_tries() -> None:
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, refused)

    ledger.requeue(stream_id, [SeenDelivery(0, 1)], actor="bob")

    assert attempts(stream_id) == 0
    assert cast.batches(stream_id) == [(0, 1, 2, "requeued")]
    ledger.record(stream_id, [Evidence(1, sent(0), "event")])
    assert attempts(stream_id) == 1  # its first try proved accepted
    assert audit.audit(stream_id).discrepancies == []


def test_an_accepted_mail_changes_no_more() -> None:
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, sent)

    changed = ledger.record(
        stream_id, [Evidence(1, refused(0), "event"), Evidence(1, sent(0), "event")]
    )

    assert changed == 0
    assert cast.states(stream_id) == {0: State.ACCEPTED}


def test_a_disproof_ends_the_doubt_of_its_own_try_which_counts_no_attempt() -> None:
    stream_id = cast.stream(mails=1)
    cast.lose(stream_id)

    ledger.record(stream_id, [Evidence(2, refused(0), "event")])
    assert cast.states(stream_id) == {0: State.IN_DOUBT}
    ledger.record(stream_id, [Evidence(1, entries.not_sent(0), "late answer")])

    assert attempts(stream_id) == 0
    assert cast.batches(stream_id) == [(0, 1, 2, "disproved")]


def test_a_verdict_on_a_doubtful_mail_leaves_it_open_to_evidence() -> None:
    stream_id = cast.stream(mails=2)
    cast.lose(stream_id)
    cast.pass_grace(stream_id)
    ledger.resolve(
        stream_id,
        [SeenDelivery(0, 1), SeenDelivery(1, 1)],
        decision=Decision.SEND_AGAIN,
        actor="bob",
    )
    taken = cast.claim(stream_id)
    window = Window(taken.batches[0], taken.batches[0].hi)
    assert not ledger.arm(taken, [window], lease_time=cast.LEASE, verdicts=[entries.expired(0)])

    ledger.record(stream_id, [Evidence(1, entries.not_sent(0), "late answer")])

    assert (0, 1, 3, "disproved") in cast.batches(stream_id)
    assert audit.audit(stream_id).discrepancies == []


def test_a_last_attempt_that_came_late_is_a_dead_letter() -> None:
    stream_id = cast.stream(StreamKind.TRANSACTIONAL, mails=1)
    window = cast.lose(stream_id)
    answer = entries.exhausted(window.batch.lo, code="BUSY")

    ledger.record(stream_id, [Evidence(1, answer, "late answer")])

    with connection.cursor() as cursor:
        cursor.execute("SELECT error FROM dead_letters WHERE stream_id = %s", [stream_id])
        assert cursor.fetchall() == [("BUSY",)]


@pytest.fixture
def _own_epoch() -> Iterator[None]:
    yield from epochs.kept()


@pytest.mark.usefixtures("_own_epoch")
def test_an_acceptance_finds_the_line_of_somebody_who_was_erased() -> None:
    """The line has no address any more that the provider's could differ from."""
    for is_restored in (False, True):
        stream_id = cast.stream(mails=1)
        cast.lose(stream_id)
        ledger.erase(cast.sender().workspace_id, address="r0@example.com")
        if is_restored:
            epochs.fall()

        changed = ledger.record(stream_id, [Evidence(1, sent(0), "event", 1, "r0@example.com")])

        assert changed == 1, is_restored
        assert cast.states(stream_id) == {0: State.ACCEPTED}


@pytest.mark.usefixtures("_own_epoch")
def test_a_doubt_of_before_a_restore_that_is_disproved_goes_on_under_a_new_number() -> None:
    """The lost time may have tried it again, under the numbers that come next."""
    stream_id = cast.stream(mails=1)
    cast.lose(stream_id)
    epochs.fall()
    epochs.lift()

    ledger.record(stream_id, [Evidence(1, entries.not_sent(0), "event")])

    assert cast.claim(stream_id).batches[0].try_number == 2 + sql.TRY_LEAP


def test_folding_keeps_the_sums_and_a_stream_without_work_returns_with_new_work() -> None:
    stream_id = cast.stream(mails=3)
    cast.book(stream_id, sent)
    before = queries.read_books([stream_id])

    assert ledger.fold() == 1
    assert queries.read_books([stream_id]) == before
    assert audit.audit(stream_id).discrepancies == []

    assert ledger.retire_idle_streams(idle=timedelta()) == 1
    cast.enqueue(stream_id, [3])
    assert ledger.next_streams(limit=1) == [stream_id]


def test_evidence_of_a_try_that_was_never_armed_changes_nothing() -> None:
    stream_id = cast.stream(mails=3)
    cast.book(stream_id, refused, size=1)
    cast.armed(stream_id, size=1)
    proofs = [Evidence(2, sent(0), "event"), Evidence(2, sent(1), "event")]
    proofs += [Evidence(number, sent(2), "event") for number in (0, 1)]

    assert ledger.record(stream_id, proofs) == 0
    assert ledger.record(stream_id, [Evidence(1, sent(1), "event")]) == 1

    assert cast.states(stream_id) == {0: "failed", 1: "accepted", 2: "waiting"}
