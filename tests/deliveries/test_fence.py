"""A database that was restored, promoted or copied sends nothing before a person says so."""

from datetime import UTC, datetime, timedelta

import pytest

from postledger.deliveries import audit, entries, ledger, queries, undecided
from postledger.deliveries.entries import Evidence, Piece, SeenDelivery, StreamKind, Window
from postledger.deliveries.ledger import ErasedMail, Witness, sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from tests import cast, epochs

pytestmark = pytest.mark.django_db(transaction=True)

SOON = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _own_epoch() -> "object":
    yield from epochs.kept()


def sent(position: int, try_number: int = 1, *, epoch: int | None = None) -> Evidence:
    entry = entries.accepted(position, message_id=f"m{position}")
    return Evidence(try_number, entry, "ses", epoch)


def test_a_database_that_its_epoch_does_not_name_claims_nothing_and_the_fence_falls() -> None:
    stream_id = cast.stream(mails=3)
    epochs.pretend_restored()

    before = ledger.claim(stream_id, holder="w", limit=1, lease_time=cast.LEASE)
    epoch = ledger.check_epoch(Witness())
    after = ledger.claim(stream_id, holder="w", limit=1, lease_time=cast.LEASE)

    assert before is None
    assert after is None
    assert (epoch.number, epoch.cause, epoch.is_fenced) == (2, "identity", True)
    assert ledger.next_streams(limit=10) == []
    assert ledger.check_epoch(Witness()).number == 2  # it falls once


def test_a_window_claimed_before_the_fall_is_not_armed_after_it() -> None:
    """And each arm gives a token: a backup between a claim and its arm is below its witness."""
    stream_id, other = cast.stream(mails=3), cast.stream(mails=20)
    armed, _ = cast.armed(other, size=5)
    assert ledger.current_epoch().token > armed.lease
    taken = cast.claim(stream_id)
    epochs.fall()

    assert ledger.arm(taken, [Window(taken.batches[0], 3)], lease_time=cast.LEASE) == []


def test_a_database_below_its_witness_has_gone_back_in_time() -> None:
    cast.armed(cast.stream(mails=1))
    token = ledger.current_epoch().token
    # PostgreSQL logs a sequence 32 numbers ahead; what counts is committed with the arms.
    sql.rows("SELECT setval('deliveries_lease_token', %(to)s)", {"to": token + 32})

    unknown = ledger.check_epoch(Witness())
    same = ledger.check_epoch(Witness(token))
    later = ledger.check_epoch(Witness(token + 5, 1, datetime.now(UTC)))

    assert (unknown.number, same.number) == (1, 1)
    assert (later.number, later.cause) == (2, "witness")
    assert later.token > token + 2**31


def test_no_number_comes_again_after_the_fall() -> None:
    campaign, single = cast.stream(mails=3), cast.stream(StreamKind.TRANSACTIONAL, mails=1)
    lease = cast.claim(single).lease
    epochs.fall()
    epochs.lift()

    new_stream = cast.stream(mails=1)
    cast.enqueue(campaign, [100])
    [position] = cast.enqueue(single, [200])

    assert new_stream - campaign > 2**16
    assert max(cast.states(campaign)) >= 2**24
    assert position > 2**32
    assert cast.claim(new_stream).lease - lease > 2**32


