"""A launch is planned from a pass over the subscribers that began after it, and from no other."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from pytest_django import Settings

from postledger.campaigns.launches import launching
from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.campaigns.runs import run_control
from postledger.deliveries import ledger
from postledger.supabase import errors, syncing
from postledger.supabase.models import Sync
from tests.campaigns import press
from tests.contacts import people
from tests.fakes.postgrest import FakePostgrest, Fault
from tests.supabase import projects
from tests.web import callers

pytestmark = pytest.mark.django_db

A, B, C = "a@example.com", "b@example.com", "c@example.com"


@pytest.fixture
def acme(db: None, settings: Settings) -> int:
    return press.set_up_workspace(settings)


def launch(workspace_id: int, tag: str = "news-1") -> UUID:
    return launching.launch_campaign(
        workspace_id,
        press.campaign(workspace_id, tag=tag),
        actor="alice",
        now=datetime.now(UTC),
    )


def plan(run_id: UUID) -> Run:
    """Plans as the task does, which also ends what is over."""
    planning.plan_all()
    run_control.end_finished_runs()
    return Run.objects.get(pk=run_id)


def read_run(run_id: UUID) -> Any:
    return callers.caller("acme").get(f"/v1/runs/{run_id}").body


def test_a_run_that_waits_for_supabase_says_so_since_when_and_what_will_move_it(
    acme: int, fake: FakePostgrest
) -> None:
    run_id, out = launch(acme), StringIO()
    plan(run_id)

    seen = read_run(run_id)
    call_command("why", str(Run.objects.get(pk=run_id).stream_id), stdout=out)

    wait = seen["audience_wait"]
    assert (seen["state"], seen["trouble"]) == ("planning", None)
    assert (wait["reason"], wait["detail"]) == ("audience_syncing", "")
    assert wait["since"] == seen["launched_at"]
    assert f"because {wait['why']};" in out.getvalue()
    assert wait["moved_by"] in out.getvalue()
    syncing.sync_all()
    plan(run_id)
    assert read_run(run_id)["audience_wait"] is None


def test_a_launch_is_planned_from_a_pass_that_began_after_it(
    acme: int, fake: FakePostgrest
) -> None:
    for email in (A, B):
        fake.add(email)
    syncing.sync_all()
    run_id = launch(acme)
    before = press.addresses(plan(run_id))

    fake.set(A, status="unsubscribed")
    fake.add(C)
    syncing.sync_all()

    assert before == []
    assert press.addresses(plan(run_id)) == [B, C]


def test_a_project_that_was_never_synced_is_not_sent_to_nobody(
    acme: int, fake: FakePostgrest
) -> None:
    fake.add(A)
    run_id = launch(acme)

    unsynced = plan(run_id)
    cancelled = cancel(acme, launch(acme, "news-2"))
    rest_id = launching.launch_remaining(acme, cancelled.pk, actor="alice", now=datetime.now(UTC))
    waiting = plan(rest_id)
    syncing.sync_all()

    assert (unsynced.planned_at, unsynced.ended_at) == (None, None)
    assert press.addresses(plan(run_id)) == [A]
    assert (cancelled.ended_as, waiting.planned_at) == ("cancelled", None)
    assert press.addresses(plan(rest_id)) == [A], "the rest of nothing is everybody"


def test_a_pass_that_was_under_way_at_the_launch_does_not_count(
    acme: int, fake: FakePostgrest
) -> None:
    fake.max_rows = 1
    for email in (B, C):
        fake.add(email)
    fail_after(fake, 1)
    with pytest.raises(errors.SupabaseRequestRefusedError):
        syncing.sync_all()
    fake.before_answer = lambda _: None
    fake.add(A)  # before the row that the pass has read last
    run_id = launch(acme)

    syncing.sync_all()
    waiting = plan(run_id)
    syncing.sync_all()

    assert Sync.objects.get().pass_count == 2
    assert (waiting.planned_at, press.addresses(waiting)) == (None, [])
    assert press.addresses(plan(run_id)) == [A, B, C]


def fail_after(fake: FakePostgrest, requests: int) -> None:
    def fail(_seen: object) -> None:
        if len(fake.requests) == requests + 1:
            fake.faults.append(Fault(400))

    fake.before_answer = fail


def test_a_pass_that_fails_keeps_the_run_waiting_and_says_why(
    acme: int, fake: FakePostgrest
) -> None:
    fake.add(A)
    run_id = launch(acme)
    projects.change(acme, api_key="another-key")

    syncing.sync_due(datetime.now(UTC))
    waiting = plan(run_id)
    failing = read_run(run_id)["audience_wait"]["detail"]
    projects.change(acme, api_key=fake.key)
    syncing.sync_due(datetime.now(UTC) + timedelta(minutes=2))

    assert waiting.planned_at is None
    assert "Supabase does not accept the key." in failing
    assert press.addresses(plan(run_id)) == [A]


def test_a_pass_that_misses_most_rows_keeps_the_run_waiting_until_they_are_accepted(
    acme: int, fake: FakePostgrest
) -> None:
    people.contact(acme, "ours@example.com")
    fake.add_many(3)
    syncing.sync_all()
    fake.remove_many(3)
    run_id = launch(acme)

    with pytest.raises(errors.SupabaseRowsMissingError):
        syncing.sync_all()
    waiting = plan(run_id)
    detail = read_run(run_id)["audience_wait"]["detail"]
    syncing.sync_all(accepts_missing=True)

    assert waiting.planned_at is None
    assert "3 of 3 subscribers are missing in Supabase" in detail
    assert press.addresses(plan(run_id)) == ["ours@example.com"]


def test_a_run_whose_project_was_removed_waits_and_can_be_cancelled(
    acme: int, fake: FakePostgrest
) -> None:
    run_id = launch(acme)
    projects.remove(acme)

    waiting = plan(run_id)
    detail = read_run(run_id)["audience_wait"]["detail"]
    run_control.cancel_run(acme, run_id, actor="alice")

    assert waiting.planned_at is None
    assert "The first workspace has no Supabase project." in detail
    assert "cancel the run" in detail
    assert plan(run_id).ended_as == "cancelled"
    assert read_run(run_id)["audience_wait"] is None


def test_a_launch_brings_the_next_pass_forward(acme: int, fake: FakePostgrest) -> None:
    now = datetime.now(UTC)
    fake.add(A)
    syncing.sync_due(now)
    syncing.sync_due(now + timedelta(seconds=5))
    before = Sync.objects.get().pass_count

    run_id = launch(acme)
    syncing.sync_due(now + timedelta(seconds=10))
    syncing.sync_due(now + timedelta(seconds=15))

    assert (before, Sync.objects.get().pass_count) == (1, 2)
    assert press.addresses(plan(run_id)) == [A]


def test_a_pass_that_failed_is_continued_after_a_minute_and_not_before(
    acme: int, fake: FakePostgrest
) -> None:
    now = datetime.now(UTC)
    fake.faults.append(Fault(400))

    syncing.sync_due(now)
    syncing.sync_due(now + timedelta(seconds=50))
    early = len(fake.requests)
    syncing.sync_due(now + timedelta(minutes=2))

    assert early == 1
    assert len(fake.requests) > early


def test_a_test_and_another_workspace_wait_for_no_pass(
    acme: int, fake: FakePostgrest, settings: Settings
) -> None:
    globex = press.set_up_workspace(settings, "globex")
    people.contact(globex, A)
    test_id = press.send_test(acme, press.campaign(acme), B)
    run_id = launch(globex)

    assert press.addresses(plan(run_id)) == [A]
    assert press.addresses(Run.objects.get(pk=test_id)) == [B]
    assert not Sync.objects.exists()


def cancel(workspace_id: int, run_id: UUID) -> Run:
    run_control.cancel_run(workspace_id, run_id, actor="alice")
    run = plan(run_id)
    while ledger.drain(run.stream_id):
        pass
    return run


def test_the_rest_waits_for_a_pass_and_leaves_out_who_came_after_the_run(
    acme: int, fake: FakePostgrest
) -> None:
    for email in (A, B):
        fake.add(email)
    run_id = launch(acme)
    syncing.sync_all()
    plan(run_id)
    run = cancel(acme, run_id)
    fake.add(C)
    fake.set(A, status="unsubscribed")

    rest_id = launching.launch_remaining(acme, run_id, actor="alice", now=datetime.now(UTC))
    waiting = plan(rest_id)
    syncing.sync_all()

    assert press.addresses(run) == [A, B]
    assert waiting.planned_at is None
    assert press.addresses(plan(rest_id)) == [B]
