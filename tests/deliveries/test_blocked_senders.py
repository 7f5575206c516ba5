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


def test_nothing_fails_in_the_first_72_hours() -> None:
    stream = cast.stream(mails=3)
    cast.block()

    since, fails_at = clock()

    assert fails_at - since == timedelta(hours=72)
    assert ledger.give_up(stream) == 0
    assert queries.blocked_with_work() == []
    assert states(stream) == {State.WAITING}


def test_a_second_refusal_of_the_sender_does_not_begin_the_time_anew() -> None:
    cast.block()
    before = clock()

    assert not cast.block(code="SES_CREDENTIALS")

    assert clock() == before


@pytest.mark.parametrize("until", [timedelta(hours=1), None])
def test_a_hold_that_is_no_block_never_fails_mail(until: timedelta | None) -> None:
    stream = cast.stream(mails=1)
    ledger.hold_sender(
        cast.sender().pk, reason=Reason.PROVIDER_DOWN, actor="dispatcher", length=until
    )
    cast.let_block_run_out()

    assert ledger.give_up(stream) == 0
    assert states(stream) == {State.WAITING}


def test_a_block_has_no_end() -> None:
    block = Block("535", Category.CONFIGURATION)

    with pytest.raises(IntegrityError), transaction.atomic():
        ledger.hold_sender(
            cast.sender().pk,
            reason=Reason.SENDER_BLOCKED,
            actor="dispatcher",
            length=timedelta(hours=1),
            block=block,
        )


def test_a_block_takes_the_place_of_a_hold_that_ends_and_its_time_begins_then() -> None:
    stream = cast.stream(mails=1)
    ledger.hold_sender(
        cast.sender().pk, reason=Reason.THROTTLED, actor="dispatcher", length=timedelta(hours=1)
    )

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


def test_a_hold_that_no_person_made_changes_nothing() -> None:
    stream, other = cast.stream(mails=2), cast.stream(mails=2)
    stay_blocked()

    ledger.hold(other, reason=Reason.CONTENT_BROKEN, actor="dispatcher")

    assert ledger.give_up(stream) == 2


def test_mail_of_a_stream_that_is_held_waits_for_its_release() -> None:
    stream = cast.stream(mails=2)
    ledger.hold(stream, reason=Reason.PAUSED, actor="alice")
    stay_blocked()

    assert ledger.give_up(stream) == 0
    assert states(stream) == {State.WAITING}


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


def test_a_doubt_survives_a_block() -> None:
    stream = cast.stream(mails=2)
    cast.lose(stream)
    cast.pass_grace(stream)
    ledger.resolve(stream, [SeenDelivery(0, 1)], decision=Decision.SEND_AGAIN, actor="alice")
    stay_blocked()

    assert ledger.give_up(stream) == 1

    assert states(stream) == {State.IN_DOUBT}
    assert findings(stream) == []


@pytest.mark.parametrize(
    ("kind", "mails", "chunks"),
    [
        (StreamKind.CAMPAIGN, 1_200, [1_000, 200, 0]),
        (StreamKind.TRANSACTIONAL, 600, [500, 100, 0]),
    ],
)
def test_mail_is_given_up_in_chunks(kind: StreamKind, mails: int, chunks: list[int]) -> None:
    stream = cast.stream(kind)
    if kind is StreamKind.CAMPAIGN:
        cast.plan(stream, range(mails))
    else:
        cast.enqueue(stream, range(mails))
    stay_blocked()

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


@pytest.mark.parametrize("is_blocked_later", [False, True])
def test_a_stream_of_a_sender_that_is_not_blocked_is_cancelled(*, is_blocked_later: bool) -> None:
    stream = cast.stream(mails=2)

    ledger.cancel(stream, actor="alice")
    if is_blocked_later:
        stay_blocked()

    assert ledger.give_up(stream) == 0
    assert ledger.drain(stream) == 2
    assert states(stream) == {State.CANCELLED}


def test_a_doubt_survives_the_cancel_of_a_blocked_stream() -> None:
    stream = cast.stream(mails=1)
    cast.lose(stream)
    cast.pass_grace(stream)
    ledger.resolve(stream, [SeenDelivery(0, 1)], decision=Decision.SEND_AGAIN, actor="alice")
    cast.block()
    ledger.cancel(stream, actor="alice")

    assert ledger.drain(stream) == 1

    assert states(stream) == {State.IN_DOUBT}


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


@pytest.mark.parametrize("kind", StreamKind)
def test_what_was_given_up_is_told_as_received_and_failed_and_is_a_dead_letter(
    kind: StreamKind,
) -> None:
    stream = cast.stream(kind, mails=1)
    stay_blocked()
    ledger.give_up(stream)

    received, failed = views.read("email_events", stream, order='"createdAt"')

    assert (received["type"], failed["type"]) == ("RECEIVED", "FAILED")
    assert failed["metadata"].pop("errorMessage").startswith("The provider refused its sender")
    assert failed["metadata"] == {
        "attempt": 1,
        "outcome": "given_up",
        "errorCode": PAUSED,
        "errorCategory": "PERMANENT_ERROR",
        "originalCode": "SendingPausedException",
        "willRetry": False,
    }
    assert views.only("email_logs", stream)["errorCode"] == PAUSED
    assert views.only("dead_letters", stream)["error"].startswith(f"{PAUSED}: The provider")


def test_a_mail_that_was_given_up_and_then_sent_has_both_stories() -> None:
    stream = cast.stream(mails=1)
    stay_blocked()
    ledger.give_up(stream)
    ledger.release_sender(cast.sender().pk)
    ledger.requeue(stream, [SeenDelivery(0, 0)], actor="bob")

    cast.book(stream, views.sent)

    assert views.events(stream) == [
        *["RECEIVED", "FAILED", "REQUEUED"],
        *["RECEIVED", "VALIDATED", "SENT_ATTEMPT", "SENT"],
    ]