def test_what_was_due_becomes_in_doubt_and_what_is_due_later_goes_on() -> None:
    due, later = cast.stream(mails=3), cast.stream()
    ledger.enqueue(later, [entries.NewDelivery("r@example.com")], due_at=datetime.now(UTC) + SOON)
    throttled = cast.stream(mails=1)
    cast.book(throttled, lambda at: entries.throttled(at, delay=SOON))
    snoozed = cast.stream(StreamKind.TOPIC, mails=1)
    claim = cast.claim(snoozed)
    ledger.wait(claim, claim.batches, reason=Reason.SCHEDULED, delay=SOON)
    epochs.fall()

    for stream_id in ledger.fenced_streams():
        while ledger.put_in_doubt(stream_id):
            pass

    assert set(cast.states(due).values()) == {State.IN_DOUBT}
    assert set(cast.states(later).values()) == {State.WAITING}
    # A release would have brought it forward.
    assert set(cast.states(throttled).values()) == {State.IN_DOUBT}
    # So would its recipient.
    assert set(cast.states(snoozed).values()) == {State.IN_DOUBT}
    for stream_id in (due, later, throttled, snoozed):
        assert audit.audit(stream_id).discrepancies == []
    assert len(undecided.find_undecided(due, State.IN_DOUBT)) == 3


def test_a_doubt_of_the_lost_time_is_sent_again_under_a_number_that_was_never_used() -> None:
    stream_id = cast.stream(mails=1)
    epochs.fall()
    epochs.lift()
    cast.pass_grace(stream_id)
    [doubt] = undecided.find_undecided(stream_id, State.IN_DOUBT)

    again = ledger.resolve(
        stream_id,
        [SeenDelivery(0, doubt.last_try)],
        decision=entries.Decision.SEND_AGAIN,
        actor="bob",
    )

    assert again == [0]
    assert cast.claim(stream_id).batches[0].try_number > sql.TRY_LEAP


def test_mail_that_is_accepted_after_the_fall_waits_and_is_not_in_doubt() -> None:
    stream_id = cast.stream(StreamKind.TRANSACTIONAL)
    epochs.fall()
    [position] = cast.enqueue(stream_id, [1])

    fenced = ledger.claim(stream_id, holder="w", limit=1, lease_time=cast.LEASE)
    epochs.lift(campaigns=False)

    assert fenced is None
    assert cast.states(stream_id) == {position: State.WAITING}
    assert cast.claim(stream_id).batches[0].lo == position


def test_campaigns_stay_fenced_until_somebody_speaks_for_consent() -> None:
    campaign, single = cast.stream(), cast.stream(StreamKind.TRANSACTIONAL)
    epochs.fall()

    epochs.lift(campaigns=False)
    later = cast.stream(mails=1)
    cast.enqueue(single, [1])
    facts = queries.find_streams([campaign, single, later])
    since = [facts[stream_id].fenced_since for stream_id in (campaign, single, later)]
    began_at = ledger.current_epoch().began_at
    fenced = ledger.claim(later, holder="w", limit=1, lease_time=cast.LEASE)
    epochs.lift()

    assert since == [began_at, None, began_at]
    assert fenced is None
    assert cast.claim(later).epoch == 2
    assert not ledger.current_epoch().is_fenced


def test_an_old_worker_settles_nothing_but_its_acceptances_end_doubts_of_the_lost_time() -> None:
    """H4: a worker of before the restore settled the window of one of after it."""
    stream_id = cast.stream(mails=3)
    taken, window = cast.armed(stream_id)
    epochs.fall()

    settled = ledger.settle(
        taken,
        [window],
        results=[
            entries.accepted(0, message_id="m0"),
            entries.try_later(1, delay=timedelta(), code="451"),
        ],
    )

    assert settled.lost == [window]
    assert cast.states(stream_id) == {
        0: State.ACCEPTED,
        1: State.IN_DOUBT,
        2: State.IN_DOUBT,
    }
    assert queries.count_unmatched() == 1  # the second answer ends no doubt
    assert audit.audit(stream_id).discrepancies == []


def test_evidence_of_another_epoch_accepts_nothing_that_was_planned_after_the_restore() -> None:
    """H3: an event about a mail of the lost time closed another mail that was never sent."""
    stream_id = cast.stream(StreamKind.TRANSACTIONAL)
    epochs.fall()
    epochs.lift()
    [position] = cast.enqueue(stream_id, [1])

    for epoch, unmatched in ((1, 1), (9, 2)):
        assert ledger.record(stream_id, [sent(position, epoch=epoch)]) == 0
        assert queries.count_unmatched() == unmatched
    assert cast.states(stream_id) == {position: State.WAITING}


