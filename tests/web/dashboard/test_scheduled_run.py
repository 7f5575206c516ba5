"""A run that is scheduled says so, with when it begins, wherever it is shown."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

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
from postledger.lib.ids import DeliveryId
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


def test_a_scheduled_run_is_cancelled_and_a_copy_of_it_is_changed(
    alice: Caller, anna: Person
) -> None:
    run = launch(alice)
    planning.plan_run(run.pk)
    url = f"campaigns/runs/{run.pk}/cancel/"

    assert "Change or cancel…" in anna.read(f"campaigns/runs/{run.pk}/")
    assert "Cancel it, and change a copy" in anna.read(url)
    answered = anna.post(url, change="1")

    assert progress.find_progress(anna.workspace_id, run.pk, now=BEGINS).state is RunState.CANCELLED
    editor = anna.client.get(answered.headers["Location"]).content.decode()
    assert "Cancelled before anything went." in editor
    [copied] = [row for row in read_campaigns(anna) if row.id != run.campaign_id]
    assert copied.name == drafts.name_campaign(anna.workspace_id, run.campaign_id)
    original, copy = (
        drafts.find_campaign(anna.workspace_id, one) for one in (run.campaign_id, copied.id)
    )
    assert copy.timing == original.timing == SendTime(at=BEGINS)
    assert copy.content == original.content


def test_no_copy_is_made_of_a_run_that_has_begun(alice: Caller, anna: Person) -> None:
    run = launch(alice)
    planning.plan_run(run.pk)
    begun = [{"due_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}]
    Run.objects.update(waves=begun)
    url = f"campaigns/runs/{run.pk}/cancel/"

    assert "change a copy" not in anna.read(url)
    anna.post(url, change="1")

    assert len(read_campaigns(anna)) == 1


def test_no_copy_is_made_of_a_run_to_the_rest_whose_campaign_others_have_got(
    alice: Caller, anna: Person
) -> None:
    first = launch(alice)
    planning.plan_run(first.pk)
    run_control.cancel_run(anna.workspace_id, first.pk, actor="alice")
    rest = launching.launch_remaining(
        anna.workspace_id, first.pk, actor="alice", now=datetime.now(UTC)
    )
    planning.plan_run(rest)
    Run.objects.filter(pk=rest).update(waves=[{"due_at": f"{BEGINS:%Y-%m-%dT%H:%M:%SZ}"}])
    page = anna.read(f"campaigns/runs/{rest}/")
    url = f"campaigns/runs/{rest}/cancel/"

    asked = anna.read(url)
    anna.post(url, change="1")

    assert "</svg>Scheduled</span>" in page
    assert "Change or cancel…" not in page
    assert "change a copy" not in asked
    assert len(read_campaigns(anna)) == 1


def test_a_second_click_makes_no_second_copy_and_the_enter_key_makes_none(
    alice: Caller, anna: Person
) -> None:
    run = launch(alice)
    planning.plan_run(run.pk)
    url = f"campaigns/runs/{run.pk}/cancel/"
    asked = anna.read(url)

    first, second = anna.post(url, change="1"), anna.post(url, change="1")

    first_button, second_button = re.findall(r'<button class="(btn[^>]*)>([^<]*)', asked)[-2:]
    assert first_button == ('btn" type="submit"', "Cancel it")
    assert second_button[0].startswith('btn btn-primary" type="submit" name="change"')
    assert "/edit/" in first.headers["Location"]
    assert "/edit/" not in second.headers["Location"]
    assert len(read_campaigns(anna)) == 2


def read_campaigns(anna: Person) -> Sequence[listing.CampaignRow]:
    return listing.read_page(anna.workspace_id, now=datetime.now(UTC)).rows


def test_a_run_whose_mail_waits_has_one_state_on_its_page_and_in_the_list_of_runs(
    alice: Caller, anna: Person
) -> None:
    run = launch(alice)
    planning.plan_run(run.pk)
    Run.objects.update(waves=[{"due_at": None}])
    alice.post(f"/v1/campaigns/{run.campaign_id}/test", {"addresses": ["a@example.com"]})

    head, _, listed = anna.read(f"campaigns/runs/{run.pk}/").partition('id="runs"')

    assert "</svg>Waiting</span>" in head
    assert listed.count("</svg>Waiting</span>") == 1


def test_what_was_cancelled_names_the_person(alice: Caller, anna: Person) -> None:
    run = launch(alice)
    planning.plan_run(run.pk)
    run_control.cancel_run(anna.workspace_id, run.pk, actor=f"user {anna.user.pk}")
    mail_id = DeliveryId(run.stream_id, 0).uuid()

    for page in (f"campaigns/runs/{run.pk}/", f"messages/{mail_id}/"):
        text = anna.read(page)
        assert "Anna cancelled it." in text.partition('class="why"')[2].partition("</div>")[0]
        assert f"user {anna.user.pk}" not in text
    [cause] = alice.get(f"/v1/why/{DeliveryId(run.stream_id, 0).text()}").body["causes"]
    assert cause["sentence"] == f"Its stream was cancelled by user {anna.user.pk}."
