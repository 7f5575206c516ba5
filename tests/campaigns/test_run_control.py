"""Pause, resume, cancel, retry, close, and sending to the remaining: each is idempotent."""

from uuid import UUID

import pytest
from pytest_django import Settings

from postledger.campaigns.drafts import drafts
from postledger.campaigns.launches import launching, previous_runs
from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.campaigns.runs import progress, run_control, run_lookup
from postledger.campaigns.runs.progress import Progress
from postledger.campaigns.runs.run_control import RunBusyError, RunOverError
from postledger.campaigns.states import RunState
from postledger.deliveries import entries, ledger, partitions
from postledger.deliveries.entries import SeenDelivery
from postledger.deliveries.partitions import MonthDroppedError
from postledger.deliveries.states import State
from postledger.lib import sentences
from tests import cast
from tests.campaigns import press
from tests.contacts import people
from tests.races import collide

pytestmark = pytest.mark.django_db


def run_to(acme: int, count: int) -> Run:
    press.people(acme, count)
    return press.launched(acme, press.campaign(acme))


def read_progress(acme: int, run_id: UUID) -> Progress:
    return progress.find_progress(acme, run_id, now=press.NOW)


def test_a_paused_run_is_claimed_by_nobody_until_it_is_resumed(acme: int) -> None:
    run = run_to(acme, 3)

    run_control.pause_run(acme, run.pk, actor="alice")
    run_control.pause_run(acme, run.pk, actor="alice")
    assert read_progress(acme, run.pk).state is RunState.PAUSED
    claimed = ledger.claim(run.stream_id, holder="w", limit=1, lease_time=cast.LEASE)
    run_control.resume_run(acme, run.pk, actor="alice")

    assert claimed is None or not claimed.batches
    assert read_progress(acme, run.pk).state is RunState.SENDING
    assert cast.claim(run.stream_id).batches


def test_a_run_whose_mails_were_all_taken_is_sent_by_itself_though_somebody_closes_it(
    acme: int,
) -> None:
    run = run_to(acme, 3)
    cast.book(run.stream_id, press.taken)
    run_control.close_run(acme, run.pk, actor="alice", now=press.NOW)
    assert read_progress(acme, run.pk).ended_at is None

    assert run_control.end_finished_runs() == 1
    assert run_control.end_finished_runs() == 0

    run_progress = read_progress(acme, run.pk)
    assert (run_progress.state, run_progress.ended_by) == (RunState.SENT, "postledger")


def test_a_run_with_a_failure_stays_open_until_it_is_retried_or_closed(acme: int) -> None:
    run = run_to(acme, 3)
    cast.book(run.stream_id, press.refused)
    assert run_control.end_finished_runs() == 0
    assert read_progress(acme, run.pk).state is RunState.OPEN

    assert run_control.retry_failed(acme, run.pk, actor="alice").requeued == 3
    assert run_control.retry_failed(acme, run.pk, actor="alice").requeued == 0
    for _ in range(3):
        cast.book(run.stream_id, press.taken)

    assert run_control.end_finished_runs() == 1
    assert read_progress(acme, run.pk).books.counts[State.ACCEPTED] == 3


def test_only_failures_of_one_cause_are_retried_where_one_is_named(acme: int) -> None:
    run = run_to(acme, 2)
    cast.book(run.stream_id, press.refused, size=1)
    cast.book(run.stream_id, lambda at: entries.refused(at, code="OTHER"), size=1)

    assert run_control.retry_failed(acme, run.pk, code="OTHER", actor="alice").requeued == 1
    assert read_progress(acme, run.pk).books.counts[State.FAILED] == 1


def test_a_person_may_close_a_run_with_its_failures_but_not_one_that_still_sends(acme: int) -> None:
    run = run_to(acme, 2)
    cast.book(run.stream_id, press.refused, size=1)
    with pytest.raises(RunBusyError):
        run_control.close_run(acme, run.pk, actor="alice", now=press.NOW)
    cast.book(run.stream_id, press.taken, size=1)

    run_control.close_run(acme, run.pk, actor="alice", now=press.NOW)

    run_progress = read_progress(acme, run.pk)
    assert (run_progress.state, run_progress.ended_by) == (RunState.CLOSED, "alice")
    with pytest.raises(RunOverError):
        run_control.pause_run(acme, run.pk, actor="alice")
    assert run_control.retry_failed(acme, run.pk, actor="alice").requeued == 1
    assert read_progress(acme, run.pk).state is RunState.SENDING


def test_a_closed_run_whose_mail_goes_again_can_be_steered(acme: int) -> None:
    run = run_to(acme, 1)
    cast.book(run.stream_id, press.refused)
    run_control.close_run(acme, run.pk, actor="alice", now=press.NOW)

    # As an operator's command does, which knows nothing of runs.
    ledger.requeue(run.stream_id, [SeenDelivery(0, 1)], actor="bob")
    closed = read_progress(acme, run.pk).state
    run_control.pause_run(acme, run.pk, actor="alice")

    assert (closed, read_progress(acme, run.pk).state) == (RunState.SENDING, RunState.PAUSED)


