"""The queue of runs, as a view and over HTTP: what is sent, what waits, what for and until when."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client

from postledger.accounts.keys import Scope
from postledger.accounts.models import Member
from postledger.accounts.people.roles import Role
from postledger.campaigns.models import Run
from postledger.campaigns.runs import run_control
from postledger.deliveries import ledger
from postledger.deliveries.ledger.holds.limit_holds import LimitCause
from postledger.deliveries.reasons import Reason
from tests import cast
from tests.web import newsroom
from tests.web.callers import Caller, caller
from tests.web.dashboard import visitors

URL = "/mail/progress/poll/"
SOON = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
LATER = SOON + timedelta(hours=5)
NOTHING = {
    "active_campaign": None,
    "queued_count": 0,
    "next_campaign_at": None,
    "reason_code": None,
    "next_run_at": None,
}


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)
    newsroom.people(alice, 3)


def launch(alice: Caller, tag: str, **changes: Any) -> str:
    return newsroom.launched(alice, newsroom.make_campaign(alice, tag=tag, **changes))


def defer(run_id: str, *causes: LimitCause) -> None:
    assert ledger.hold_for_limits(newsroom.stream_of(run_id), list(causes))


def read_row(run_id: str) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM campaign_queue WHERE run_id = %s", [run_id])
        names = [column.name for column in cursor.description or []]
        [row] = cursor.fetchall()
    return dict(zip(names, row, strict=True))


def status_of(run_id: str) -> tuple[object, object, object]:
    row = read_row(run_id)
    return row["status"], row["defer_reason"], row["deferred_until"]


def poll(who: Caller) -> Mapping[str, Any]:
    reply = who.get(URL)
    assert reply.status == 200, reply.body
    body: Mapping[str, Any] = reply.body
    return body


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_a_run_that_is_sent_is_processing_with_its_books(alice: Caller) -> None:
    run_id = launch(alice, "one")
    newsroom.book(run_id, newsroom.taken, size=1)
    newsroom.book(run_id, newsroom.refused, size=1)

    assert status_of(run_id) == ("PROCESSING", None, None)
    seen = poll(alice)
    run = Run.objects.get(pk=run_id)
    started_at = seen["active_campaign"].pop("started_at")
    assert run.launched_at <= moment(started_at) <= datetime.now(UTC)
    assert seen == {
        **NOTHING,
        "active_campaign": {
            "id": run.campaign_id,
            "name": "News of May",
            "campaign_tag": "one",
            "run_id": run_id,
            "planned": 3,
            "sent": 1,
            "failed": 1,
            "waiting": 1,
        },
    }


def test_a_deferred_run_is_pending_with_the_reason_and_the_time_that_end_last(
    alice: Caller, charlie: Caller
) -> None:
    assert poll(alice) == NOTHING
    id_ = newsroom.make_campaign(alice, tag="test")
    alice.post(f"/v1/campaigns/{id_}/test", {"addresses": ["a@example.com"]})
    assert poll(alice) == NOTHING, "tests are no part of the queue"
    run_id = launch(alice, "one")
    newsroom.book(run_id, newsroom.taken, size=1)
    defer(run_id, LimitCause(Reason.RATE_PER_HOUR, SOON))

    assert status_of(run_id) == ("PENDING", "rate_per_hour", SOON)
    seen = poll(alice)
    assert (seen["active_campaign"], seen["queued_count"]) == (None, 1)
    assert (seen["reason_code"], moment(seen["next_run_at"])) == ("rate_per_hour", SOON)
    assert moment(seen["next_campaign_at"]) == SOON
    assert poll(charlie) == NOTHING
    other = launch(alice, "two")
    defer(other, LimitCause(Reason.RATE_PER_HOUR, SOON), LimitCause(Reason.OUTSIDE_HOURS, LATER))
    assert status_of(other) == ("PENDING", "outside_hours", LATER)
    ledger.hold_sender(cast.sender().pk, reason=Reason.PAUSED, actor="bob")
    assert status_of(other) == ("PENDING", "paused", None)


def test_a_run_is_pending_until_it_is_planned_until_its_time_and_while_it_is_paused(
    alice: Caller,
) -> None:
    id_ = newsroom.make_campaign(alice, tag="new")
    unplanned = alice.post(f"/v1/campaigns/{id_}/launch", None).body["run_id"]
    assert status_of(unplanned) == ("PENDING", None, None)
    assert poll(alice) == {**NOTHING, "queued_count": 1}
    alice.post(f"/v1/runs/{unplanned}/pause", None)
    assert poll(alice) == {**NOTHING, "queued_count": 1, "reason_code": "paused"}
    alice.post(f"/v1/runs/{unplanned}/cancel", None)
    assert status_of(unplanned) == ("COMPLETED", None, None)
    assert read_row(unplanned)["completed_at"] is not None
    scheduled = launch(alice, "one", timing={"at": f"{LATER:%Y-%m-%dT%H:%M:%SZ}"})
    assert status_of(scheduled) == ("PENDING", "scheduled", LATER)
    assert read_row(scheduled)["started_at"] is None


def test_a_retry_of_single_mails_defers_nothing(alice: Caller) -> None:
    run_id = launch(alice, "one")
    taken = cast.claim(newsroom.stream_of(run_id))
    ledger.wait(taken, taken.batches, reason=Reason.RETRY, delay=timedelta(hours=1))

    assert status_of(run_id) == ("PROCESSING", None, None)


def test_a_run_is_completed_when_nothing_waits_also_with_failures(alice: Caller) -> None:
    failed, sent = launch(alice, "one"), launch(alice, "two")
    newsroom.book(failed, newsroom.refused)
    newsroom.book(sent, newsroom.taken)
    run_control.end_finished_runs()

    assert status_of(failed) == status_of(sent) == ("COMPLETED", None, None)
    assert read_row(failed)["completed_at"] is None
    assert read_row(sent)["completed_at"] == Run.objects.get(pk=sent).ended_at
    assert poll(alice) == NOTHING


def test_of_several_campaigns_the_longest_running_is_active(alice: Caller) -> None:
    first, second, soon, later, paused = (launch(alice, tag) for tag in "abcde")
    defer(later, LimitCause(Reason.OUTSIDE_HOURS, LATER))
    defer(soon, LimitCause(Reason.DAILY_LIMIT, SOON))
    alice.post(f"/v1/runs/{paused}/pause", None)
    Run.objects.filter(pk=second).update(first_mail_at=datetime.now(UTC) - timedelta(hours=1))

    seen = poll(alice)

    assert seen["active_campaign"]["run_id"] == second
    assert seen["queued_count"] == 3
    assert moment(seen["next_campaign_at"]) == SOON
    assert (seen["reason_code"], moment(seen["next_run_at"])) == ("daily_limit", SOON)
    alice.post(f"/v1/runs/{second}/cancel", None)
    assert poll(alice)["active_campaign"]["run_id"] == first


def test_it_takes_a_key_that_reads_campaigns_and_reads_no_deliveries(alice: Caller) -> None:
    launch(alice, "one")
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN SELECT * FROM campaign_queue")
        steps = "\n".join(step for (step,) in cursor.fetchall())

    assert "deliveries_batch" in steps
    assert "deliveries_delivery" not in steps
    assert caller("acme", scopes=[Scope.READ]).get(URL).status == 403
    assert Client().get(URL).status_code == 401
    assert alice.get(URL).headers["Cache-Control"] == "no-store"


def test_a_member_who_is_signed_in_reads_that_of_the_workspace_seen_last_without_a_key(
    alice: Caller,
) -> None:
    launch(alice, "one")
    other = cast.sender("globex").workspace_id
    member = visitors.person(Role.VIEWER)
    theirs = visitors.person(workspace="globex")
    assert member.workspace.pk == alice.workspace_id

    seen = member.client.get(URL)
    named = member.client.get(URL, {"workspace": alice.workspace_id})

    assert seen.status_code == 200
    assert seen.json()["active_campaign"]["campaign_tag"] == "one"
    assert named.json() == seen.json() == alice.get(URL).body
    assert member.client.get(URL, {"workspace": other}).status_code == 404
    assert member.client.get(URL, {"workspace": "acme"}).status_code in {404, 422}
    assert theirs.client.get(URL).json() == NOTHING
    Member.objects.create(
        workspace_id=alice.workspace_id, user=theirs.user, email="g@acme.example", role=Role.VIEWER
    )
    theirs.client.get(f"/w/{alice.workspace_id}/")
    assert theirs.client.get(URL).json()["active_campaign"]["campaign_tag"] == "one"
    Member.objects.filter(user=theirs.user).update(removed_at=SOON)
    assert theirs.client.get(URL).status_code == 404
