"""What became of a page is written back to it, once, whole, and whatever happens meanwhile."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import connection

from postledger.accounts.models import Workspace
from postledger.campaigns.models import ErrorRow, Mailout, Run
from postledger.campaigns.notion import error_rows, status_reports
from postledger.campaigns.runs import run_control
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Decision, Entry, SeenDelivery
from tests import cast, work_leases
from tests.campaigns import mailouts, press
from tests.fakes import notion_pages as pages
from tests.fakes.notion import TOKEN, ApiError, FakeNotion
from tests.journeys import stage
from tests.web.callers import Caller

pytestmark = pytest.mark.django_db

UNTOLD = {"status": "Ready", "sent": None, "failed": None, "has_time": False}


def taken(position: int) -> Entry:
    return entries.accepted(position, message_id=f"m{position}")


def refused(position: int) -> Entry:
    return entries.refused(position, code="550 5.1.1", detail="No such user.")


def tell(*, after: timedelta = timedelta(0)) -> None:
    run_control.end_finished_runs()
    status_reports.report_all(datetime.now(UTC) + after)


def result(sent: int, failed: int, status: str) -> dict[str, Any]:
    return {"status": status, "sent": sent, "failed": failed, "has_time": True}


def test_a_page_is_told_once_that_it_was_sent_and_nothing_before_everything_has_a_result(
    fake: FakeNotion, alice: Caller
) -> None:
    page_id = mailouts.page(fake)
    run = mailouts.send_and_plan(alice, page_id)

    tell()
    cast.book(run.stream_id, taken, size=2)
    tell()
    before = mailouts.read_page_row(fake, page_id)
    cast.book(run.stream_id, taken)
    tell()
    asked = len(fake.requests)
    tell()

    assert before == UNTOLD
    assert mailouts.read_page_row(fake, page_id) == result(3, 0, "Send")
    assert mailouts.errors(fake) == []
    assert len(fake.requests) == asked


@pytest.mark.slow
def test_a_page_with_a_failure_has_failed_and_each_failure_is_one_row(
    fake: FakeNotion, alice: Caller
) -> None:
    page_id = mailouts.page(fake)
    run = mailouts.send_and_plan(alice, page_id)
    cast.book(run.stream_id, refused, size=1)
    cast.book(run.stream_id, entries.in_doubt, size=1)
    cast.book(run.stream_id, taken, size=1)

    for _ in range(3):
        tell()

    assert mailouts.read_page_row(fake, page_id) == result(1, 2, "Failed")
    errors = mailouts.errors(fake)
    assert errors == [("550 5.1.1", "R0@example.com"), ("IN_DOUBT", "r1@example.com")]
    assert [request.method for request in fake.requests].count("PATCH") == 1
    [row, _] = fake.rows(mailouts.ERRORS.data_source_id)
    assert "No such user." in str(row)
    assert page_id in str(row)


@pytest.mark.slow
def test_a_retry_that_succeeds_brings_the_page_up_to_date(fake: FakeNotion, alice: Caller) -> None:
    page_id = mailouts.page(fake)
    run = mailouts.send_and_plan(alice, page_id)
    cast.book(run.stream_id, refused)
    tell()
    failed = mailouts.read_page_row(fake, page_id)
    [first] = Mailout.objects.values_list("sent_at", flat=True)

    run_control.retry_failed(alice.workspace_id, run.pk, actor="alice")
    tell()
    for _ in range(3):
        cast.book(run.stream_id, taken)
    tell()

    assert failed == result(0, 3, "Failed")
    assert mailouts.read_page_row(fake, page_id) == result(3, 0, "Send")
    assert Mailout.objects.get().sent_at == first
    assert len(mailouts.errors(fake)) == 3


@pytest.mark.slow
def test_who_fails_again_is_a_row_again_only_for_another_cause(
    fake: FakeNotion, alice: Caller
) -> None:
    run = mailouts.send_and_plan(alice, mailouts.page(fake))
    cast.book(run.stream_id, refused)
    tell()
    for again in (refused, lambda at: entries.refused(at, code="OTHER")):
        run_control.retry_failed(alice.workspace_id, run.pk, actor="alice")
        tell()
        for _ in range(3):
            cast.book(run.stream_id, again)
        tell()

    assert [code for code, _ in mailouts.errors(fake)] == ["550 5.1.1"] * 3 + ["OTHER"] * 3


def test_what_was_retried_before_it_was_told_is_no_row(fake: FakeNotion, alice: Caller) -> None:
    run = mailouts.send_and_plan(alice, mailouts.page(fake))
    cast.book(run.stream_id, refused)
    error_rows.store_failures(Mailout.objects.get(), run)
    run_control.retry_failed(alice.workspace_id, run.pk, actor="alice")
    for _ in range(3):
        cast.book(run.stream_id, taken)

    tell()

    assert mailouts.errors(fake) == []
    assert not ErrorRow.objects.exists()


def test_a_test_tells_how_many_it_reached_and_leaves_the_page_unsent(
    fake: FakeNotion, alice: Caller
) -> None:
    Workspace.objects.filter(pk=alice.workspace_id).update(test_emails="a@example.com")
    page_id = mailouts.page(fake, properties=mailouts.row(is_test=True))
    cast.book(mailouts.send_and_plan(alice, page_id).stream_id, taken)

    tell()

    assert mailouts.read_page_row(fake, page_id) == UNTOLD | {"sent": 1, "failed": 0}


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (taken, (3, "Send")),
        # Cancelled after a try that was not taken: no rest goes to that reader.
        (lambda at: entries.try_later(at, delay=timedelta(hours=1), code="BUSY"), (2, "Failed")),
    ],
)
def test_a_cancelled_page_was_sent_once_its_rest_reached_everybody(
    first: Callable[[int], Entry], expected: tuple[int, str], fake: FakeNotion, alice: Caller
) -> None:
    page_id = mailouts.page(fake)
    run = mailouts.send_and_plan(alice, page_id)
    cast.book(run.stream_id, first, size=1)
    press.cancel(run)
    tell()
    cancelled = mailouts.read_page_row(fake, page_id)

    cast.book(press.rest(run, now=datetime.now(UTC)).stream_id, taken)
    tell()

    assert cancelled["status"] == "Failed"
    row = mailouts.read_page_row(fake, page_id)
    assert (row["sent"], row["status"]) == expected


def send_test_of_page(fake: FakeNotion, alice: Caller, answer: Callable[[int], Entry]) -> str:
    """A page whose test, to as many as the page is for, was told; the next one is for everybody."""
    testers = "a@example.com, b@example.com, c@example.com"
    Workspace.objects.filter(pk=alice.workspace_id).update(test_emails=testers)
    page_id = mailouts.page(fake, properties=mailouts.row(is_test=True))
    cast.book(mailouts.send_and_plan(alice, page_id).stream_id, answer)
    tell()
    properties: Any = fake.pages[page_id]["properties"]
    properties["Is test"]["checkbox"] = False
    return page_id


@pytest.mark.parametrize("is_missed", [True, False])
@pytest.mark.slow
def test_a_page_that_reached_as_many_as_its_test_is_told_that_it_was_sent_and_stays_so(
    is_missed: bool,  # noqa: FBT001  whether Notion is away when the page could first be told
    fake: FakeNotion,
    alice: Caller,
) -> None:
    page_id = send_test_of_page(fake, alice, taken)
    assert mailouts.read_page_row(fake, page_id) == UNTOLD | {"sent": 3, "failed": 0}

    # Nobody looks while it is on its way.
    cast.book(mailouts.send_and_plan(alice, page_id).stream_id, taken)
    if is_missed:
        fake.token = "another"
        tell()
        fake.token = TOKEN
    tell()

    assert mailouts.read_page_row(fake, page_id) == result(3, 0, "Send")
    # A later test leaves nothing to look at.
    properties: Any = fake.pages[page_id]["properties"]
    properties["Is test"]["checkbox"] = True
    test = mailouts.send_and_plan(alice, page_id)
    cast.book(test.stream_id, taken)
    tell()
    test.refresh_from_db()
    reported_at = Mailout.objects.values_list("reported_at", flat=True).get(run=test)
    assert test.ended_at is not None
    assert reported_at is not None
    assert reported_at > test.ended_at
    assert mailouts.read_page_row(fake, page_id) == result(3, 0, "Send")


def count_lines_read() -> int:
    """How many lines of the ledger were read in this transaction, which is the whole test."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint"
            " FROM pg_stat_xact_user_tables WHERE relname LIKE 'deliveries_delivery_%'"
        )
        [(count,)] = cursor.fetchall()
    return int(count)


