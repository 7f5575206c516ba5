"""What the log line of a mail says."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from structlog.testing import capture_logs

from postledger.contacts.standings import Standings
from postledger.contacts.states import Purpose
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Body, Recipient, StreamKind
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch import answers
from postledger.dispatch.answers import Answer
from postledger.dispatch.retry import Policy
from postledger.dispatch.rounds import report
from postledger.dispatch.rounds.compose import ComposedMail, ComposedRound
from postledger.dispatch.rounds.round_input import RoundInput
from postledger.lib.ids import DeliveryId
from postledger.providers.base import (
    Accepted,
    InDoubt,
    NotSent,
    Outcome,
    OutgoingMessage,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
STREAM = StreamFacts(
    id=1,
    workspace_id=7,
    sender_id=3,
    kind=StreamKind.TRANSACTIONAL,
    title="API",
    is_test=False,
    created_at=NOON,
    cancelled_at=None,
    cancelled_by=None,
    holds=(),
)
MAIL = ComposedMail(
    0, 1, 0, "r-1", OutgoingMessage("id", "reference", "a@x.example", "b@x.example", b"")
)
RECIPIENT = Recipient(0, "b@x.example", None, None, attempts=2)
READ = RoundInput(
    [RECIPIENT], {0: Body(request_id="r-1")}, Standings({}, {}, purpose=Purpose.SERVICE)
)
FIELDS = {"request_id": "r-1", "outbox_id": DeliveryId(1, 0).text(), "workspace_id": 7}


def test_an_answer_is_logged_with_its_code_and_category_unless_it_is_an_acceptance() -> None:
    rows: list[tuple[Outcome, str | None, str | None]] = [
        (Refused("550", "no", original_code="Theirs"), "550", "PERMANENT_ERROR"),
        (TryLater("451", "x"), "451", "TRANSIENT_ERROR"),
        (TryLater("connect", "down", is_outage=True), "connect", "TRANSIENT_ERROR"),
        (Throttled("slow", code="454"), "454", "QUOTA_ERROR"),
        (SenderBlocked("535", "key"), "535", "CONFIGURATION_ERROR"),
        (InDoubt("gone", code="reset"), "reset", "TRANSIENT_ERROR"),
        (NotSent("late"), "not_sent", "TIMEOUT_ERROR"),
        (Accepted("m1"), None, None),
    ]
    for outcome, code, category in rows:
        line = log_answer(outcome)

        event = "mail not taken" if code else "mail handed over"
        assert (line["event"], line["code"], line["category"]) == (event, code, category)
        assert (line["request_id"], line["attempt"], line["duration_ms"]) == ("r-1", 1, 250)
        if code == "550":
            assert line["original_code"] == "Theirs"


def test_a_mail_that_could_not_be_composed_is_logged_with_the_fields_of_every_mail() -> None:
    entry = replace(entries.invalid(0, code="INVALID_TEMPLATE"), duration_ms=40)

    with capture_logs() as lines:
        report.compose_error(STREAM, READ, entry, ZeroDivisionError())
    [line] = lines

    assert (line["event"], line["log_level"]) == ("composing a mail failed", "error")
    assert fields_of(line) == FIELDS | {"attempt": 3, "state": "failed", "duration_ms": 40}


def test_a_verdict_on_a_mail_of_a_letter_is_logged_with_the_fields_of_every_mail() -> None:
    shared = {ledger.shared_position(0): Body(request_id="r-1")}
    read = RoundInput([RECIPIENT], shared, Standings({}, {}, purpose=Purpose.NEWS))
    entry = replace(entries.suppressed(0, code="bounced"), duration_ms=40)

    with capture_logs() as lines:
        report.composed_round(STREAM, read, ComposedRound(verdicts=[entry]))
    [line] = lines

    assert (line["event"], line["code"], line["category"]) == ("mail not sent", "bounced", None)
    assert fields_of(line) == FIELDS | {"attempt": 3, "state": "suppressed", "duration_ms": 40}


def test_a_mail_that_was_not_handed_over_is_logged_with_the_fields_of_every_mail() -> None:
    entry = replace(entries.not_sent(0, detail="Too late."), duration_ms=40)

    with capture_logs() as lines:
        report.not_handed_over(STREAM, MAIL, entry)
    [line] = lines

    assert (line["event"], line["detail"]) == ("mail not handed over", "Too late.")
    assert fields_of(line) == FIELDS | {"attempt": 1, "state": "waiting", "duration_ms": 40}


def fields_of(line: Mapping[str, object]) -> dict[str, object]:
    return {name: line[name] for name in (*FIELDS, "attempt", "state", "duration_ms")}


def log_answer(outcome: Outcome) -> dict[str, object]:
    policy = Policy(attempts=3, delays=(10, 20))
    entry = answers.book_answer(Answer(0, 0, outcome, 250), policy=policy, chance=0.5)
    with capture_logs() as lines:
        report.answer(STREAM, MAIL, entry)
    [line] = lines
    return dict(line)
