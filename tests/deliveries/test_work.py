"""Claims about the verbs under a lease: turns, claim, arm, settle, wait."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from postledger.deliveries import audit, entries, ledger, queries
from postledger.deliveries.entries import Entry, Evidence, Piece, StreamKind, Window
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from tests import cast

pytestmark = pytest.mark.django_db(transaction=True)

SOON = timedelta(minutes=5)


def sent(position: int) -> Entry:
    return entries.accepted(position, message_id=f"m{position}")


def later(position: int, minutes: int = 5) -> Entry:
    return entries.try_later(position, delay=timedelta(minutes=minutes), code="BUSY")


def settle(stream_id: int, results: list[Entry]) -> None:
    taken, window = cast.armed(stream_id, size=len(results))
    ledger.settle(taken, [window], results=results)
    assert audit.audit(stream_id).discrepancies == []


def test_a_claim_takes_batches_in_the_order_of_positions_once() -> None:
    stream_id = cast.stream(mails=1500)

    taken = [cast.claim(stream_id, limit=2), cast.claim(stream_id, limit=9)]

    assert [[(batch.lo, batch.hi) for batch in claim.batches] for claim in taken] == [
        [(0, 500), (500, 1000)],
        [(1000, 1500)],
    ]
    assert ledger.claim(stream_id, holder="other", limit=9, lease_time=cast.LEASE) is None


def test_work_that_is_not_due_is_left() -> None:
    stream_id = cast.stream()
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    ledger.enqueue(stream_id, [entries.NewDelivery("a@example.com")], due_at=tomorrow)

    assert ledger.claim(stream_id, holder="w", limit=1, lease_time=cast.LEASE) is None
    assert ledger.next_streams(limit=9) == []


def test_a_held_stream_or_sender_is_not_claimed_until_it_is_released_or_its_hold_ends() -> None:
    stream_id = cast.stream(mails=10)
    owner = cast.sender().pk

    ledger.hold(stream_id, reason=Reason.PAUSED, actor="bob")
    held = ledger.claim(stream_id, holder="w", limit=1, lease_time=cast.LEASE)
    ledger.release(stream_id)
    ledger.hold_sender(owner, reason=Reason.SENDER_BLOCKED, actor="machine")
    blocked = ledger.claim(stream_id, holder="w", limit=1, lease_time=cast.LEASE)
    ledger.release_sender(owner)
    past = datetime.now(UTC) - timedelta(seconds=1)
    ledger.hold(stream_id, reason=Reason.RATE_PER_HOUR, actor="machine", until=past)

    assert held is blocked is None
    assert cast.claim(stream_id).batches


def test_of_two_holds_the_longer_one_stays() -> None:
    stream_id, owner = cast.stream(mails=1), cast.sender().pk
    now = datetime.now(UTC)
    soon, evening = now + timedelta(seconds=1), now + timedelta(hours=8)

    lengths = [
        (
            ledger.hold(stream_id, reason=Reason.PAUSED, actor="bob", until=until),
            ledger.hold_sender(owner, reason=Reason.PAUSED, actor="bob", until=until),
        )
        for until in (soon, evening, soon)
    ]

    facts = queries.find_stream(stream_id)
    assert lengths == [(True, True), (True, True), (False, False)]
    assert facts is not None
    assert [hold.until for hold in facts.holds] == [evening, evening]

    endless = cast.stream(mails=1, workspace="globex")
    ledger.hold(endless, reason=Reason.PAUSED, actor="bob")
    assert not ledger.hold(endless, reason=Reason.PAUSED, actor="carol", length=timedelta(hours=1))
    facts = queries.find_stream(endless)
    assert facts is not None
    assert [(hold.until, hold.actor) for hold in facts.holds] == [(None, "bob")]


def test_streams_take_turns_and_transactional_mail_goes_first() -> None:
    campaigns = [cast.stream(mails=1), cast.stream(mails=1, workspace="globex")]
    urgent = cast.stream(StreamKind.TRANSACTIONAL, mails=1)

    first, second = ledger.next_streams(limit=2), ledger.next_streams(limit=2)

    assert first == [urgent, campaigns[0]]
    assert second == [urgent, campaigns[1]]


def test_a_workspace_with_many_streams_gets_no_more_turns_than_one_with_a_single_stream() -> None:
    many = {cast.stream(mails=1) for _ in range(5)}
    single = cast.stream(mails=1, workspace="globex")

    chosen = [ledger.next_streams(limit=1) for _ in range(10)]

    assert sum(turn == [single] for turn in chosen) == 5
    assert {stream_id for turn in chosen for stream_id in turn} == {*many, single}


def test_a_turn_can_be_asked_for_some_kinds_and_without_streams_workspaces_and_test_mail() -> None:
    campaign, urgent = cast.stream(mails=1), cast.stream(StreamKind.TRANSACTIONAL, mails=1)
    other = cast.stream(mails=1, workspace="globex")
    acme = [cast.sender().workspace_id]

    assert ledger.next_streams(limit=9, kinds=[StreamKind.TRANSACTIONAL]) == [urgent]
    assert ledger.next_streams(limit=9, but_streams=[urgent, campaign]) == [other]
    assert ledger.next_streams(limit=9, but_workspaces=acme) == [other]

    tests = [cast.stream(mails=1, is_test=True, workspace=name) for name in ("acme", "globex")]
    chosen = ledger.next_streams(limit=9, but_tests_of=acme)
    assert sorted(chosen) == sorted([campaign, urgent, other, tests[1]])
    assert tests[0] in ledger.next_streams(limit=9)


def test_a_window_is_not_armed_twice_nor_after_a_cancel_nor_if_composed_before_an_event() -> None:
    stream_id, cancelled = cast.stream(mails=10), cast.stream(mails=1, workspace="globex")
    taken = cast.claim(stream_id)
    window = Window(taken.batches[0], 10)
    ledger.record(stream_id, [Evidence(1, sent(3), "event")])

    assert ledger.arm(taken, [window], lease_time=cast.LEASE) == []
    [fresh] = queries.read_leased(taken)
    assert ledger.arm(taken, [Window(fresh, 10)], lease_time=cast.LEASE)
    assert ledger.arm(taken, [Window(fresh, 10)], lease_time=cast.LEASE) == []
    armed, window = cast.armed(cast.stream(mails=10))
    assert ledger.arm(armed, [window], lease_time=cast.LEASE) == []

    other = cast.claim(cancelled)
    ledger.cancel(cancelled, actor="bob")
    assert ledger.arm(other, [Window(other.batches[0], 1)], lease_time=cast.LEASE) == []


def test_verdicts_commit_with_the_arm_or_not_at_all() -> None:
    stream_id = cast.stream(mails=2)
    taken = cast.claim(stream_id)
    window = Window(taken.batches[0], 2)
    verdicts = [entries.suppressed(0, code="bounced")]
    ledger.hold(stream_id, reason=Reason.PAUSED, actor="bob")

    refused = ledger.arm(taken, [window], lease_time=cast.LEASE, verdicts=verdicts)
    states_then = cast.states(stream_id)
    ledger.release(stream_id)
    armed = ledger.arm(taken, [window], lease_time=cast.LEASE, verdicts=verdicts)

    assert refused == []
    assert states_then == {0: State.WAITING, 1: State.WAITING}
    assert armed == [window]
    assert cast.states(stream_id) == {0: State.SUPPRESSED, 1: State.WAITING}


def test_a_window_with_nothing_to_send_is_passed_over_and_one_with_one_mail_is_armed() -> None:
    stream_id = cast.stream(mails=4)
    taken = cast.claim(stream_id)
    [batch] = taken.batches
    verdicts = [entries.expired(0), entries.skipped(1, code="snoozed")]

    with pytest.raises(ValueError, match="accepted is not a verdict"):
        ledger.arm(taken, [Window(batch, 1)], lease_time=cast.LEASE, verdicts=[sent(0)])
    assert ledger.arm(taken, [Window(batch, 2)], lease_time=cast.LEASE, verdicts=verdicts) == []
    assert cast.batches(stream_id) == [(2, 4, 1, "ready")]
    assert audit.audit(stream_id).discrepancies == []

    [rest] = queries.read_leased(taken)
    window = Window(rest, 4)
    armed = ledger.arm(taken, [window], lease_time=cast.LEASE, verdicts=[entries.expired(2)])
    assert armed == [window]
    assert audit.audit(stream_id).discrepancies == []


def test_every_outcome_is_booked_as_what_it_means() -> None:
    stream_id = cast.stream(mails=8)
    results = [
        sent(0),
        entries.refused(1, code="NO"),
        later(2),
        entries.throttled(3, delay=SOON),
        entries.sender_blocked(4, code="KEY"),
        entries.not_sent(5),
        entries.in_doubt(6),
        entries.exhausted(7, code="BUSY"),
    ]

    settle(stream_id, results)

    waiting = State.WAITING
    assert [cast.states(stream_id)[position] for position in range(8)] == [
        *(State.ACCEPTED, State.FAILED, waiting, waiting, waiting, waiting),
        *(State.IN_DOUBT, State.FAILED),
    ]
    assert [reason for *_, reason in cast.batches(stream_id)] == [
        *("retry", "throttled", "sender_blocked", "not_sent")
    ]


def test_only_a_completed_attempt_counts() -> None:
    for result, attempts in (
        (sent(0), 1),
        (entries.refused(0, code="NO"), 1),
        (later(0), 1),
        (entries.in_doubt(0), 1),
        (entries.throttled(0, delay=SOON), 0),
        (entries.sender_blocked(0, code="KEY"), 0),
        (entries.not_sent(0), 0),
    ):
        stream_id = cast.stream(mails=1)
        settle(stream_id, [result])
        facts = queries.find_delivery(stream_id, 0)
        assert facts is not None
        assert (facts.attempts, facts.last_try) == (attempts, 1), result


def test_a_mail_without_an_answer_is_in_doubt_not_lost() -> None:
    stream_id = cast.stream(mails=2)
    taken, window = cast.armed(stream_id)

    ledger.settle(taken, [window], results=[sent(0)])

    assert cast.states(stream_id) == {0: State.ACCEPTED, 1: State.IN_DOUBT}
    assert audit.audit(stream_id).discrepancies == []


def test_retries_due_together_share_a_batch_across_accepted_mails() -> None:
    stream_id = cast.stream(mails=6)

    settle(stream_id, [later(0), sent(1), sent(2), later(3), sent(4), later(5)])

    assert cast.batches(stream_id) == [(0, 6, 2, "retry")]


def test_a_retry_batch_never_spans_a_mail_that_could_come_back() -> None:
    stream_id = cast.stream(mails=7)
    results = [later(0), entries.in_doubt(1), later(2), entries.refused(3, code="NO")]

    settle(stream_id, [*results, later(4), later(5, minutes=9), later(6)])

    assert [(lo, hi) for lo, hi, *_ in cast.batches(stream_id)] == [
        *((0, 1), (2, 3), (4, 5), (5, 6), (6, 7))
    ]


def test_a_prefix_can_be_settled_while_the_rest_is_under_way() -> None:
    stream_id = cast.stream(mails=4)
    taken, window = cast.armed(stream_id)
    batch_id = window.batch.id

    ledger.settle(taken, [window], results=[sent(0), sent(1)], settled_to={batch_id: 2})
    rest = Window(cast.again(window.batch, lo=2), window.to)
    ledger.settle(taken, [rest], results=[sent(2), sent(3)])

    assert set(cast.states(stream_id).values()) == {State.ACCEPTED}
    assert audit.audit(stream_id).discrepancies == []


def test_an_expired_lease_settles_until_it_is_swept_and_then_its_answers_are_evidence() -> None:
    stream_id, expired = cast.stream(mails=4), cast.stream(mails=1)
    unswept, unswept_window = cast.armed(expired)
    cast.run_out(unswept.lease)
    assert ledger.settle(unswept, [unswept_window], results=[sent(0)]).counts == {State.ACCEPTED: 1}

    taken, window = cast.armed(stream_id)
    cast.run_out(taken.lease)
    ledger.sweep()
    late = [sent(0), entries.refused(1, code="NO"), later(2), entries.in_doubt(3)]
    settled = ledger.settle(taken, [window], results=late)

    assert settled.lost == [window]
    assert [cast.states(stream_id)[position] for position in range(4)] == [
        *(State.ACCEPTED, State.FAILED, State.WAITING, State.IN_DOUBT)
    ]
    assert audit.audit(stream_id).discrepancies == []


def test_whoever_lost_the_lease_settles_nothing_of_the_next_ones_window() -> None:
    stream_id = cast.stream(mails=2)
    lost = cast.claim(stream_id)
    cast.run_out(lost.lease)
    ledger.sweep()
    _, window = cast.armed(stream_id)

    refused = [entries.refused(0, code="NO"), entries.refused(1, code="NO")]
    settled = ledger.settle(lost, [window], results=refused)

    assert settled.lost == [window]
    assert set(cast.states(stream_id).values()) == {State.WAITING}


def test_waiting_on_for_the_same_reason_keeps_its_beginning() -> None:
    stream_id = cast.stream(mails=1)

    def defer() -> datetime:
        taken = cast.claim(stream_id)
        ledger.wait(taken, taken.batches, delay=timedelta(), reason=Reason.OUTSIDE_HOURS)
        facts = queries.find_delivery(stream_id, 0)
        assert facts is not None
        assert facts.work is not None
        return facts.work.since

    assert defer() == defer()


def test_who_waits_alone_keeps_nobody_waiting() -> None:
    stream_id = cast.stream(mails=6)
    taken = cast.claim(stream_id)
    [batch] = taken.batches
    pieces = [Piece(0, 2), Piece(2, 3, datetime.now(UTC) + SOON, Reason.SCHEDULED), Piece(3, 6)]

    given_back = ledger.wait_apart(taken, batch, pieces)

    assert len(given_back) == 3
    assert cast.batches(stream_id) == [
        (0, 2, 1, Reason.READY),
        (2, 3, 1, Reason.SCHEDULED),
        (3, 6, 1, Reason.READY),
    ]
    others = cast.claim(stream_id, limit=9)
    assert [(batch.lo, batch.hi) for batch in others.batches] == [(0, 2), (3, 6)]
    assert ledger.arm(taken, [Window(batch, 2)], lease_time=cast.LEASE) == []
    assert audit.audit(stream_id).discrepancies == []


def test_waiting_alone_is_no_try_and_a_lost_worker_leaves_no_doubt_about_it() -> None:
    stream_id = cast.stream(mails=2)
    taken = cast.claim(stream_id)
    [batch] = taken.batches
    outside = Piece(0, 1, datetime.now(UTC) + SOON, Reason.OUTSIDE_HOURS)
    ledger.wait_apart(taken, batch, [outside, Piece(1, 2)])
    cast.lose(stream_id)

    assert cast.states(stream_id) == {0: State.WAITING, 1: State.IN_DOUBT}
    assert cast.batches(stream_id) == [(0, 1, 1, Reason.OUTSIDE_HOURS)]
    facts = queries.find_delivery(stream_id, 0)
    assert facts is not None
    assert (facts.attempts, facts.last_try) == (0, 0)
    assert audit.audit(stream_id).discrepancies == []


def test_a_batch_whose_lease_was_lost_or_that_is_armed_is_neither_cut_nor_given_back() -> None:
    stream_id = cast.stream(mails=2)
    taken, window = cast.armed(stream_id)
    pieces = [Piece(0, 1), Piece(1, 2, datetime.now(UTC) + SOON, Reason.SCHEDULED)]

    assert ledger.wait_apart(taken, window.batch, pieces) == []
    assert ledger.wait(taken, [window.batch], reason=Reason.HANDED_BACK) == []
    other = cast.stream(mails=2)
    lost = cast.claim(other)
    cast.run_out(lost.lease)
    ledger.sweep()
    assert ledger.wait_apart(lost, lost.batches[0], pieces) == []
    assert cast.batches(other) == [(0, 2, 1, Reason.LEASE_LOST)]


def test_pieces_that_leave_a_position_out_are_refused() -> None:
    taken = cast.claim(cast.stream(mails=3))

    with pytest.raises(ValueError, match="all of its positions"):
        ledger.wait_apart(taken, taken.batches[0], [Piece(0, 1), Piece(2, 3)])


def test_windows_of_two_streams_are_refused() -> None:
    """A statement is for one stream: moving another's batch would lose its mail."""
    streams = [cast.stream(mails=1), cast.stream(mails=1)]
    (taken, window), (_, other) = (cast.armed(stream_id) for stream_id in streams)

    with pytest.raises(ValueError, match="one stream"):
        ledger.settle(taken, [window, other], results=[sent(0)])
    with pytest.raises(ValueError, match="one stream"):
        ledger.arm(taken, [window, other], lease_time=cast.LEASE)


