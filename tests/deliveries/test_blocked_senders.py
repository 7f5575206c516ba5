"""The mail of a sender that stays blocked fails with the code of the block, and no other mail."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction
from psycopg import sql as pg

from postledger.deliveries import audit, ledger, queries, reporting, undecided
from postledger.deliveries.entries import (
    AttemptOutcome,
    Block,
    Cancellation,
    Decision,
    NewDelivery,
    SeenDelivery,
    StreamKind,
)
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.providers.base import Category
from tests import cast, epochs
from tests.deliveries import views

pytestmark = pytest.mark.django_db(transaction=True)

PAUSED = "SES_ACCOUNT_SENDING_PAUSED"


def stay_blocked() -> None:
    assert cast.block()
    cast.let_block_run_out()


def findings(stream: int) -> list[str]:
    return [str(found) for found in audit.audit(stream).discrepancies]


def states(stream: int) -> set[State]:
    return set(cast.states(stream).values())


def clock() -> tuple[datetime, datetime]:
    """Since when the sender is blocked, and when its mail fails."""
    [row] = sql.rows("SELECT since, fails_at FROM deliveries_senderhold", {})
    return row[0], row[1]


def test_mail_of_a_sender_that_stayed_blocked_fails_with_the_code_of_the_block() -> None:
    stream = cast.stream(mails=3)
    stay_blocked()

    assert ledger.give_up(stream) == 3

    rows = sql.rows(
        "SELECT d.state, d.code, d.attempts, a.outcome, a.state, a.code, a.category,"
        " a.original_code, a.detail"
        " FROM deliveries_delivery d JOIN deliveries_attempt a USING (stream_id, position)"
        " WHERE d.stream_id = %(stream)s",
        {"stream": stream},
    )
    why = (
        f"The provider refused its sender, and nobody acted for 72 hours. {PAUSED}: Sending paused."
    )
    given_up = ("given_up", "failed", PAUSED, "PERMANENT_ERROR", "SendingPausedException", why)
    assert rows == [("failed", PAUSED, 0, *given_up)] * 3
    assert queries.read_books([stream])[stream].counts[State.FAILED] == 3
    assert cast.batches(stream) == []
    assert findings(stream) == []


def test_nothing_fails_in_the_first_72_hours_which_a_second_refusal_does_not_begin_anew() -> None:
    stream = cast.stream(mails=3)
    cast.block()

    since, fails_at = clock()

    assert fails_at - since == timedelta(hours=72)
    assert ledger.give_up(stream) == 0
    assert queries.blocked_with_work() == []
    assert states(stream) == {State.WAITING}
    assert not cast.block(code="SES_CREDENTIALS")
    assert clock() == (since, fails_at)


def test_a_hold_that_is_no_block_never_fails_mail() -> None:
    for until in (timedelta(hours=1), None):
        stream = cast.stream(mails=1)
        ledger.hold_sender(
            cast.sender().pk, reason=Reason.PROVIDER_DOWN, actor="dispatcher", length=until
        )
        cast.let_block_run_out()

        assert ledger.give_up(stream) == 0
        assert states(stream) == {State.WAITING}, until


def test_a_block_has_no_end_and_takes_the_place_of_a_hold_that_has_one() -> None:
    stream, hour = cast.stream(mails=1), timedelta(hours=1)
    block, sender_id = Block("535", Category.CONFIGURATION), cast.sender().pk
    with pytest.raises(IntegrityError), transaction.atomic():
        ledger.hold_sender(
            sender_id, reason=Reason.SENDER_BLOCKED, actor="dispatcher", length=hour, block=block
        )
    ledger.hold_sender(sender_id, reason=Reason.THROTTLED, actor="dispatcher", length=hour)

    stay_blocked()

    assert ledger.give_up(stream) == 1


def test_all_streams_of_the_sender_fail_and_nobody_elses() -> None:
    campaign = cast.stream(mails=2)
    single = cast.stream(StreamKind.TRANSACTIONAL, mails=2)
    other = cast.stream(mails=2, workspace="globex")
    stay_blocked()

    assert sorted(queries.blocked_with_work()) == sorted([campaign, single])
    assert [ledger.give_up(stream) for stream in (campaign, single, other)] == [2, 2, 0]
    assert states(other) == {State.WAITING}


def test_a_release_ends_the_block_and_the_next_one_has_all_its_time() -> None:
    stream = cast.stream(mails=2)
    stay_blocked()

    assert ledger.release_sender(cast.sender().pk)

    assert ledger.give_up(stream) == 0
    cast.block()
    assert ledger.give_up(stream) == 0
    assert states(stream) == {State.WAITING}


def test_a_person_who_holds_or_releases_a_stream_gives_the_senders_mail_its_time_anew() -> None:
    stream, other = cast.stream(mails=2), cast.stream(mails=2)
    stay_blocked()

    assert ledger.hold(other, reason=Reason.PAUSED, actor="alice")
    assert ledger.give_up(stream) == 0
    cast.let_block_run_out()
    assert ledger.release(other)
    assert ledger.give_up(stream) == 0

    since, fails_at = clock()
    assert timedelta(hours=72) < fails_at - since < timedelta(hours=73)
    cast.let_block_run_out()
    assert ledger.give_up(stream) == 2


def test_a_hold_that_no_person_made_changes_nothing_but_for_the_mail_of_its_stream() -> None:
    stream, broken, paused = (cast.stream(mails=2) for _ in range(3))
    ledger.hold(paused, reason=Reason.PAUSED, actor="alice")
    stay_blocked()

    ledger.hold(broken, reason=Reason.CONTENT_BROKEN, actor="dispatcher")

    assert [ledger.give_up(one) for one in (stream, broken, paused)] == [2, 0, 0]
    assert states(paused) == {State.WAITING}


def test_scheduled_mail_fails_when_it_is_due_if_the_block_still_stands() -> None:
    stream = cast.stream(mails=1)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    ledger.enqueue(stream, [NewDelivery("later@example.com")], due_at=tomorrow)
    stay_blocked()

    assert [ledger.give_up(stream) for _ in "ab"] == [1, 0]
    assert cast.states(stream) == {0: State.FAILED, 1: State.WAITING}
    assert queries.blocked_with_work() == []

    cast.bring_forward(stream)
    assert ledger.give_up(stream) == 1


def test_mail_that_is_with_a_worker_is_left_to_it() -> None:
    stream = cast.stream(mails=4)
    claim, window = cast.armed(stream, size=2)
    stay_blocked()

    assert ledger.give_up(stream) == 0
    results = [views.sent(0), views.blocked(1)]
    assert ledger.settle(claim, [window], results=results).lost == []
    ledger.wait(claim, claim.batches, reason=Reason.HANDED_BACK)

    assert ledger.give_up(stream) == 3
    assert cast.states(stream) == {0: State.ACCEPTED, **dict.fromkeys((1, 2, 3), State.FAILED)}
    assert findings(stream) == []


def test_a_doubt_survives_a_block_and_the_cancel_of_a_blocked_stream() -> None:
    stream, cancelled = cast.doubtful(2), cast.doubtful(2)
    for one in (stream, cancelled):
        cast.pass_grace(one)
        ledger.resolve(one, [SeenDelivery(0, 1)], decision=Decision.SEND_AGAIN, actor="alice")
    cast.block()
    ledger.cancel(cancelled, actor="alice")
    cast.let_block_run_out()

    assert (ledger.give_up(stream), ledger.drain(cancelled)) == (1, 1)

    for one in (stream, cancelled):
        assert states(one) == {State.IN_DOUBT}
        assert findings(one) == []


def test_mail_is_given_up_in_chunks() -> None:
    campaign, single = cast.stream(), cast.stream(StreamKind.TRANSACTIONAL)
    cast.plan(campaign, range(1_200))
    cast.enqueue(single, range(600))
    stay_blocked()

    for stream, chunks in ((campaign, [1_000, 200, 0]), (single, [500, 100, 0])):
        assert [ledger.give_up(stream) for _ in chunks] == chunks
        assert findings(stream) == []


@pytest.fixture
def own_epoch() -> Iterator[None]:
    yield from epochs.kept()


@pytest.mark.usefixtures("own_epoch")
def test_a_restore_gives_the_mail_its_time_anew_and_what_is_fenced_is_left_alone() -> None:
    stream = cast.stream(mails=2)
    stay_blocked()

    epochs.fall()
    since, fails_at = clock()
    cast.let_block_run_out()

    assert fails_at - since > timedelta(hours=72)
    assert ledger.give_up(stream) == 0
    assert states(stream) == {State.WAITING}


# A cancel -------------------------------------------------------------------------------------


def test_a_stream_that_is_cancelled_while_its_sender_is_blocked_fails_at_once() -> None:
    stream = cast.stream(mails=2)
    later = datetime.now(UTC) + timedelta(days=1)
    ledger.enqueue(stream, [NewDelivery("later@example.com")], due_at=later)
    cast.block()

    ledger.cancel(stream, actor="alice")
    # What the person saw counts: the block may end before the drain.
    ledger.release_sender(cast.sender().pk)

    assert ledger.drain(stream) == 3
    assert states(stream) == {State.FAILED}
    *_, last = views.read("email_events", stream, order='"createdAt"')
    assert last["metadata"]["errorCode"] == PAUSED
    assert last["metadata"]["errorMessage"].startswith("Its stream was cancelled while")
    assert findings(stream) == []


def test_a_stream_of_a_sender_that_is_not_blocked_is_cancelled_also_if_it_is_later() -> None:
    stream, other = cast.stream(mails=2), cast.stream(mails=2)
    for one in (stream, other):
        ledger.cancel(one, actor="alice")
    assert [ledger.give_up(stream), ledger.drain(stream)] == [0, 2]
    stay_blocked()
    assert [ledger.give_up(other), ledger.drain(other)] == [0, 2]

    assert states(stream) == states(other) == {State.CANCELLED}


def test_a_single_mail_of_a_blocked_sender_is_cancelled_by_its_caller() -> None:
    stream = cast.stream(StreamKind.TRANSACTIONAL, mails=1)
    stay_blocked()
    [position] = cast.states(stream)

    done = ledger.cancel_delivery(stream, position, actor="key shop")

    assert done is Cancellation.CANCELLED
    assert states(stream) == {State.CANCELLED}


# What can be done about it --------------------------------------------------------------------


def test_what_was_given_up_is_found_by_its_cause_and_can_be_requeued() -> None:
    stream = cast.stream(mails=2)
    stay_blocked()
    ledger.give_up(stream)

    [cause] = reporting.count_causes(stream)
    failed = undecided.find_undecided(stream, State.FAILED, code=PAUSED)
    seen = [SeenDelivery(mail.position, mail.last_try) for mail in failed]
    ledger.release_sender(cast.sender().pk)

    assert (cause.outcome, cause.code, cause.count) == (AttemptOutcome.GIVEN_UP, PAUSED, 2)
    assert ledger.requeue(stream, seen, actor="alice") == [0, 1]
    for _ in seen:
        cast.book(stream, views.sent)
    assert states(stream) == {State.ACCEPTED}
    assert findings(stream) == []


def test_what_was_given_up_was_never_handed_over_so_a_later_run_may_send_it() -> None:
    stream = cast.stream(mails=2)
    cast.book(stream, views.blocked, size=1)
    stay_blocked()
    while ledger.give_up(stream):
        pass

    keys = pg.SQL("SELECT unnest(ARRAY['r0', 'r1']) AS dedupe_key")
    assert ledger.supersede([stream], source=keys, params={}, actor="alice") == 1

    # The first one met the block at the provider.
    assert cast.states(stream) == {0: State.FAILED, 1: State.CANCELLED}


def test_what_was_given_up_is_told_as_received_and_failed_and_is_a_dead_letter() -> None:
    campaign, *others = [cast.stream(kind, mails=1) for kind in StreamKind]
    stay_blocked()
    for stream in (campaign, *others):
        ledger.give_up(stream)
        received, failed = views.read("email_events", stream, order='"createdAt"')

        assert (received["type"], failed["type"]) == ("RECEIVED", "FAILED")
        message = failed["metadata"].pop("errorMessage")
        assert message.startswith("The provider refused its sender")
        assert failed["metadata"] == {
            "attempt": 1,
            "outcome": "given_up",
            "errorCode": PAUSED,
            "errorCategory": "PERMANENT_ERROR",
            "originalCode": "SendingPausedException",
            "willRetry": False,
        }
        assert views.only("email_logs", stream)["errorCode"] == PAUSED
        error = views.only("dead_letters", stream)["error"]
        assert error.startswith(f"{PAUSED}: The provider"), stream

    # One that is then sent has both stories.
    ledger.release_sender(cast.sender().pk)
    ledger.requeue(campaign, [SeenDelivery(0, 0)], actor="bob")
    cast.book(campaign, views.sent)
    assert views.events(campaign) == [
        *["RECEIVED", "FAILED", "REQUEUED"],
        *["RECEIVED", "VALIDATED", "SENT_ATTEMPT", "SENT"],
    ]
