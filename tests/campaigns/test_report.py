"""The report of a run has one line for each mail, and its failures are told by cause."""

import csv
from collections.abc import Iterator
from itertools import islice
from uuid import uuid4

import pytest
from pytest_django import Settings

from postledger.campaigns.models import Run
from postledger.campaigns.runs import report, run_control
from postledger.campaigns.runs.run_lookup import CampaignUnknownError
from postledger.deliveries import entries, ledger, reporting
from postledger.deliveries.states import State
from tests import cast, epochs
from tests.campaigns import press
from tests.contacts import people
from tests.deliveries import views

pytestmark = pytest.mark.django_db


def run_to(acme: int, count: int) -> Run:
    press.people(acme, count)
    return press.launched(acme, press.campaign(acme))


def read(acme: int, run: Run) -> list[dict[str, str]]:
    return list(csv.DictReader(report.write_csv(acme, run.pk)))


def test_a_report_says_of_each_mail_what_became_of_it(acme: int) -> None:
    run = run_to(acme, 5)
    cast.book(run.stream_id, press.taken, size=1)
    cast.book(run.stream_id, press.refused, size=1)
    cast.judge(run.stream_id, lambda at: entries.suppressed(at, code="bounced"), size=1)
    cast.book(run.stream_id, entries.in_doubt, size=1)

    sent, *rest = read(acme, run)

    assert list(sent) == [
        *("email", "status", "error_message", "message_id", "sent_at"),
        *("feedback", "feedback_at"),
    ]
    assert (sent["email"], sent["status"], sent["message_id"]) == ("R0@example.com", "sent", "m0")
    assert sent["sent_at"].startswith("20")
    assert sent["error_message"] == ""
    assert [(line["email"], line["status"], line["error_message"]) for line in rest] == [
        ("r1@example.com", "failed", "550 5.1.1: No such user."),
        ("r2@example.com", "suppressed", "bounced"),
        ("R3@example.com", "in_doubt", "IN_DOUBT"),
        ("r4@example.com", "waiting", ""),
    ]
    assert {line["sent_at"] for line in rest} == {""}


def test_a_report_has_the_gravest_that_was_reported_of_a_mail(acme: int) -> None:
    reported: list[tuple[tuple[str, ...], str]] = [
        ((), ""),
        (("accepted", "opened"), ""),
        (("delivered", "soft_bounced"), "delivered"),
        (("bounced", "delivered", "opened"), "bounced"),
        (("complained", "delivered"), "complained"),
        (("soft_bounced", "deferred"), "soft_bounced"),
    ]
    run = run_to(acme, len(reported))
    cast.book(run.stream_id, press.taken)
    for position, (kinds, _) in enumerate(reported):
        for kind in kinds:
            views.report(run.stream_id, position, kind)

    for line, (kinds, shown) in zip(read(acme, run), reported, strict=True):
        assert (line["status"], line["feedback"]) == ("sent", shown), kinds
        assert bool(line["feedback_at"]) == bool(shown)


def test_what_failed_and_then_went_or_was_cancelled_has_no_error(acme: int) -> None:
    run = run_to(acme, 2)
    cast.book(run.stream_id, press.refused)
    failed = report.list_failures(acme, run.pk)
    run_control.retry_failed(acme, run.pk, actor="alice")
    requeued = read(acme, run)
    cast.book(run.stream_id, press.taken, size=1)
    press.cancel(run)
    ended = read(acme, run)

    assert [failure.count for failure in failed] == [2]
    assert report.list_failures(acme, run.pk) == []
    assert [line["error_message"] for line in (*requeued, *ended)] == [""] * 4
    assert [line["status"] for line in ended] == ["sent", "cancelled"]


def test_a_spreadsheet_executes_nothing_of_a_report(acme: int) -> None:
    people.contact(acme, "=cmd@example.com")
    run = press.launched(acme, press.campaign(acme))
    cast.book(run.stream_id, lambda at: entries.refused(at, code="@SUM(1)", detail="x"))

    [line] = read(acme, run)

    assert line["email"] == "'=cmd@example.com"
    assert line["error_message"] == "'@SUM(1): x"


def test_a_report_is_read_page_by_page_and_never_as_a_whole(acme: int) -> None:
    run = run_to(acme, reporting._AT_ONCE * 2 + 1)
    lines = report.write_csv(acme, run.pk)

    first = list(islice(lines, reporting._AT_ONCE))
    press.cancel(run)
    rest = list(lines)

    # What nobody had asked for yet was not read yet.
    assert '"waiting"' in first[-1]
    assert {line.split(",")[1] for line in rest[-reporting._AT_ONCE :]} == {'"cancelled"'}
    assert len(first) + len(rest) == 1 + reporting._AT_ONCE * 2 + 1


def test_failures_are_grouped_by_cause_with_an_example_and_what_to_do(acme: int) -> None:
    run = run_to(acme, 8)
    cast.book(run.stream_id, press.refused, size=3)
    cast.book(run.stream_id, lambda at: entries.invalid(at, code="INVALID_EMAIL"), size=2)
    cast.book(run.stream_id, entries.in_doubt, size=1)
    cast.book(run.stream_id, press.taken, size=2)

    failures = report.list_failures(acme, run.pk)

    assert [
        (failure.state, failure.code, failure.count, failure.example) for failure in failures
    ] == [
        (State.FAILED, "550 5.1.1", 3, "No such user."),
        (State.FAILED, "INVALID_EMAIL", 2, ""),
        (State.IN_DOUBT, "IN_DOUBT", 1, ""),
    ]
    assert len({failure.remedy for failure in failures}) == 3
    assert all(failure.remedy for failure in failures)
    assert all(failure.since.tzinfo for failure in failures)


@pytest.mark.usefixtures("fence_stays_here")
def test_mail_that_a_restore_put_in_doubt_is_among_the_failures(acme: int) -> None:
    run = run_to(acme, 2)
    epochs.fall()
    while ledger.put_in_doubt(run.stream_id):
        pass

    [failure] = report.list_failures(acme, run.pk)

    assert (failure.state, failure.code, failure.count) == (State.IN_DOUBT, "lost_time", 2)


@pytest.fixture
def fence_stays_here() -> Iterator[None]:
    yield from epochs.kept()


def test_another_workspace_has_no_such_run(acme: int, settings: Settings) -> None:
    run = run_to(acme, 1)
    globex = press.set_up_workspace(settings, "globex")

    for workspace_id, run_id in ((globex, run.pk), (acme, uuid4())):
        with pytest.raises(CampaignUnknownError):
            report.write_csv(workspace_id, run_id)
        with pytest.raises(CampaignUnknownError):
            report.list_failures(workspace_id, run_id)
