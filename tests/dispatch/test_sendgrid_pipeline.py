"""Mail goes the whole way to SendGrid, whose fake fails as scripted."""

from dataclasses import replace
from pathlib import Path

import pytest

from postledger.accounts import sealing
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch import retry
from postledger.lib import references
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.deliveries import views
from tests.dispatch import office
from tests.dispatch.office import Office
from tests.dispatch.test_ses_pipeline import (
    ONCE,
    STEPS,
    enqueue,
    read_attempts,
    read_events,
    read_hold,
)
from tools.fakes.http.faults import (
    AnswerBadBody,
    AnswerError,
    AnswerGateway,
    DropAnswer,
    Fault,
    Rule,
)
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY

pytestmark = pytest.mark.django_db(transaction=True)


def open_sendgrid(fake: FakeSendGrid, folder: Path, name: str = "acme") -> Office:
    """A sender whose account is at the fake."""
    settings = {"api_key": API_KEY, "endpoint": fake.endpoint}
    fake.service.account.add_identities(f"{name}.example")
    return office.open_office(folder, name, kind="sendgrid", settings=settings)


def test_a_mail_that_sendgrid_takes_is_sent_under_its_id_and_can_be_told_by_its_reference(
    tmp_path: Path,
) -> None:
    with serving_in_thread(FakeSendGrid()) as fake:
        acme = open_sendgrid(fake, tmp_path)
        stream = office.stream(acme, kind=StreamKind.TRANSACTIONAL)
        [position] = office.enqueue(stream, ["ann@example.com"])
        office.send_all(stream)

    [accepted] = fake.service.kept
    log = views.only("email_logs", stream)
    assert [row["type"] for row in read_events(stream)] == [*STEPS, "SENT"]
    assert (log["status"], log["sesMessageId"]) == ("SENT", accepted.message_id)
    [arguments] = accepted.mail.custom_args
    reference = references.read(arguments["postledger-id"], sealing.reference_keys())
    assert reference is not None
    assert reference.delivery_id == DeliveryId(stream, position, try_number=1)


# With SendGrid's own document, and the one status that needs none.
UNAVAILABLE: dict[str, tuple[Fault, str]] = {
    "explained@example.com": (AnswerError("internal_error"), "HTTP 500: internal server error"),
    "bare@example.com": (AnswerGateway(503), "HTTP 503"),
}


def test_a_5xx_leads_to_waits_of_1_4_and_10_seconds_then_to_failed_and_a_dead_letter(
    tmp_path: Path,
) -> None:
    options = replace(office.OPTIONS, policies=retry.DEFAULTS)
    with serving_in_thread(FakeSendGrid()) as fake:
        fake.set_faults(*(Rule(row[0], recipient=name) for name, row in UNAVAILABLE.items()))
        acme = open_sendgrid(fake, tmp_path)
        streams = {name: office.stream(acme, [name]) for name in UNAVAILABLE}

        def is_over() -> bool:
            for stream in streams.values():
                cast.bring_forward(stream)  # in place of the waits
            return not office.waiting(*streams.values())

        with office.dispatching(options) as dispatcher:
            office.until(is_over, dispatcher)

    assert (fake.service.script.strikes, len(fake.service.kept)) == ([4, 4], 0)
    for name, stream in streams.items():
        events = read_events(stream)
        waits = [row["metadata"] for row in events if row["type"] == "RETRY_SCHEDULED"]
        assert [wait["backoffDelay"] for wait in waits] == [1_000, 4_000, 10_000]
        assert events[-1]["type"] == "FAILED"
        assert office.counts(stream) == {State.FAILED: 1}
        assert read_hold(stream) is None  # it is no outage
        letter = views.only("dead_letters", stream)
        assert (letter["topic"], letter["payload"]["to"]) == ("campaign", name)
        assert letter["error"] == f"SENDGRID_SERVICE_UNAVAILABLE: {UNAVAILABLE[name][1]}"


FAILURES: dict[str, tuple[Fault, str, str, Reason | None]] = {
    "bad-request": (AnswerError("bad_request"), "refused", "SENDGRID_BAD_REQUEST", None),
    "too-large": (AnswerError("too_large"), "refused", "SENDGRID_TOO_BIG", None),
    "key": (
        *(AnswerError("unauthorized"), "sender_blocked", "SENDGRID_CREDENTIALS"),
        Reason.SENDER_BLOCKED,
    ),
    "forbidden": (
        *(AnswerError("forbidden"), "sender_blocked", "SENDGRID_FORBIDDEN"),
        Reason.SENDER_BLOCKED,
    ),
    "credits": (
        *(AnswerError("credits_exceeded"), "throttled", "SENDGRID_CREDITS_EXCEEDED"),
        Reason.QUOTA_EXHAUSTED,
    ),
    "too-many": (
        *(AnswerError("too_many_requests"), "throttled", "SENDGRID_THROTTLING"),
        Reason.THROTTLED,
    ),
    "gateway": (AnswerGateway(502), "in_doubt", "SENDGRID_GATEWAY", None),
    "no-id": (AnswerBadBody(), "in_doubt", "SENDGRID_GATEWAY", None),
    "dropped": (DropAnswer(), "in_doubt", "NETWORK_ERROR", None),
}


def test_every_failure_is_booked_and_holds_whom_it_concerns(tmp_path: Path) -> None:
    with serving_in_thread(FakeSendGrid()) as fake:
        fake.set_faults(*(Rule(row[0], recipient=f"{name}@*") for name, row in FAILURES.items()))
        streams = {
            name: enqueue(open_sendgrid(fake, tmp_path, name), f"{name}@example.com")
            for name in FAILURES
        }
        holds: dict[str, Reason] = {}

        def is_done() -> bool:
            for name, stream in streams.items():
                if name not in holds and (reason := read_hold(stream)):
                    holds[name] = reason
            expected = {name for name, row in FAILURES.items() if row[3]}
            return all(map(read_attempts, streams.values())) and expected <= holds.keys()

        with office.dispatching(ONCE) as dispatcher:
            office.until(is_done, dispatcher)

    attempts = {name: read_attempts(stream)[0] for name, stream in streams.items()}
    booked = {name: (row["outcome"], row["code"]) for name, row in attempts.items()}
    assert booked == {name: (outcome, code) for name, (_, outcome, code, _) in FAILURES.items()}
    assert holds == {name: hold for name, (*_, hold) in FAILURES.items() if hold}
    categories = {row["category"] for row in attempts.values()}
    assert categories == {
        *("PERMANENT_ERROR", "CONFIGURATION_ERROR", "QUOTA_ERROR", "TRANSIENT_ERROR")
    }