@pytest.mark.django_db(transaction=True)
def test_nobody_closes_a_run_while_its_failures_are_given_another_chance(acme: int) -> None:
    run = run_to(acme, 1)
    cast.book(run.stream_id, press.refused)

    with collide.uncommitted(lambda: run_control.retry_failed(acme, run.pk, actor="alice")):
        closing = collide.start(
            lambda: run_control.close_run(acme, run.pk, actor="bob", now=press.NOW)
        )
        closing.must_wait()

    with pytest.raises(RunBusyError):
        closing.answer()
    assert read_progress(acme, run.pk).state is RunState.SENDING


def test_a_cancelled_run_with_doubts_can_be_closed_and_not_retried(acme: int) -> None:
    run = run_to(acme, 3)
    cast.book(run.stream_id, entries.in_doubt, size=1)
    cast.book(run.stream_id, press.refused, size=1)
    press.cancel(run)
    assert run_control.end_finished_runs() == 0

    with pytest.raises(RunOverError, match="it was cancelled"):
        run_control.retry_failed(acme, run.pk, actor="alice")
    run_control.close_run(acme, run.pk, actor="alice", now=press.NOW)
    run_control.cancel_run(acme, run.pk, actor="alice")

    assert read_progress(acme, run.pk).state is RunState.CLOSED


def test_the_rest_waits_until_what_was_cancelled_is_booked(acme: int) -> None:
    run = run_to(acme, 3)
    run_control.cancel_run(acme, run.pk, actor="alice")

    rest_id = press.launch_rest(acme, run.pk)
    waits = press.planned(rest_id)
    assert waits.planned_at is None
    assert sentences.read_document(waits.trouble).startswith("earlier_run_busy: Cancelled mail")
    while ledger.drain(run.stream_id):
        pass

    assert len(press.addresses(press.planned(rest_id))) == 3
    run_control.end_finished_runs()
    assert read_progress(acme, run.pk).state is RunState.CANCELLED


def test_the_rest_is_of_those_whom_the_run_meant(acme: int) -> None:
    """What a campaign says may change for the rest of its readers; who they are does not."""
    people.news(acme)
    people.member(acme, "r1@example.com")
    people.contact(acme, "other@example.com")
    campaign_id = press.campaign(acme, list_key="news")
    run = press.launched(acme, campaign_id)
    press.cancel(run)

    drafts.change_campaign(acme, campaign_id, {"list_key": None}, actor="alice", now=press.NOW)
    rest = press.rest(run)

    assert press.addresses(rest) == ["r1@example.com"]


def test_there_is_no_rest_once_the_lines_of_the_run_were_dropped(acme: int) -> None:
    """Nor when somebody tries to have the month back: it would come back empty."""
    press.people(acme, 1)
    past = partitions.this_month() - 3
    run_id = press.launch(acme, press.campaign(acme))
    press.put_into_month(run_id, past)
    cast.book(press.planned(run_id).stream_id, press.taken)
    run_control.end_finished_runs()
    rest_id = press.launch_rest(acme, run_id)
    ledger.drop_month(past)

    for attempt in range(2):
        with pytest.raises(MonthDroppedError, match="its recipients are unknown"):
            press.launch_rest(acme, run_id)
        with pytest.raises(MonthDroppedError, match="its recipients are unknown"):
            previous_runs.check_lineage(Run.objects.get(pk=rest_id))
        if not attempt:
            with pytest.raises(MonthDroppedError, match="not created again"):
                press.put_into_month(rest_id, past)


def test_cancelling_while_a_run_is_planned_ends_the_planning(acme: int) -> None:
    press.people(acme, 30)
    run_id = press.launch(acme, press.campaign(acme))
    planning.plan_next_chunk(run_id, size=10)
    run = Run.objects.get(pk=run_id)

    run_control.cancel_run(acme, run_id, actor="alice")
    planning.plan_run(run_id)
    while ledger.drain(run.stream_id):
        pass
    run_control.end_finished_runs()

    run_progress = read_progress(acme, run_id)
    assert run_progress.planned_at is not None
    assert run_progress.books.counts[State.CANCELLED] == run_progress.books.planned == 10
    assert run_progress.state is RunState.CANCELLED


def test_a_run_that_cannot_be_planned_says_so_keeps_no_other_back_and_can_be_cancelled(
    acme: int,
) -> None:
    press.people(acme, 3)
    broken, other = (
        press.launch(acme, press.campaign(acme, tag=tag)) for tag in ("broken", "other")
    )
    Run.objects.filter(pk=broken).update(waves=[{}])

    planning.plan_all()
    trouble = read_progress(acme, broken).trouble
    run_control.cancel_run(acme, broken, actor="alice")
    planning.plan_all()
    run_control.end_finished_runs()

    assert trouble.startswith("internal_error: The audience cannot be written")
    assert read_progress(acme, other).state is RunState.SENDING
    assert read_progress(acme, broken).ended_at is not None


def test_another_workspace_sees_and_steers_nothing(acme: int, settings: Settings) -> None:
    run = run_to(acme, 1)
    globex = press.set_up_workspace(settings, "globex")

    for verb in (
        run_control.pause_run,
        run_control.resume_run,
        run_control.cancel_run,
        run_control.retry_failed,
    ):
        with pytest.raises(run_lookup.CampaignUnknownError):
            verb(globex, run.pk, actor="mallory")
    with pytest.raises(run_lookup.CampaignUnknownError):
        launching.launch_remaining(globex, run.pk, actor="mallory", now=press.NOW)
    with pytest.raises(run_lookup.CampaignUnknownError):
        progress.find_progress(globex, run.pk, now=press.NOW)
