from collections.abc import Callable, Sequence
from functools import partial

import pytest

from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import Decision, Evidence, SeenDelivery, StreamKind
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

type Click = Callable[[int, Sequence[int]], list[int]]


def _failed(mails: int, *, kind: StreamKind = StreamKind.CAMPAIGN) -> int:
    """A stream whose mails were all refused on their first try."""
    stream = cast.stream(kind, mails=mails)
    claim = cast.claim(stream, limit=mails)
    windows = collide.whole(claim)
    assert collide.arm(claim, *windows) == windows
    results = [entries.refused(at, code="550") for at in cast.states(stream)]
    assert ledger.settle(claim, windows, results=results).counts == {State.FAILED: mails}
    return stream


def _doubtful(mails: int, *, kind: StreamKind = StreamKind.CAMPAIGN) -> int:
    """A stream whose mails are all in doubt about their first try, and may be sent again."""
    stream = cast.stream(kind, mails=mails)
    claim = cast.claim(stream, limit=mails)
    windows = collide.whole(claim)
    assert collide.arm(claim, *windows) == windows
    cast.run_out(claim.lease)
    assert ledger.sweep(limit=mails).in_doubt == mails
    cast.pass_grace(stream)
    return stream


def _requeue(stream: int, positions: Sequence[int]) -> list[int]:
    return ledger.requeue(stream, [SeenDelivery(at, 1) for at in positions], actor="alice")


def _send_again(stream: int, positions: Sequence[int]) -> list[int]:
    seen = [SeenDelivery(at, 1) for at in positions]
    return ledger.resolve(stream, seen, decision=Decision.SEND_AGAIN, actor="bob")


def _disprove(stream: int, positions: Sequence[int]) -> list[int]:
    evidence = [Evidence(1, entries.not_sent(at), "operator") for at in positions]
    return list(positions) if ledger.record(stream, evidence) else []


CLICKS = [
    pytest.param(_failed, _requeue, id="requeue"),
    pytest.param(_doubtful, _send_again, id="send again"),
]
WAYS_BACK = [*CLICKS, pytest.param(_doubtful, _disprove, id="disproved")]


@pytest.mark.parametrize("kind", [StreamKind.CAMPAIGN, StreamKind.TRANSACTIONAL])
@pytest.mark.parametrize(("given", "click"), CLICKS)
def test_the_second_of_two_clicks_waits_for_the_first_and_does_nothing(
    given: Callable[..., int], click: Click, kind: StreamKind
) -> None:
    stream = given(3, kind=kind)
    positions = sorted(cast.states(stream))

    with collide.uncommitted(lambda: click(stream, positions)) as first:
        second = collide.waiting(lambda: click(stream, positions))
        assert first.answer() == positions

    assert second.answer() == []
    assert [(lo, number) for lo, _, number, _ in cast.batches(stream)] == [
        (at, 2) for at in positions
    ]


@pytest.mark.parametrize(("given", "click"), CLICKS)
def test_clicks_at_the_same_moment_make_one_batch_each(
    given: Callable[..., int], click: Click
) -> None:
    streams = [given(10) for _ in range(6)]

    for stream in streams:
        answers = collide.together([partial(click, stream, range(10))] * 4)

        assert sorted(at for answer in answers for at in answer) == list(range(10))
        assert len(cast.batches(stream)) == 10
        assert queries.read_books([stream])[stream].waiting == 10


@pytest.mark.parametrize(("given", "click"), WAYS_BACK)
def test_clicks_over_the_same_mails_in_opposite_orders_do_not_deadlock(
    given: Callable[..., int], click: Click
) -> None:
    stream = given(3)
    _grow()

    with collide.uncommitted(partial(_lock, stream, 1)):
        upwards = collide.waiting(partial(click, stream, [0, 1, 2]))
        downwards = collide.waiting(partial(click, stream, [2, 1, 0]))

    assert {*upwards.answer(), *downwards.answer()} == {0, 1, 2}
    assert len(cast.batches(stream)) == 3


def _grow() -> None:
    """Makes the ledger so large that deliveries are looked up one after the other, as given."""
    collide.plan(cast.stream(workspace="globex"), 0, 9_999)
    sql.rows("ANALYZE deliveries_delivery", {})


def _lock(stream: int, position: int) -> None:
    sql.rows(
        "SELECT FROM deliveries_delivery WHERE stream_id = %(stream)s AND position = %(at)s"
        " FOR NO KEY UPDATE",
        {"stream": stream, "at": position},
    )