def cancel_and_send_rest(run: Run, answer: Callable[[int], Entry]) -> None:
    """A run of which the first mail went before it was cancelled, and the results of its rest."""
    cast.book(run.stream_id, taken, size=1)
    press.cancel(run)
    cast.book(press.rest(run, now=datetime.now(UTC)).stream_id, answer)


@pytest.mark.slow
def test_a_page_whose_rest_or_test_stays_open_is_looked_at_without_reading_its_lines(
    fake: FakeNotion, alice: Caller
) -> None:
    with_rest = mailouts.page(fake)
    cancel_and_send_rest(mailouts.send_and_plan(alice, with_rest), refused)
    tested = send_test_of_page(fake, alice, refused)
    cancel_and_send_rest(mailouts.send_and_plan(alice, tested), taken)
    tell()
    tell()
    before = count_lines_read()

    tell()

    assert before > 0
    assert count_lines_read() == before
    assert mailouts.read_page_row(fake, with_rest) == result(1, 2, "Failed")
    assert mailouts.read_page_row(fake, tested) == result(3, 0, "Send")


def close_run_of_page(
    fake: FakeNotion, alice: Caller, answer: Callable[[int], Entry]
) -> tuple[str, Run]:
    """A page whose run somebody closed, with what it came to, and that was told so."""
    page_id = mailouts.page(fake)
    run = mailouts.send_and_plan(alice, page_id)
    cast.book(run.stream_id, answer, size=1)
    cast.book(run.stream_id, taken)
    run_control.close_run(alice.workspace_id, run.pk, actor="alice", now=datetime.now(UTC))
    tell()
    assert mailouts.read_page_row(fake, page_id) == result(2, 1, "Failed")
    return page_id, run


