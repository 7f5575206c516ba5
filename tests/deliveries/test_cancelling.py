"""Single mails are cancelled, and failures superseded, only if nobody has them or can get them."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from psycopg import sql as pg

from postledger.deliveries import audit, entries, ledger, queries
from postledger.deliveries.entries import Cancellation, Decision, SeenDelivery, StreamKind, Window
from postledger.deliveries.explanations import explain
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from tests import cast, epochs

pytestmark = pytest.mark.django_db(transaction=True)


type Result = Callable[[int], entries.Entry]


def single(*, due_at: datetime | None = None) -> tuple[int, int]:
    """A stream with one single mail, and its position."""
    stream = cast.stream(StreamKind.TRANSACTIONAL)
    [position] = ledger.enqueue(
        stream, [entries.NewDelivery("r0@example.com", dedupe_key="r0")], due_at=due_at
    )
    return stream, position


def cancel(stream: int, position: int) -> Cancellation | None:
    return ledger.cancel_delivery(stream, position, actor="key shop")


def later(position: int) -> entries.Entry:
    return entries.try_later(position, delay=timedelta(hours=1), code="450")


def missing(position: int) -> entries.Entry:
    return entries.invalid(position, code="template_missing_variable")


def findings(stream: int) -> list[str]:
    return [str(found) for found in audit.audit(stream).discrepancies]


def events(stream: int, position: int) -> list[tuple[str, str]]:
    rows = sql.rows(
        "SELECT kind, actor FROM deliveries_deliveryevent"
        " WHERE stream_id = %(stream)s AND position = %(position)s ORDER BY id",
        {"stream": stream, "position": position},
    )
    return [(kind, actor) for kind, actor in rows]


def test_a_scheduled_mail_is_cancelled_with_its_actor_and_its_reason() -> None:
    stream, position = single(due_at=datetime.now(UTC) + timedelta(days=2))

    assert cancel(stream, position) is Cancellation.CANCELLED

    facts = queries.find_delivery(stream, position)
    assert facts is not None
    assert (facts.state, facts.code) == (State.CANCELLED, "cancelled_by_caller")
    assert events(stream, position) == [("cancelled", "key shop")]
    assert cast.batches(stream) == []
    assert queries.read_books([stream])[stream].counts[State.CANCELLED] == 1
    assert findings(stream) == []
    of_stream = queries.find_stream(stream)
    assert of_stream is not None
    told = explain.explain_delivery(facts, of_stream, now=datetime.now(UTC))
    assert told[-2].endswith(": key shop cancelled it.")
    assert told[-1].startswith("It was cancelled (cancelled_by_caller) at ")


def test_a_mail_that_waits_for_a_retry_is_cancelled_once_and_one_that_is_not_there_never() -> None:
    stream, position = single()
    cast.book(stream, later)

    assert [cancel(stream, position) for _ in range(2)] == [Cancellation.CANCELLED] * 2
    assert len(events(stream, position)) == 1
    assert cast.states(stream) == {position: State.CANCELLED}
    assert cancel(stream, position + 1) is None
    assert findings(stream) == []


def test_a_worker_that_has_claimed_a_cancelled_mail_can_neither_arm_it_nor_give_it_back() -> None:
    stream, position = single()
    claim = cast.claim(stream)
    [batch] = claim.batches

    assert cancel(stream, position) is Cancellation.CANCELLED

    windows = [Window(batch, batch.hi)]
    assert ledger.arm(claim, windows, lease_time=cast.LEASE) == []
    assert ledger.arm(claim, windows, lease_time=cast.LEASE, verdicts=[]) == []
    assert ledger.wait(claim, [batch], reason=Reason.HANDED_BACK) == []
    cast.run_out(claim.lease)
    ledger.sweep()
    assert cast.states(stream) == {position: State.CANCELLED}
    assert findings(stream) == []


def test_an_armed_mail_is_not_cancelled_and_its_answer_is_stored() -> None:
    stream, position = single()
    claim, window = cast.armed(stream)

    assert cancel(stream, position) is Cancellation.ARMED

    results = [entries.accepted(position, message_id="m")]
    assert ledger.settle(claim, [window], results=results).counts == {State.ACCEPTED: 1}
    assert events(stream, position) == []
    assert findings(stream) == []


def test_a_mail_in_doubt_is_not_cancelled_also_while_it_is_sent_again() -> None:
    stream, position = single()
    cast.lose(stream)
    assert cancel(stream, position) is Cancellation.IN_DOUBT
    cast.pass_grace(stream)
    ledger.resolve(stream, [SeenDelivery(position, 1)], decision=Decision.SEND_AGAIN, actor="alice")

    assert cancel(stream, position) is Cancellation.IN_DOUBT
    assert cast.states(stream) == {position: State.WAITING}
    assert findings(stream) == []


def test_a_mail_that_has_a_result_is_not_cancelled_nor_one_of_a_batch_by_itself() -> None:
    results: list[Result] = [
        lambda at: entries.accepted(at, message_id="m"),
        lambda at: entries.refused(at, code="550"),
    ]
    for result in results:
        stream, position = single()
        cast.book(stream, result)
        before = cast.states(stream)
        assert cancel(stream, position) is Cancellation.ENDED
        assert cast.states(stream) == before
    batch = cast.stream(mails=3)
    assert cancel(batch, 0) is not Cancellation.CANCELLED
    assert set(cast.states(batch).values()) == {State.WAITING}


@pytest.fixture
def _own_epoch() -> Iterator[None]:
    yield from epochs.kept()


@pytest.mark.usefixtures("_own_epoch")
def test_a_mail_that_the_lost_time_may_have_sent_is_not_cancelled_also_before_the_fence() -> None:
    stream, position = single()
    epochs.pretend_restored()

    assert cancel(stream, position) is Cancellation.FENCED
    ledger.check_epoch(ledger.Witness())
    assert cancel(stream, position) is Cancellation.FENCED
    assert cast.states(stream) == {position: State.WAITING}
    epochs.lift()
    assert cast.states(stream) == {position: State.IN_DOUBT}


# Failures that are superseded ---------------------------------------------------------------------

KEYS = pg.SQL("SELECT key AS dedupe_key FROM unnest(%(keys)s::text[]) AS key")


def supersede(stream: int, *numbers: int) -> int:
    keys = [f"r{number}" for number in numbers]
    return ledger.supersede([stream], source=KEYS, params={"keys": keys}, actor="alice")


def test_a_failure_that_was_never_armed_is_superseded_and_cannot_be_requeued() -> None:
    stream = cast.stream(mails=3)
    cast.judge(stream, missing)

    assert supersede(stream, 0, 2, 9) == 2

    assert cast.states(stream) == {0: State.CANCELLED, 1: State.FAILED, 2: State.CANCELLED}
    seen = [SeenDelivery(position, 1) for position in range(3)]
    assert ledger.requeue(stream, seen, actor="bob") == [1]
    assert events(stream, 0) == [("superseded", "alice")]
    assert findings(stream) == []


def test_a_failure_that_was_handed_over_is_not_superseded() -> None:
    results: list[Result] = [
        lambda at: entries.refused(at, code="550"),
        lambda at: entries.exhausted(at, code="450"),
    ]
    for result in results:
        stream = cast.stream(mails=1)
        cast.book(stream, result)
        assert supersede(stream, 0) == 0
        assert cast.states(stream) == {0: State.FAILED}
    # Also if it was handed over before it was found invalid, or counted as not sent.
    stream, doubtful = cast.stream(mails=1), cast.doubtful()
    cast.book(stream, lambda at: entries.try_later(at, delay=timedelta(), code="450"))
    cast.judge(stream, missing)
    seen = [SeenDelivery(0, 1)]
    ledger.resolve(doubtful, seen, decision=Decision.COUNT_AS_NOT_SENT, actor="alice")
    assert supersede(stream, 0) == supersede(doubtful, 0) == 0
    assert cast.states(doubtful) == {0: State.FAILED}


@pytest.mark.usefixtures("_own_epoch")
def test_a_failure_of_before_a_restore_is_not_superseded() -> None:
    """The lost time may have requeued and sent it."""
    stream = cast.stream(mails=1)
    cast.judge(stream, missing)
    epochs.fall()
    epochs.lift()

    assert supersede(stream, 0) == 0


# Retries with new values --------------------------------------------------------------------------


def variables(stream: int) -> object:
    [(stored,)] = sql.rows(
        "SELECT variables FROM deliveries_delivery WHERE stream_id = %(stream)s", {"stream": stream}
    )
    return stored


def requeue(stream: int) -> list[int]:
    return ledger.requeue(
        stream, [SeenDelivery(0, 1)], actor="alice", variables={0: '{"city": "Porto"}'}
    )


def test_a_failure_gets_new_values_when_it_is_requeued_if_it_was_never_armed_nor_erased() -> None:
    never_armed, handed_over, erased = (cast.stream() for _ in range(3))
    for number, stream in enumerate((never_armed, handed_over, erased)):
        ledger.enqueue(stream, [entries.NewDelivery(f"r{number}@example.com", contact_id=1)])
    cast.judge(never_armed, missing)
    cast.book(handed_over, lambda at: entries.refused(at, code="550"))
    cast.judge(erased, missing)
    ledger.erase(cast.sender().workspace_id, address="r2@example.com")

    for stream, values in ((never_armed, {"city": "Porto"}), (handed_over, None), (erased, None)):
        assert requeue(stream) == [0]
        assert variables(stream) == values
