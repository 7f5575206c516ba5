"""A person is erased although mail to them waits, and no run fails because of it."""

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from postledger.campaigns.models import Run
from postledger.campaigns.notion import status_reports
from postledger.campaigns.runs import report, run_control
from postledger.contacts.models import Contact
from postledger.deliveries import audit, entries, ledger
from postledger.deliveries.entries import (
    Body,
    Claim,
    Decision,
    NewDelivery,
    SeenDelivery,
    StreamKind,
)
from postledger.deliveries.states import State
from postledger.lib import work_leases
from postledger.lib.work_leases import Work
from postledger.privacy import erasure
from postledger.privacy.models import Pending
from postledger.workers import tasks
from tests import cast
from tests.campaigns import mailouts, press
from tests.fakes import notion
from tests.privacy.test_privacy import everything
from tests.races import collide
from tests.web import callers

pytestmark = pytest.mark.django_db

R1 = "r1@example.com"
BODY = Body(subject="Your secret", text="hunter2")


@pytest.fixture
def acme(settings: Settings) -> int:
    return press.set_up_workspace(settings)


def launched(acme: int, people: int = 3) -> Run:
    press.people(acme, people)
    return press.launched(acme, press.campaign(acme))


def erase(workspace_id: int, address: str = R1) -> erasure.Erasure:
    return erasure.erase(workspace_id, address=address, actor="bob", now=datetime.now(UTC))


def retry_later(minutes: int = 11) -> int:
    """The look that comes some minutes after an erasing."""
    return erasure.retry_pending(datetime.now(UTC) + timedelta(minutes=minutes))


def taken(position: int) -> entries.Entry:
    return entries.accepted(position, message_id=f"m{position}")


def busy(position: int) -> entries.Entry:
    return entries.try_later(position, delay=timedelta(hours=1), code="BUSY")


@pytest.mark.django_db(transaction=True)  # an audit is a transaction of its own
def test_waiting_mail_to_many_ends_at_once_and_the_run_is_sent(acme: int) -> None:
    run = launched(acme)

    done = erase(acme)

    assert (done.contacts, done.mails, done.waiting) == (1, 1, 0)
    assert cast.states(run.stream_id)[1] is State.SUPPRESSED
    assert [word for word in (R1, "Reader 1") if word in everything()] == []
    assert audit.audit(run.stream_id).discrepancies == []
    cast.book(run.stream_id, taken)
    assert audit.audit(run.stream_id).discrepancies == []
    assert run_control.end_finished_runs() == 1
    assert Run.objects.get(pk=run.pk).ended_as == "sent"
    rows = list(report.write_csv(acme, run.pk))
    assert rows[2].startswith('"erased","suppressed","erased"')
    assert R1 not in "".join(rows)
    assert report.list_failures(acme, run.pk) == []


def test_notion_is_told_of_a_page_that_was_sent_and_nothing_of_who_was_erased(
    settings: Settings, acme: int
) -> None:
    press.people(acme, 3)
    with notion.running() as fake:
        mailouts.connect(settings, fake, acme)
        page_id = mailouts.page(fake)
        run = mailouts.send_and_plan(callers.caller("acme"), page_id)
        erase(acme)
        cast.book(run.stream_id, taken)
        run_control.end_finished_runs()

        status_reports.report_all(datetime.now(UTC))

        row = mailouts.read_page_row(fake, page_id)
        assert (row["status"], row["sent"], row["failed"]) == ("Send", 2, 0)
        assert mailouts.errors(fake) == []


def test_mail_of_a_paused_run_or_that_is_tried_again_later_ends_at_once(acme: int) -> None:
    run = launched(acme)
    cast.book(run.stream_id, busy)
    run_control.pause_run(acme, run.pk, actor="bob")

    assert erase(acme).waiting == 0
    assert R1 not in everything()


def test_mail_that_a_worker_has_is_erased_without_a_second_call(acme: int) -> None:
    run = launched(acme)
    claim, window = cast.armed(run.stream_id)

    done = erase(acme)
    assert (done.mails, done.waiting) == (0, 1)
    assert cast.states(run.stream_id)[1] is State.WAITING
    assert retry_later() == 0
    ledger.settle(claim, [window], results=[taken(at) for at in range(3)])

    assert retry_later(minutes=60) == 1
    assert [word for word in (R1, "Reader 1") if word in everything()] == []
    assert not Pending.objects.exists()
    assert set(cast.states(run.stream_id).values()) == {State.ACCEPTED}