def test_evidence_of_an_earlier_epoch_needs_the_same_address() -> None:
    stream_id = cast.stream(mails=2)
    entry = entries.accepted(0, message_id="m")
    now = ledger.record(stream_id, [Evidence(1, entry, "ses", 1, "someone@example.com")])
    assert (now, cast.states(stream_id)[0]) == (0, State.WAITING)
    epochs.fall()

    wrong = ledger.record(stream_id, [Evidence(7, entry, "ses", 1, "someone@example.com")])
    right = ledger.record(stream_id, [Evidence(7, entry, "ses", 1, "R0@example.com")])

    assert (wrong, right) == (0, 1)
    assert cast.states(stream_id) == {0: State.ACCEPTED, 1: State.IN_DOUBT}


def test_a_run_that_was_being_planned_plans_on_in_doubt_and_a_new_one_as_ever() -> None:
    campaign, later = cast.stream(mails=2), cast.stream()
    epochs.fall()
    new = cast.stream()

    cast.plan(campaign, range(10, 20))
    cast.plan(later, range(10), due_at=datetime.now(UTC) + SOON)
    cast.plan(new, range(10, 20))

    assert list(cast.states(campaign).values()).count(State.IN_DOUBT) == 10
    assert set(cast.states(later).values()) == {State.WAITING}
    assert set(cast.states(new).values()) == {State.WAITING}
    assert [audit.audit(one).discrepancies for one in (campaign, later)] == [[], []]


def test_the_lost_time_ends_no_earlier_than_the_witness_and_the_last_sign_of_life() -> None:
    ahead = datetime.now(UTC) + timedelta(days=1)

    epoch = ledger.check_epoch(Witness(2**60, 1, ahead))

    assert epoch.gap_to == ahead
    [(token,)] = sql.rows("SELECT last_value FROM deliveries_lease_token", {})
    assert token > 2**60


def test_a_backup_that_is_restored_twice_gives_out_no_number_and_no_try_twice() -> None:
    waiting, failed = cast.stream(mails=1), cast.stream(mails=1)
    cast.book(failed, lambda at: entries.refused(at, code="550"))
    first = cast.next_position(waiting)
    epochs.pretend_restored()
    epoch = ledger.check_epoch(Witness(5, 7))  # epochs up to the seventh began elsewhere
    assert epoch.number == 8
    assert cast.next_position(waiting) - first == 7 * 2**24
    epochs.lift()
    cast.pass_grace(waiting)
    epochs.pass_grace([waiting, failed])
    [doubt] = undecided.find_undecided(waiting, State.IN_DOUBT)

    ledger.resolve(
        waiting,
        [SeenDelivery(0, doubt.last_try)],
        decision=entries.Decision.SEND_AGAIN,
        actor="bob",
    )
    ledger.requeue(failed, [SeenDelivery(0, 1)], actor="bob")

    tries = [cast.claim(one).batches[0].try_number for one in (waiting, failed)]
    assert tries == [2 + 7 * sql.TRY_LEAP] * 2


def test_a_fence_that_falls_again_before_the_judgement_leaps_over_both_epochs() -> None:
    stream_id = cast.stream(mails=1)
    epochs.fall()
    epochs.fall()  # as after a restore of a backup that was taken while the database was fenced

    epochs.lift()

    [doubt] = undecided.find_undecided(stream_id, State.IN_DOUBT)
    assert doubt.last_try == 1 + 2 * sql.TRY_LEAP


def test_a_failure_of_before_the_restore_is_requeued_late_and_under_a_new_number() -> None:
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, lambda at: entries.refused(at, code="550"))
    epochs.fall()
    epochs.lift()

    early = ledger.requeue(stream_id, [SeenDelivery(0, 1)], actor="bob")
    epochs.pass_grace([stream_id])
    late = ledger.requeue(stream_id, [SeenDelivery(0, 1)], actor="bob")

    assert (early, late) == ([], [0])
    assert cast.claim(stream_id).batches[0].try_number == 2 + sql.TRY_LEAP