@pytest.mark.parametrize("is_seen_waiting", [True, False])
@pytest.mark.slow
def test_a_page_hears_of_mail_that_an_operator_requeued_after_its_run_was_closed(
    is_seen_waiting: bool,  # noqa: FBT001  a case
    fake: FakeNotion,
    alice: Caller,
) -> None:
    page_id, run = close_run_of_page(fake, alice, refused)

    # As an operator's command does, which knows nothing of runs.
    ledger.requeue(run.stream_id, [SeenDelivery(0, 1)], actor="bob")
    if is_seen_waiting:
        tell()
    cast.book(run.stream_id, taken)
    tell()

    assert mailouts.read_page_row(fake, page_id) == result(3, 0, "Send")


@pytest.mark.slow
def test_a_page_is_told_once_of_a_doubt_and_of_its_end_after_its_run_was_closed(
    fake: FakeNotion, alice: Caller
) -> None:
    page_id, run = close_run_of_page(fake, alice, entries.in_doubt)
    tell()
    asked = len(fake.requests)
    tell()
    assert len(fake.requests) == asked

    decision = Decision.COUNT_AS_SENT
    ledger.resolve(run.stream_id, [SeenDelivery(0, 1)], decision=decision, actor="bob")
    tell()

    assert mailouts.read_page_row(fake, page_id) == result(3, 0, "Send")