@pytest.mark.parametrize("kind", [StreamKind.CAMPAIGN, StreamKind.TRANSACTIONAL])
@pytest.mark.parametrize(("given", "click"), CLICKS)
def test_a_click_that_waits_for_proof_of_acceptance_does_nothing(
    given: Callable[..., int], click: Click, kind: StreamKind
) -> None:
    stream = given(1, kind=kind)
    [at] = cast.states(stream)

    with collide.uncommitted(lambda: ledger.record(stream, [collide.proof(at)])) as event:
        second = collide.waiting(lambda: click(stream, [at]))
        assert event.answer() == 1

    assert second.answer() == []
    assert cast.batches(stream) == []
    assert cast.states(stream) == {at: State.ACCEPTED}


@pytest.mark.parametrize("kind", [StreamKind.CAMPAIGN, StreamKind.TRANSACTIONAL])
@pytest.mark.parametrize(("given", "bring_back"), WAYS_BACK)
def test_proof_of_acceptance_that_waits_for_a_click_keeps_the_new_batch_from_being_armed(
    given: Callable[..., int], bring_back: Click, kind: StreamKind
) -> None:
    stream = given(1, kind=kind)
    [at] = cast.states(stream)

    with (
        collide.uncommitted(lambda: bring_back(stream, [at])) as click,
        collide.stopping(lambda: ledger.record(stream, [collide.proof(at)])) as event,
    ):
        event.must_wait()
        assert click.answer() == [at]
        event.must_stop()
        # A worker that is quick composes from the new batch before the proof has committed.
        claim = collide.claim(stream, limit=1)
        windows = collide.whole(claim) if claim else []
        composed = [one.position for window in windows for one in queries.read_waiting([window])]
        assert event.answer() == 1
        armed = collide.arm(claim, *windows) if claim else []

    assert not (composed and armed), "a mail that was accepted is sent again"
    assert cast.states(stream) == {at: State.ACCEPTED}


def test_a_requeued_mail_whose_first_try_proves_accepted_has_its_attempt() -> None:
    stream = _failed(1)

    with collide.uncommitted(partial(_requeue, stream, [0])):
        event = collide.waiting(lambda: ledger.record(stream, [collide.proof(0)]))

    assert event.answer() == 1
    assert collide.column(stream, "attempts") == {0: 1}


@pytest.mark.parametrize(("given", "bring_back"), WAYS_BACK)
def test_clicks_and_proofs_at_the_same_moment_leave_everything_accepted(
    given: Callable[..., int], bring_back: Click
) -> None:
    streams = [given(20) for _ in range(6)]

    for stream in streams:
        proofs = [collide.proof(at) for at in range(20)]
        verbs: list[collide.Verb[object]] = [
            partial(bring_back, stream, range(20)),
            partial(ledger.record, stream, proofs),
            partial(ledger.record, stream, proofs[::-1]),
        ]
        collide.together(verbs)

        assert set(cast.states(stream).values()) == {State.ACCEPTED}
        assert queries.read_books([stream])[stream].counts[State.ACCEPTED] == 20


def test_a_person_and_a_late_answer_end_one_doubt_once() -> None:
    streams = [_doubtful(10) for _ in range(8)]

    for stream in streams:
        collide.together(
            [partial(_send_again, stream, range(10)), partial(_disprove, stream, range(10))]
        )

        assert set(cast.states(stream).values()) == {State.WAITING}
        assert len(cast.batches(stream)) == 10
        assert queries.read_books([stream])[stream].counts[State.IN_DOUBT] == 0


def test_of_two_discards_at_once_one_is_written() -> None:
    stream = _failed(2)
    seen = [SeenDelivery(at, 1) for at in range(2)]

    with collide.uncommitted(lambda: ledger.discard(stream, seen, actor="alice")) as first:
        second = collide.waiting(lambda: ledger.discard(stream, seen, actor="bob"))
        assert first.answer() == [0, 1]

    assert second.answer() == []


def test_of_a_discard_and_a_requeue_the_later_one_finds_what_the_other_left() -> None:
    stream = _failed(1)

    with collide.uncommitted(lambda: _requeue(stream, [0])) as first:
        second = collide.waiting(lambda: ledger.discard(stream, [SeenDelivery(0, 1)], actor="bob"))
        assert first.answer() == [0]

    assert second.answer() == []


def test_late_answers_of_two_kinds_and_a_decision_about_the_same_mails_wait_in_one_order() -> None:
    stream = _doubtful(2)
    refusal = Evidence(1, entries.refused(0, code="550"), "late answer")
    seen = [SeenDelivery(at, 1) for at in (0, 1)]
    decision = partial(
        ledger.resolve, stream, seen, decision=Decision.COUNT_AS_NOT_SENT, actor="bob"
    )

    with collide.uncommitted(partial(_lock, stream, 0)):
        clicks = collide.waiting(decision)
        answers = collide.waiting(lambda: ledger.record(stream, [refusal, collide.proof(1)]))

    assert (answers.answer(), clicks.answer()) == (1, [0])
    assert cast.states(stream) == {0: State.FAILED, 1: State.ACCEPTED}