def test_an_acceptance_of_an_earlier_epoch_beats_a_failure_of_before_the_restore() -> None:
    """It was requeued and taken in the lost time."""
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, lambda at: entries.refused(at, code="550"))
    epochs.fall()

    ledger.record(stream_id, [sent(0, 2, epoch=1)])

    assert cast.states(stream_id) == {0: State.ACCEPTED}


def test_an_old_claim_gives_nothing_back_and_upkeep_leaves_a_fenced_stream_alone() -> None:
    stream_id, cancelled = cast.stream(mails=3), cast.stream(mails=3)
    taken = cast.claim(stream_id)
    ledger.cancel(cancelled, actor="bob")
    epochs.fall()
    cast.run_out(taken.lease)

    given = ledger.wait(taken, taken.batches, reason=Reason.READY, delay=SOON)
    given += ledger.wait_apart(taken, taken.batches[0], [Piece(0, 1), Piece(1, 3)])
    swept, drained = ledger.sweep(), ledger.drain(cancelled)
    epochs.lift()

    assert (given, swept.given_back, drained) == ([], 0, 0)
    assert set(cast.states(stream_id).values()) == {State.IN_DOUBT}
    assert set(cast.states(cancelled).values()) == {State.IN_DOUBT}


def test_nothing_is_swept_drained_or_erased_before_a_restored_database_is_fenced() -> None:
    leased, cancelled, erased = (cast.stream(mails=3) for _ in range(3))
    taken = cast.claim(leased)
    ledger.cancel(cancelled, actor="bob")
    epochs.pretend_restored()
    cast.run_out(taken.lease)

    swept, drained = ledger.sweep(), ledger.drain(cancelled)
    ended = ledger.erase(cast.sender().workspace_id, address="r0@example.com")

    assert (swept.given_back, drained, ended.emptied) == (0, 0, 0)
    ledger.check_epoch(Witness())
    epochs.lift()
    for stream_id in (leased, cancelled, erased):
        assert set(cast.states(stream_id).values()) == {State.IN_DOUBT}


def test_a_fence_that_fell_again_is_not_lifted_unseen() -> None:
    stream_id = cast.stream(mails=1)
    epochs.fall()
    seen = ledger.current_epoch().number
    epochs.fall()

    with pytest.raises(ledger.FellAgainError):
        ledger.lift_all(campaigns=True, epoch=seen)

    assert ledger.current_epoch().is_fenced
    assert ledger.claim(stream_id, holder="w", limit=1, lease_time=cast.LEASE) is None


def test_marks_of_ended_connections_are_forgotten_and_the_highest_stays() -> None:
    epochs.begin_anew()  # earlier tests leave marks, which no flush takes away
    sql.rows("INSERT INTO deliveries_tokenmark VALUES (-1, 5), (-2, 9), (-3, 7)", {})

    ledger.retire_marks()

    assert sql.rows("SELECT backend, token FROM deliveries_tokenmark", {}) == [(-2, 9)]


def test_a_mail_that_the_lost_time_may_have_sent_is_in_doubt_before_its_person_is_erased() -> None:
    stream_id = cast.stream(mails=1)
    workspace_id = cast.sender().workspace_id
    epochs.fall()

    early = ledger.erase(workspace_id, address="r0@example.com")
    before = cast.states(stream_id)
    epochs.lift()
    late = ledger.erase(workspace_id, address="r0@example.com")

    assert (early, before) == (ErasedMail(emptied=0, waiting=1), {0: State.WAITING})
    assert (late, cast.states(stream_id)) == (ErasedMail(emptied=1, waiting=0), {0: State.IN_DOUBT})
