"""A run that is scheduled says so, with when it begins, wherever it is shown."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.conf import LazySettings

from postledger.campaigns import listing
from postledger.campaigns.drafts import drafts
from postledger.campaigns.launches import launching
from postledger.campaigns.listing import CampaignGroup
from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.campaigns.runs import live_run, progress, run_control
from postledger.campaigns.states import RunState
from postledger.mailing.send_times import SendTime
from tests.campaigns import press
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard.visitors import Person

BEGINS = datetime.now(UTC).replace(microsecond=0) + timedelta(days=3)
SHOWN = f"{BEGINS:%H:%M} UTC</time>"


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)
    press.people(alice.workspace_id, 3)


def launch(who: Caller, at: datetime = BEGINS) -> Run:
    """Before any worker has seen the run."""
    timing = {"at": f"{at:%Y-%m-%dT%H:%M:%SZ}"}
    campaign_id = newsroom.make_campaign(who, timing=timing)
    run_id = who.post(f"/v1/campaigns/{campaign_id}/launch", None).body["run_id"]
    return Run.objects.get(pk=run_id)


def test_a_scheduled_run_says_when_it_begins_and_nowhere_that_it_was_launched(
    alice: Caller, anna: Person
) -> None:
    run = launch(alice)

    for is_planned in (False, True):
        if is_planned:
            planning.plan_run(run.pk)
        page = anna.read(f"campaigns/runs/{run.pk}/")
        for shown in (page, anna.read("campaigns/")):
            assert "</svg>Scheduled</span>" in shown
            assert SHOWN in shown
            assert "aunched" not in shown.partition("<main")[2]
        assert "scheduled it." in page
    waiting = anna.read("").partition('id="waiting"')[2]
    assert "<dt>Begins</dt>" in waiting
    assert SHOWN in waiting
    log = re.sub("<[^>]*>", "", anna.read("settings/audit/"))
    assert "scheduled the campaign" in log
    assert f"begins {BEGINS:%Y-%m-%d %H:%M}" in log
    assert "launched the campaign" not in log
    [row] = listing.read_page(anna.workspace_id, now=datetime.now(UTC)).rows
    assert row.group is CampaignGroup.WAITING


def test_a_run_that_was_paused_or_has_begun_is_not_scheduled_any_more(
    alice: Caller, anna: Person
) -> None:
    run = launch(alice)
    planning.plan_run(run.pk)
    run_control.pause_run(anna.workspace_id, run.pk, actor="alice")
    paused = anna.read(f"campaigns/runs/{run.pk}/")
    Run.objects.update(waves=[{"due_at": "2026-11-01T12:00:00Z"}])
    run_control.resume_run(anna.workspace_id, run.pk, actor="alice")
    begun = anna.read(f"campaigns/runs/{run.pk}/")

    for page in (paused, begun):
        assert "</svg>Scheduled</span>" not in page
    assert "Launched by" in begun


def test_a_run_begins_with_its_first_wave_and_at_once_if_one_is_due(alice: Caller) -> None:
    run, now = launch(alice), datetime.now(UTC)

    def find_start() -> datetime | None:
        return live_run.read_live_run(alice.workspace_id, run.pk, now=now).progress.starts_at

    later = {"due_at": f"{BEGINS + timedelta(hours=2):%Y-%m-%dT%H:%M:%SZ}", "zones": ["UTC"]}
    soon = {"due_at": f"{BEGINS:%Y-%m-%dT%H:%M:%SZ}", "zones": ["Asia/Tokyo"]}
    Run.objects.update(waves=[soon, later])
    assert find_start() == BEGINS
    Run.objects.update(waves=[{"due_at": None, "zones": ["Asia/Tokyo"]}, later])
    assert find_start() is None


def test_a_scheduled_run_is_cancelled_and_a_copy_of_it_is_changed_once(
    alice: Caller, anna: Person
) -> None:
    run = launch(alice)
    planning.plan_run(run.pk)
    url = f"campaigns/runs/{run.pk}/cancel/"

    assert "Cancel it, and change a copy" in anna.read(url)
    first, second = anna.post(url, change="1"), anna.post(url, change="1")

    assert progress.find_progress(anna.workspace_id, run.pk, now=BEGINS).state is RunState.CANCELLED
    assert "/edit/" in first.headers["Location"]
    assert "/edit/" not in second.headers["Location"]
    [copied] = [row for row in read_campaigns(anna) if row.id != run.campaign_id]
    original, copy = (
        drafts.find_campaign(anna.workspace_id, one) for one in (run.campaign_id, copied.id)
    )
    assert copy.timing == original.timing == SendTime(at=BEGINS)
    assert copy.content == original.content


def test_no_copy_is_made_of_a_run_that_has_begun_or_whose_campaign_others_have_got(
    alice: Caller, anna: Person
) -> None:
    begun = launch(alice).pk

    def start(run_id: UUID, begins: datetime) -> None:
        planning.plan_run(run_id)
        waves = [{"due_at": f"{begins:%Y-%m-%dT%H:%M:%SZ}"}]
        Run.objects.filter(pk=run_id).update(waves=waves)
        url = f"campaigns/runs/{run_id}/cancel/"
        assert "change a copy" not in anna.read(url)
        anna.post(url, change="1")

    start(begun, datetime.now(UTC))
    rest = launching.launch_remaining(
        anna.workspace_id, begun, actor="alice", now=datetime.now(UTC)
    )
    start(rest, BEGINS)
    assert len(read_campaigns(anna)) == 1


def read_campaigns(anna: Person) -> Sequence[listing.CampaignRow]:
    return listing.read_page(anna.workspace_id, now=datetime.now(UTC)).rows