def test_mail_that_a_worker_brings_back_ends_when_it_is_looked_for_again(acme: int) -> None:
    run = launched(acme)
    claim, window = cast.armed(run.stream_id)
    erase(acme)
    ledger.settle(claim, [window], results=[busy(at) for at in range(3)])

    assert retry_later() == 1
    assert cast.states(run.stream_id)[1] is State.SUPPRESSED
    assert R1 not in everything()


def test_mail_to_an_earlier_address_that_a_worker_has_is_erased(acme: int) -> None:
    run = launched(acme)
    claim, window = cast.armed(run.stream_id)
    Contact.objects.filter(address=R1).update(address="new@example.com")
    erase(acme, "new@example.com")
    ledger.settle(claim, [window], results=[taken(at) for at in range(3)])

    assert retry_later() == 1
    assert R1 not in everything()


def test_a_mail_that_one_person_needs_still_goes_and_is_erased_afterwards(acme: int) -> None:
    stream = cast.stream(StreamKind.TRANSACTIONAL)
    workspace_id = cast.sender().workspace_id
    ledger.enqueue(stream, [NewDelivery("R1@example.com", body=BODY)])

    assert erase(workspace_id).waiting == 1
    assert retry_later() == 0
    assert set(cast.states(stream).values()) == {State.WAITING}
    cast.book(stream, taken)

    assert retry_later(minutes=60) == 1
    assert "hunter2" not in everything()


def test_mail_that_was_being_planned_while_its_reader_was_erased_is_found(acme: int) -> None:
    run = launched(acme)
    reader = Contact.objects.get(address=R1).pk
    erase(acme)
    ledger.enqueue(
        run.stream_id, [NewDelivery(R1, contact_id=reader, variables={"name": "Reader 1"})]
    )

    assert retry_later() == 1
    assert [word for word in (R1, "Reader 1") if word in everything()] == []


def test_mail_from_after_the_erasing_is_left_alone(acme: int) -> None:
    erase(cast.sender().workspace_id)
    stream = cast.stream(StreamKind.TRANSACTIONAL)
    ledger.enqueue(stream, [NewDelivery(R1, body=BODY)])
    cast.book(stream, taken)

    assert retry_later() == 1
    assert everything().count(f"<address>{R1}</address>") == 1


def test_a_doubt_stays_a_doubt_and_is_not_sent_again(acme: int) -> None:
    run = launched(acme)
    cast.lose(run.stream_id)
    cast.pass_grace(run.stream_id)
    seen = [SeenDelivery(1, 1)]
    ledger.resolve(run.stream_id, seen, decision=Decision.SEND_AGAIN, actor="bob")

    assert erase(acme).waiting == 0
    assert cast.states(run.stream_id)[1] is State.IN_DOUBT
    assert R1 not in everything()


def test_a_look_that_finds_something_waiting_comes_later_and_later_and_never_twice_at_once(
    acme: int,
) -> None:
    cast.armed(launched(acme).stream_id)
    erase(acme)
    begin = Pending.objects.get().erased_at
    with work_leases.alone(Work.ERASING):
        retry_later()

    looks = []
    for _ in range(4):
        look_at = Pending.objects.get().look_at
        looks.append((look_at - begin) / timedelta(minutes=1))
        erasure.retry_pending(look_at)

    assert looks == pytest.approx([10, 20, 40, 80])


@pytest.mark.django_db(transaction=True)
def test_housekeeping_looks_again(acme: int) -> None:
    run = launched(acme)
    claim, window = cast.armed(run.stream_id)
    erase(acme)
    ledger.settle(claim, [window], results=[taken(at) for at in range(3)])
    Pending.objects.update(look_at=datetime.now(UTC))

    tasks.tidy()

    assert R1 not in everything()


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_who_is_erased_while_a_worker_claims_is_left_to_it_or_taken_from_it(acme: int) -> None:
    run = launched(acme)

    with collide.uncommitted(lambda: ledger.erase(acme, address=R1)):
        assert claim_batch(run) is None
    with collide.uncommitted(lambda: claim_batch(run)):
        assert ledger.erase(acme, address="r2@example.com").waiting == 1

    states = cast.states(run.stream_id)
    assert (states[1], states[2]) == (State.SUPPRESSED, State.WAITING)


def claim_batch(run: Run) -> Claim | None:
    return ledger.claim(run.stream_id, holder="worker", limit=1, lease_time=cast.LEASE)
