"""Facts become sentences a person can act on: what happened, where it stands, what will move it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from postledger.deliveries.entries import AttemptOutcome, Decision, Hold, HoldScope, StreamKind
from postledger.deliveries.explanations import explain, history_texts
from postledger.deliveries.explanations.reason_texts import explain_reason
from postledger.deliveries.ledger import books
from postledger.deliveries.queries import (
    AttemptFacts,
    Books,
    DeliveryFacts,
    EventFacts,
    ReportCounts,
    ReportFacts,
    StreamFacts,
    WaitSummary,
    WorkFacts,
)
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.providers.base import EventKind

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

STREAM = StreamFacts(
    id=7,
    workspace_id=1,
    sender_id=1,
    is_test=False,
    kind=StreamKind.CAMPAIGN,
    title="News",
    created_at=NOON,
    cancelled_at=None,
    cancelled_by=None,
    holds=(),
)
WORK = WorkFacts(
    reason=Reason.READY,
    since=NOON,
    due_at=NOON,
    try_number=1,
    holder=None,
    lease_until=None,
    is_armed=False,
)
DELIVERY = DeliveryFacts(
    position=3,
    address="alice@example.com",
    planned_at=NOON,
    state=State.WAITING,
    attempts=0,
    last_try=0,
    code=None,
    message_id=None,
    settled_at=None,
    doubts=[],
    resend_after=None,
    work=WORK,
    history=[],
)
PAUSE = Hold(Reason.PAUSED, NOON, None, "bob", "", HoldScope.STREAM)
BLOCK = Hold(
    Reason.SENDER_BLOCKED, NOON, None, "dispatch", "domain not verified.", HoldScope.SENDER
)
CODED_BLOCK = replace(BLOCK, code="SES_ACCOUNT_SENDING_PAUSED", fails_at=NOON + 60 * MINUTE)


def tell(facts: DeliveryFacts, stream: StreamFacts = STREAM) -> list[str]:
    """What is told after the two opening sentences."""
    return explain.explain_delivery(facts, stream, now=NOON)[2:]


def tell_of(work: WorkFacts, stream: StreamFacts = STREAM) -> list[str]:
    return tell(replace(DELIVERY, work=work), stream)


def test_a_wait_says_since_when_why_and_what_will_move_it() -> None:
    assert explain.explain_delivery(DELIVERY, STREAM, now=NOON)[:2] == [
        "To alice@example.com, delivery 3 of campaign “News”.",
        "Planned 2026-11-15 12:00:00 UTC.",
    ]
    for reason in Reason:
        why, moved_by = explain_reason(reason).why, explain_reason(reason).moved_by
        assert tell_of(replace(WORK, reason=reason)) == [
            f"It has waited since 2026-11-15 12:00:00 UTC because {why}; {moved_by}, now."
        ]
    [later] = tell_of(replace(WORK, reason=Reason.RETRY, due_at=NOON + MINUTE))
    assert later.endswith("; the next attempt is made, at 2026-11-15 12:01:00 UTC.")


def test_leased_work_says_who_has_it_and_what_its_loss_would_mean() -> None:
    leased = replace(WORK, try_number=2, holder="w1", lease_until=NOON + MINUTE)
    without_news = "without news by 2026-11-15 12:01:00 UTC"

    assert tell_of(leased) == [
        f"It is with a worker now (try 2, w1); {without_news} it goes back to the queue."
    ]
    assert tell_of(replace(leased, is_armed=True)) == [
        f"It is with the provider now (try 2, w1); {without_news} it becomes in doubt."
    ]


def test_a_wait_keeps_an_earlier_doubt_in_sight_and_without_a_batch_it_is_called_wrong() -> None:
    *_, doubt = tell(replace(DELIVERY, doubts=[1, 2]))
    [wrong] = tell(replace(DELIVERY, work=None))

    assert doubt == "Whether the provider took try 1 and 2 is not known."
    assert wrong.endswith("the books are wrong. Run postledger audit.")


def test_every_outcome_is_told_apart_with_its_try_and_what_the_provider_said() -> None:
    said = []
    for outcome in AttemptOutcome:
        attempt = AttemptFacts(2, NOON, outcome, State.FAILED, "CODE", "The detail.")
        sentence, _ = tell(replace(DELIVERY, history=[attempt]))
        assert sentence.startswith("2026-11-15 12:00:00 UTC, try 2: ")
        assert "(CODE: The detail)" in sentence
        assert sentence.endswith(".")
        said.append(sentence)
    assert len(set(said)) == len(AttemptOutcome)


def test_an_attempt_is_told_without_repetition_and_with_what_it_left_open() -> None:
    refused, lost = AttemptOutcome.REFUSED, AttemptOutcome.LEASE_LOST
    failed, doubtful = State.FAILED, State.IN_DOUBT
    detail = "Its worker was lost while the mail was with the provider."
    stays = "; an earlier try is in doubt, so it stays in doubt."
    for outcome, state, code, said, tail in (
        (refused, failed, "CODE", None, " (CODE)."),
        (refused, failed, None, "Why", " (Why)."),
        (refused, failed, None, None, "for good."),
        (refused, failed, "CODE", "", " (CODE)."),
        (lost, doubtful, None, detail, f"try 2: {detail[0].lower()}{detail[1:]}"),
        (
            *(AttemptOutcome.TRY_LATER, failed, "BUSY", None),
            "asked to try later (BUSY); that was the last attempt.",
        ),
        (refused, doubtful, None, None, stays),
        (AttemptOutcome.SUPPRESSED, doubtful, None, None, stays),
        (AttemptOutcome.NOT_SENT, doubtful, None, None, stays),
    ):
        attempt = AttemptFacts(2, NOON, outcome, state, code, said)
        sentence, _ = tell(replace(DELIVERY, history=[attempt]))
        assert sentence.endswith(tail), sentence
    for outcome in (AttemptOutcome.IN_DOUBT, lost):
        attempt = AttemptFacts(1, NOON, outcome, doubtful, None, None)
        assert "stays" not in tell(replace(DELIVERY, history=[attempt]))[0]


def test_an_event_says_who_did_what() -> None:
    for kind, clause in {
        "proved_accepted": "evidence came that the provider took it (bob)",
        "proved_not_accepted": "evidence came that the provider did not take it (bob)",
        Decision.COUNT_AS_SENT: "bob counted it as sent",
        Decision.COUNT_AS_NOT_SENT: "bob counted it as not sent",
        Decision.SEND_AGAIN: "bob chose to send it again",
        "requeued": "bob requeued it",
        "open": "bob reported “open”",
    }.items():
        first, _ = tell(replace(DELIVERY, history=[EventFacts(NOON, kind, "bob", 1)]))
        assert first == f"2026-11-15 12:00:00 UTC, try 1: {clause}."
    of_no_try, _ = tell(replace(DELIVERY, history=[EventFacts(NOON, "delivered", "ses", 0)]))
    assert of_no_try == "2026-11-15 12:00:00 UTC: ses reported “delivered”."
    for report, clause in {
        "delivered": "the recipient's server took it",
        "bounced": "it bounced for good (Permanent/NoEmail: 550 No such user)",
        "complained": "the recipient reported it as spam",
        "not_spam": "the recipient said that it is no spam",
        "unknown": "the provider reported “Moved”",
    }.items():
        details = ("Permanent/NoEmail", "550 No such user.") if report == "bounced" else ("", "")
        fact = ReportFacts(NOON, report, "Moved", 1, *details, received_at=NOON)
        first, _ = tell(replace(DELIVERY, history=[fact]))
        assert first == f"2026-11-15 12:00:00 UTC, try 1: {clause}."


def test_every_counter_and_every_kind_of_event_has_a_sentence() -> None:
    kinds = {kind.value for kind in EventKind} - {EventKind.UNKNOWN}
    unsaid = (kinds | set(books.REPORTED)) - history_texts._REPORTS.keys()

    assert unsaid == {"reported", EventKind.PREFERENCES_CHANGED}


def test_an_end_says_which_when_and_after_how_much() -> None:
    for state, clause in {
        State.ACCEPTED: "It was accepted",
        State.FAILED: "It failed",
        State.SKIPPED: "It was skipped",
        State.SUPPRESSED: "It was suppressed",
        State.EXPIRED: "It expired",
        State.CANCELLED: "It was cancelled",
    }.items():
        ended = replace(DELIVERY, state=state, settled_at=NOON, attempts=1, work=None)
        assert tell(ended) == [f"{clause} at 2026-11-15 12:00:00 UTC, after 1 attempt."]
    [sent] = tell(replace(DELIVERY, state=State.ACCEPTED, message_id="ses-1", attempts=2))
    [failed] = tell(replace(DELIVERY, state=State.FAILED, code="BUSY"))
    assert sent == "It was accepted as ses-1, after 2 attempts."
    assert failed == "It failed (BUSY), after 0 attempts."


def test_a_doubt_says_which_try_since_when_who_can_end_it_and_until_when_it_is_not_sent_again() -> (
    None
):
    doubtful = replace(DELIVERY, state=State.IN_DOUBT, doubts=[1, 3], settled_at=NOON, work=None)
    told = [
        (
            "It has been in doubt since 2026-11-15 12:00:00 UTC:"
            " nobody knows whether the provider took try 1 and 3."
        ),
        (
            "Evidence of the provider ends the doubt, or a person: postledger resolve, with --sent,"
            " --not-sent or --send-again."
        ),
    ]

    assert tell(doubtful) == tell(replace(doubtful, resend_after=NOON)) == told
    assert tell(replace(doubtful, resend_after=NOON + MINUTE)) == [
        *told,
        (
            "Sending it again is refused before 2026-11-15 12:01:00 UTC:"
            " until then the doubtful try may still leave."
        ),
    ]


def test_a_hold_says_who_why_and_until_what_unless_it_is_over() -> None:
    for reason in Reason:
        hold = Hold(reason, NOON, None, "bob", "", HoldScope.STREAM)
        sentence, _ = tell(DELIVERY, replace(STREAM, holds=(hold,)))
        assert sentence == (
            "The stream has been held since 2026-11-15 12:00:00 UTC by bob"
            f" because {explain_reason(reason).why}, until {explain_reason(reason).moved_by}."
        )
    sentence, _ = tell(DELIVERY, replace(STREAM, holds=(replace(PAUSE, until=NOON + MINUTE),)))
    assert sentence.endswith("because a person paused it, until 2026-11-15 12:01:00 UTC.")
    for scope in HoldScope:
        over = replace(PAUSE, until=NOON, scope=scope)
        assert tell(DELIVERY, replace(STREAM, holds=(over,))) == tell(DELIVERY)


def test_every_hold_is_told_first_the_one_that_ends_last() -> None:
    pause = replace(PAUSE, until=NOON + MINUTE)
    sender, stream, waiting = tell(DELIVERY, replace(STREAM, holds=(pause, BLOCK)))

    assert sender.startswith("The sender has been held")
    assert "(domain not verified)" in sender
    assert stream.startswith("The stream has been held")
    assert waiting.endswith("; it goes on when all holds have ended.")


def test_a_block_says_when_mail_fails_what_prevents_it_and_what_becomes_of_mail() -> None:
    over = replace(CODED_BLOCK, fails_at=NOON)
    _, sentence, waiting = tell(DELIVERY, replace(STREAM, holds=(CODED_BLOCK,)))
    _, failing, _ = tell(DELIVERY, replace(STREAM, holds=(over,)))
    *_, held = tell(DELIVERY, replace(STREAM, holds=(BLOCK,)))

    assert sentence == (
        "If nobody releases it, or holds or releases one of its streams, before"
        " 2026-11-15 13:00:00 UTC, its mail that is due then fails with SES_ACCOUNT_SENDING_PAUSED."
    )
    assert waiting.endswith("; it goes on when the hold ends.")
    assert failing == (
        "Nobody acted in time: mail of it fails with SES_ACCOUNT_SENDING_PAUSED when it is due."
    )
    assert held.endswith("because it is due; it goes on when the hold ends.")


def test_a_cancelled_stream_says_what_becomes_of_the_rest() -> None:
    cancelled = replace(STREAM, cancelled_at=NOON, cancelled_by="bob")
    first, then = tell(DELIVERY, replace(cancelled, holds=(PAUSE,)))
    blocked, fails = tell(DELIVERY, replace(cancelled, block_code="SES_CREDENTIALS"))

    assert first == "The stream was cancelled 2026-11-15 12:00:00 UTC by bob."
    assert then.endswith("; it will be booked as cancelled.")
    assert blocked.endswith("by bob, while the provider refused its sender.")
    assert fails.endswith("; it will be booked as failed (SES_CREDENTIALS).")


def test_a_stream_tells_its_books_as_a_sum_and_what_was_reported() -> None:
    counts = {State.ACCEPTED: 3, State.FAILED: 0, State.IN_DOUBT: 1}
    reports = ReportCounts(delivered=5, on_suppression_list=1, reported=6)

    story = explain.explain_stream(STREAM, Books(6, counts), [], reports=reports, now=NOON)

    assert story == [
        "Campaign “News”, opened 2026-11-15 12:00:00 UTC.",
        "Planned 6 = 3 accepted + 1 in doubt + 2 waiting.",
        "Reported of 6 mails: 5 delivered, 1 on suppression list.",
        "No work is left.",
        "1 delivery is in doubt: evidence of the provider or a person's decision ends that.",
    ]


def test_a_stream_says_why_its_work_waits() -> None:
    for reason in Reason:
        wait = WaitSummary(reason, 3, 1200, 1, NOON + MINUTE, NOON)
        why, moved_by = explain_reason(reason).why, explain_reason(reason).moved_by
        *_, sentence = explain.explain_stream(STREAM, Books(1200, {}), [wait], now=NOON)
        assert sentence == (
            f"Work has waited since 2026-11-15 12:00:00 UTC because {why}"
            " (3 batches, 1200 positions, 1 batch with a worker now);"
            f" {moved_by}, from 2026-11-15 12:01:00 UTC."
        )
