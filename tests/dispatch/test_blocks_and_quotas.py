"""What a provider's refusal of the sender, and a used-up quota, do to the sender and its mail."""

from datetime import timedelta
from pathlib import Path

import pytest

from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Hold, HoldScope
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.providers.base import (
    Category,
    Outcome,
    SenderBlocked,
    Throttled,
)
from tests import cast
from tests.deliveries import views
from tests.dispatch import office, vendors

pytestmark = pytest.mark.django_db(transaction=True)

PAUSED = SenderBlocked(
    "SES_ACCOUNT_SENDING_PAUSED",
    "Sending is paused.",
    is_account=True,
    category=Category.PERMANENT,
    original_code="SendingPausedException",
)


def meet(outcome: Outcome, folder: Path, *, mails: int = 1) -> tuple[int, Hold]:
    """A stream that met this outcome, and the hold of its sender."""
    with vendors.registered(vendors.always(outcome), window_size=1):
        acme = office.open_office(folder, kind=vendors.KIND)
        stream = office.stream(acme, office.people(mails))
        with office.dispatching() as dispatcher:
            office.until(lambda: office.sender_hold(stream) is not None, dispatcher)
    hold = office.sender_hold(stream)
    assert hold is not None
    return stream, hold


def test_a_block_keeps_its_code_and_after_72_hours_all_waiting_mail_fails_with_it(
    tmp_path: Path,
) -> None:
    stream, hold = meet(PAUSED, tmp_path, mails=3)
    cast.let_block_run_out()
    while ledger.give_up(stream):
        pass

    assert (hold.reason, hold.until, hold.code) == (Reason.SENDER_BLOCKED, None, PAUSED.code)
    assert hold.fails_at == hold.since + timedelta(hours=72)
    assert office.counts(stream) == {State.FAILED: 3}
    assert set(office.attempts(stream).values()) == {0}
    failures = [
        row["metadata"]
        for row in views.read("email_events", stream, order='"createdAt"')
        if row["type"] == "FAILED"
    ]
    assert {
        (told["errorCode"], told["errorCategory"], told["originalCode"]) for told in failures
    } == {(PAUSED.code, "PERMANENT_ERROR", "SendingPausedException")}


def test_a_refusal_that_may_be_quoted_is_no_block(tmp_path: Path) -> None:
    quoted = SenderBlocked("550", "Relay access denied.", may_be_quoted=True)

    _, hold = meet(quoted, tmp_path, mails=5)

    assert hold.until is not None
    assert (hold.code, hold.fails_at) == (None, None)


def test_a_test_stream_blocks_nobody(acme: office.Office) -> None:
    stream = office.stream(acme, ["block@example.com"], is_test=True)

    with office.dispatching() as dispatcher:
        office.until(lambda: bool(cast.stream_hold(office.facts(stream))), dispatcher)

    assert office.sender_hold(stream) is None


def test_a_quota_that_is_used_up_until_nobody_knows_when_is_tried_again_after_a_minute(
    tmp_path: Path,
) -> None:
    quota = Throttled(
        "Daily message quota exceeded.", is_quota=True, code="SES_DAILY_QUOTA_EXCEEDED"
    )

    stream, hold = meet(quota, tmp_path)

    assert hold.reason is Reason.QUOTA_EXHAUSTED
    assert hold.until == hold.since + timedelta(minutes=1)
    assert (hold.code, hold.scope) == (None, HoldScope.ACCOUNT)
    office.until(lambda: cast.batches(stream) == [(0, 1, 2, Reason.QUOTA_EXHAUSTED)])
    assert office.counts(stream) == {State.WAITING: 1}
    assert set(office.attempts(stream).values()) == {0}
    assert views.only("email_logs", stream)["errorCode"] == "SES_DAILY_QUOTA_EXCEEDED"


def test_a_quota_whose_reset_is_known_holds_the_sender_until_then(tmp_path: Path) -> None:
    quota = Throttled("Monthly quota.", timedelta(days=20), is_quota=True)

    _, hold = meet(quota, tmp_path)

    assert hold.reason is Reason.QUOTA_EXHAUSTED
    assert hold.until == hold.since + timedelta(days=20)


def test_a_release_brings_mail_forward_that_waited_for_a_quota() -> None:
    stream = cast.stream(mails=1)
    later = timedelta(days=20)
    cast.book(stream, lambda at: entries.throttled(at, delay=later, is_quota=True))

    ledger.release_sender(cast.sender().pk)

    cast.book(stream, views.sent)
    assert office.counts(stream) == {State.ACCEPTED: 1}