def test_a_prefix_beyond_the_armed_window_is_not_booked() -> None:
    stream_id = cast.stream(mails=4)
    taken, window = cast.armed(stream_id, size=2)

    settled = ledger.settle(
        taken, [window], results=[sent(0), sent(1)], settled_to={window.batch.id: 4}
    )

    assert settled.lost == [window]
    assert audit.audit(stream_id).discrepancies == []


def test_a_batch_that_lost_a_worker_is_claimed_alone() -> None:
    stream_id = cast.stream(StreamKind.TRANSACTIONAL, mails=3)
    lost = ledger.claim(stream_id, holder="w", limit=2, lease_time=cast.LEASE)
    assert lost is not None
    cast.run_out(lost.lease)
    ledger.sweep()

    healthy = ledger.claim(stream_id, holder="w", limit=50, lease_time=cast.LEASE)
    suspects = [
        ledger.claim_suspect(stream_id, holder="w", lease_time=cast.LEASE) for _ in range(3)
    ]

    assert healthy is not None
    assert healthy.has_suspects
    assert len(healthy.batches) == 1
    assert [len(claim.batches) if claim else 0 for claim in suspects] == [1, 1, 0]
    assert not ledger.has_suspects(stream_id)


def test_losses_beside_others_fail_nobody() -> None:
    """H1: fifty mails of one claim died three times together, and all of them failed untried."""
    stream_id = cast.stream(StreamKind.TRANSACTIONAL, mails=5)
    for _ in range(20):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE deliveries_batch SET losses = 0")  # as if claimed together again
        taken = ledger.claim(stream_id, holder="w", limit=50, lease_time=cast.LEASE)
        assert taken is not None
        assert len(taken.batches) == 5
        cast.run_out(taken.lease)
        ledger.sweep()

    assert set(cast.states(stream_id).values()) == {State.WAITING}
    assert audit.audit(stream_id).discrepancies == []


def test_a_suspect_that_was_armed_is_one_no_more() -> None:
    stream_id = cast.stream(mails=20)
    for _ in range(3):
        cast.run_out(cast.claim(stream_id).lease)
        ledger.sweep()
        cast.bring_forward(stream_id)

    cast.book(stream_id, lambda position: entries.accepted(position, message_id="m"), size=5)

    assert not ledger.has_suspects(stream_id)
    assert cast.claim(stream_id).batches[0].lo == 5
