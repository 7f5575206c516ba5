"""The operator's command on streams: what it does, says, refuses and notes."""

from datetime import UTC, datetime, timedelta

import pytest

from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.ledger import LimitCause
from postledger.deliveries.reasons import Reason
from tests import cast
from tests.cli.command_line import ME, refusal, run, trail

pytestmark = pytest.mark.django_db


def test_streams_are_listed_newest_first_with_their_books_and_holds() -> None:
    first, second = cast.stream(mails=3), cast.stream(mails=1, workspace="globex")
    cast.book(first, lambda at: entries.accepted(at, message_id=f"ses-{at}"), size=2)
    third = cast.stream()
    run("stream", "hold", str(first), "--until", "2h")
    run("stream", "cancel", str(third), "--yes")
    ledger.hold_sender(cast.sender("globex").pk, reason=Reason.SENDER_BLOCKED, actor="worker")

    assert run("stream", "list") == [
        f"{third}  acme  campaign  “News”  0 planned = 0 waiting  cancelled NOW",
        (
            f"{second}  globex  campaign  “News”  1 planned = 1 waiting"
            "  its sender held (sender_blocked)"
        ),
        (
            f"{first}  acme  campaign  “News”  3 planned = 2 accepted + 1 waiting"
            "  held until NOW (paused)"
        ),
    ]
    assert len(run("stream", "list", "--workspace", "acme")) == 2
    assert len(run("stream", "list", "--limit", "1")) == 1


def test_a_stream_is_held_and_released_and_both_are_noted() -> None:
    stream_id = cast.stream(mails=1)

    assert run("stream", "hold", str(stream_id), "--reason", "wrong link", "--actor", "bob") == [
        (
            f"Stream {stream_id}, campaign “News”, is held until it is released;"
            " mail with the provider goes on."
        )
    ]
    facts = queries.find_stream(stream_id)
    assert facts
    [hold] = facts.holds
    assert (hold.reason, hold.detail) == (Reason.PAUSED, "wrong link")
    assert ledger.claim(stream_id, holder="w", limit=1, lease_time=cast.LEASE) is None

    assert run("stream", "release", str(stream_id)) == [
        f"Stream {stream_id}, campaign “News”, is released."
    ]
    assert ledger.claim(stream_id, holder="w", limit=1, lease_time=cast.LEASE)
    assert run("stream", "release", str(stream_id)) == [
        f"Stream {stream_id}, campaign “News”, was not held."
    ]
    subject = f"stream {stream_id}"
    assert trail() == [
        (
            "acme",
            f"bob by {ME}",
            "stream.held",
            subject,
            {"until": None, "detail": "wrong link"},
        ),
        ("acme", ME, "stream.released", subject, {}),
    ]


def test_a_hold_ends_at_the_moment_that_was_given() -> None:
    for given, wanted in (
        ("2199-11-16T08:00", datetime(2199, 11, 16, 8, tzinfo=UTC)),
        ("2199-11-16T08:00+02:00", datetime(2199, 11, 16, 6, tzinfo=UTC)),
        ("2h", datetime.now(UTC) + timedelta(hours=2)),
    ):
        stream_id = cast.stream()
        run("stream", "hold", str(stream_id), "--until", given)
        facts = queries.find_stream(stream_id)
        assert facts
        [hold] = facts.holds
        assert hold.until
        assert abs(hold.until - wanted) < timedelta(minutes=5), given


def test_a_hold_that_would_change_nothing_says_why() -> None:
    stream_id = cast.stream()
    assert "NOW is in the past: give a time in the future." in refusal(
        "stream", "hold", str(stream_id), "--until", "2019-05-17"
    )
    run("stream", "hold", str(stream_id), "--until", "2h")

    assert refusal("stream", "hold", str(stream_id), "--until", "1h") == (
        f"Stream {stream_id}, campaign “News”, is already held until NOW; the longer hold stays."
    )
    run("stream", "hold", str(stream_id))
    assert "is already held until it is released" in refusal("stream", "hold", str(stream_id))
    ledger.cancel(stream_id, actor="bob")
    assert "was cancelled NOW: nothing is sent." in refusal("stream", "hold", str(stream_id))
    assert [action for _, _, action, _, _ in trail()] == ["stream.held", "stream.held"]


def test_a_release_leaves_what_else_stops_a_stream_and_says_so() -> None:
    stream_id = cast.stream()
    run("stream", "hold", str(stream_id))
    until = datetime.now(UTC) + timedelta(hours=1)
    ledger.hold_for_limits(stream_id, [LimitCause(Reason.DAILY_LIMIT, until)])

    said = run("stream", "release", str(stream_id))
    [after] = run("stream", "list")

    assert said[1] == (
        f"It is still held, because the daily limit is reached: see postledger why {stream_id}."
    )
    assert after.endswith("0 waiting  held until NOW (daily_limit)")
    other = cast.stream()
    cast.block()
    assert run("stream", "release", str(other))[1].startswith("Its sender is held too, because the")
    ledger.cancel(other, actor="bob")
    assert run("stream", "release", str(other))[1] == "It was cancelled NOW: nothing is sent."


def test_a_stream_is_cancelled_only_with_yes_and_once() -> None:
    stream_id = cast.stream(mails=2)

    assert refusal("stream", "cancel", str(stream_id)) == (
        f"Stream {stream_id}, campaign “News”, has 2 waiting mails, and a cancelled stream"
        " cannot be resumed. Add --yes to cancel it, or hold it: postledger stream hold."
    )
    assert trail() == []

    assert run("stream", "cancel", str(stream_id), "--yes") == [
        f"Stream {stream_id}, campaign “News”, is cancelled; 2 mails were waiting.",
        "Workers book them as cancelled; mail with the provider goes on.",
    ]
    assert ledger.drain(stream_id) == 2
    assert run("stream", "cancel", str(stream_id)) == [
        f"Stream {stream_id}, campaign “News”, was already cancelled."
    ]
    assert trail() == [("acme", ME, "stream.cancelled", f"stream {stream_id}", {"waiting": 2})]


def test_a_cancelled_stream_of_a_blocked_sender_says_with_what_its_mail_fails() -> None:
    stream_id = cast.stream(mails=2)
    cast.block(code="SES_CREDENTIALS")

    assert run("stream", "cancel", str(stream_id), "--yes")[1] == (
        "Workers book them as failed (SES_CREDENTIALS): the provider refuses the sender;"
        " mail with the provider goes on."
    )