@pytest.mark.slow
def test_a_block_that_mails_cannot_show_is_a_row_and_very_many_are_told_by_one_last_row(
    fake: FakeNotion, alice: Caller
) -> None:
    for count in (1, error_rows.MAX_FINDINGS + 3):
        polls = [pages.bare("poll") for _ in range(count)]
        mailouts.send_and_plan(alice, mailouts.page(fake, pages.paragraph("Hello."), *polls))
        if count == 1:
            tell()
            [title] = mailouts.titles(fake)
            assert title.startswith("content_block_unsupported: block ")
            assert "(poll)" in title
            ErrorRow.objects.all().delete()

    codes = list(ErrorRow.objects.order_by("pk").values_list("code", flat=True))
    expected = ["content_block_unsupported"] * error_rows.MAX_FINDINGS
    assert codes == [*expected, error_rows.MORE_FINDINGS]
    assert "3 content_block_unsupported" in ErrorRow.objects.latest("pk").detail


def test_of_very_many_failures_the_first_are_rows_and_one_says_that_there_are_more(
    fake: FakeNotion, alice: Caller
) -> None:
    press.people(alice.workspace_id, error_rows.MAX_FAILURES, first=3)
    run = mailouts.send_and_plan(alice, mailouts.page(fake))
    while cast.batches(run.stream_id):
        cast.book(run.stream_id, refused, size=500)

    error_rows.store_failures(Mailout.objects.get(), run)

    codes = list(ErrorRow.objects.order_by("pk").values_list("code", flat=True))
    assert len(codes) == error_rows.MAX_FAILURES + 1
    assert codes[-1] == error_rows.MORE_FAILURES


