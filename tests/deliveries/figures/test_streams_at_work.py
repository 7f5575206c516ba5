"""What is moving in a workspace, and what waits, since when, until when and why."""

from datetime import UTC, datetime, timedelta

import pytest

from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.figures import streams_at_work
from postledger.deliveries.figures.streams_at_work import WorkspaceWork
from postledger.deliveries.reasons import Reason
from tests import cast, round_trips

pytestmark = pytest.mark.django_db(transaction=True)


def read(workspace: str = "acme") -> WorkspaceWork:
    return streams_at_work.read_work(cast.sender(workspace).workspace_id, now=datetime.now(UTC))


def accept(stream: int) -> None:
    cast.book(stream, lambda position: entries.accepted(position, message_id="m"))


def test_a_stream_that_moves_has_a_rate_and_an_end_if_it_is_a_campaign() -> None:
    stream = cast.stream(mails=100)
    accept(stream)

    work = read()
    [moving] = work.moving

    assert work.oldest_due_at is None
    assert moving.stream.id == stream
    assert moving.books.waiting == moving.next_in_line == 90
    assert moving.waiting == ()
    assert moving.rate is not None
    assert moving.ends_at is not None
    single = cast.stream(StreamKind.TRANSACTIONAL, mails=3, workspace="globex")
    accept(single)
    [moving] = read("globex").moving
    assert moving.ends_at is None


def test_a_stream_that_nobody_serves_does_not_move_and_its_mail_is_overdue() -> None:
    cast.stream(mails=10)

    work = read()

    assert work.moving == []
    assert work.next_in_line == work.waiting == 10
    assert work.oldest_due_at is not None
    assert work.oldest_due_at <= work.now


def test_a_held_stream_says_who_holds_it_and_all_its_mail_waits_for_that() -> None:
    stream = cast.stream(mails=20)
    accept(stream)
    ledger.hold(stream, reason=Reason.PAUSED, actor="anna")

    [held] = read().kept_back

    [wait] = held.waiting
    assert (wait.cause.code, wait.mails) == ("paused", 10)
    assert wait.hold is not None
    assert wait.hold.actor == "anna"
    assert wait.cause.until is None
    assert (held.next_in_line, held.ends_at) == (0, None)
    assert read().oldest_due_at is None


def test_mail_that_is_not_due_waits_for_its_reason_and_the_rest_is_next_in_line() -> None:
    stream = cast.stream(mails=30)
    cast.book(
        stream,
        lambda position: entries.try_later(position, delay=timedelta(hours=1), code="450"),
    )

    [at_work] = read().kept_back

    [wait] = at_work.waiting
    assert (wait.cause.code, wait.mails) == ("retry", 10)
    assert wait.cause.until is not None
    assert at_work.next_in_line == 20
    assert at_work.books.waiting == 30


def test_a_workspace_sees_its_own_streams_alone_and_none_of_its_test_keys() -> None:
    cast.stream(mails=5, workspace="globex")
    cast.stream(StreamKind.TRANSACTIONAL, mails=5, is_test=True)

    assert read().streams == []
    assert read("globex").waiting == 5


def test_many_streams_take_no_more_queries_than_one() -> None:
    for _ in range(5):
        cast.stream(mails=3)
    workspace_id = cast.sender().workspace_id
    streams_at_work.read_work(workspace_id, now=datetime.now(UTC))  # prepares the statements

    with round_trips.counted() as asked:
        streams_at_work.read_work(workspace_id, now=datetime.now(UTC))

    assert asked() == 4