@pytest.mark.slow
def test_notion_is_told_what_it_missed_when_it_is_back(
    fake: FakeNotion, alice: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    page_id = mailouts.page(fake)
    cast.book(mailouts.send_and_plan(alice, page_id).stream_id, refused)
    fake.token = "another"
    caplog.clear()
    tell()
    logs = [line.msg for line in caplog.records if isinstance(line.msg, dict)]
    away = (mailouts.read_page_row(fake, page_id), mailouts.errors(fake))
    fake.token = TOKEN

    tell()

    assert away == (UNTOLD, [])
    assert [log["code"] for log in logs if "code" in log] == ["notion_unauthorized"]
    assert "@example.com" not in str(logs)
    assert mailouts.read_page_row(fake, page_id) == result(0, 3, "Failed")
    assert len(mailouts.errors(fake)) == 3


def test_a_page_that_is_gone_keeps_no_other_from_being_told(
    fake: FakeNotion, alice: Caller
) -> None:
    gone, remaining = mailouts.page(fake), mailouts.page(fake)
    for page_id in (gone, remaining):
        cast.book(mailouts.send_and_plan(alice, page_id).stream_id, taken)
    del fake.pages[gone]

    tell()
    asked = len(fake.requests)
    tell()

    assert mailouts.read_page_row(fake, remaining) == result(3, 0, "Send")
    assert len(fake.requests) == asked
    trouble = Mailout.objects.order_by("pk").values_list("trouble", flat=True)[0]
    assert trouble.startswith("notion_page_not_found: ")


def test_a_property_that_a_page_does_not_have_is_left_out(fake: FakeNotion, alice: Caller) -> None:
    properties = mailouts.row()
    del properties["Failed count"], properties["Sent at"]
    page_id = mailouts.page(fake, properties=properties)
    cast.book(mailouts.send_and_plan(alice, page_id).stream_id, taken)

    tell()

    updated: Any = fake.pages[page_id]["properties"]
    assert (updated["Sent count"]["number"], updated["Status"]["status"]["name"]) == (3, "Send")
    assert "failed_count, sent_at" in Mailout.objects.get().trouble


@pytest.mark.slow
def test_a_row_that_notion_refuses_does_not_hold_up_the_others(
    fake: FakeNotion, alice: Caller
) -> None:
    cast.book(mailouts.send_and_plan(alice, mailouts.page(fake)).stream_id, refused)
    times = iter(range(100))

    def refuse_first() -> None:
        if next(times) == 0:
            raise ApiError(400, "validation_error", "Not like this.")

    fake.before_create = refuse_first
    tell()
    first = mailouts.errors(fake)
    tell(after=error_rows.RETRY_AFTER * 2)

    assert [email for _, email in first] == ["r1@example.com", "r2@example.com"]
    assert sorted(email or "" for _, email in mailouts.errors(fake)) == [
        *("R0@example.com", "r1@example.com", "r2@example.com")
    ]


@pytest.mark.slow
def test_a_row_that_was_added_before_notion_failed_is_not_added_again(
    fake: FakeNotion, alice: Caller
) -> None:
    cast.book(mailouts.send_and_plan(alice, mailouts.page(fake)).stream_id, refused)

    def fail() -> None:
        fake.after_create = lambda: None
        raise ApiError(500, "internal_server_error", "Sorry.")

    fake.after_create = fail
    tell()
    tell()

    titles = mailouts.titles(fake)
    assert len(titles) == len(set(titles)) == 3


@pytest.mark.slow
def test_notion_is_asked_no_faster_than_it_allows(fake: FakeNotion, alice: Caller) -> None:
    cast.book(mailouts.send_and_plan(alice, mailouts.page(fake)).stream_id, refused)
    fake.requests.clear()
    before = datetime.now(UTC)

    tell()

    took = (datetime.now(UTC) - before).total_seconds()
    assert len(fake.requests) == 7  # the page twice, the table twice, three rows
    assert took >= (len(fake.requests) - 1) / 3


CHILD = """
from datetime import UTC, datetime
import django
django.setup()
from postledger.campaigns.notion import status_reports
status_reports.report_all(datetime.now(UTC))
"""


@pytest.fixture
def child(fake: FakeNotion) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """A process of its own that tells Notion what there is to tell."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
            "SECRET_KEY": django_settings.SECRET_KEY,
            "DATABASE_URL": stage.database(),
            "NOTION_URL": fake.url,
        }
        started.append(subprocess.Popen([sys.executable, "-c", CHILD], env=environment))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("moment", ["before_create", "after_create"])
@pytest.mark.slow
def test_killed_in_the_middle_nothing_is_lost_and_nothing_told_twice(
    moment: str,
    fake: FakeNotion,
    alice: Caller,
    child: Callable[[], subprocess.Popen[bytes]],
) -> None:
    page_id = mailouts.page(fake)
    cast.book(mailouts.send_and_plan(alice, page_id).stream_id, refused)
    passes = iter(range(100))
    processes: list[subprocess.Popen[bytes]] = []

    def kill() -> None:
        if next(passes) == 1:
            processes[0].send_signal(signal.SIGKILL)
            processes[0].wait()
            if moment == "before_create":
                raise ApiError(500, "internal_server_error", "Nobody listens.")

    setattr(fake, moment, kill)
    processes.append(child())
    assert processes[0].wait(60) == -signal.SIGKILL
    work_leases.run_out()
    at_death = len(mailouts.titles(fake))

    tell()

    titles = mailouts.titles(fake)
    assert at_death == (1 if moment == "before_create" else 2)
    assert len(titles) == len(set(titles)) == 3
    assert mailouts.read_page_row(fake, page_id) == result(0, 3, "Failed")
    assert not ErrorRow.objects.filter(written_at=None).exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_no_transaction_is_open_while_notion_is_asked(fake: FakeNotion, alice: Caller) -> None:
    page_id = mailouts.page(fake)
    cast.book(mailouts.send_and_plan(alice, page_id).stream_id, refused)
    seen: list[str] = []

    def look() -> None:
        with psycopg.connect(stage.database()) as other:
            rows = other.execute(
                "SELECT state FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND backend_type = 'client backend'"
            )
            seen.extend(state for (state,) in rows)

    fake.before_create = look
    tell()

    assert seen
    assert set(seen) == {"idle"}
