"""When a draft goes: a time that is past, and hours that nobody touched."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from postledger.accounts import working_hours
from postledger.accounts.models import Workspace
from postledger.campaigns.drafts import drafts
from postledger.campaigns.models import Campaign
from postledger.mailing.send_times import SendTime
from tests.campaigns import press
from tests.web.dashboard.editor.draft_forms import launch, read_text, save
from tests.web.dashboard.visitors import Person


@pytest.mark.parametrize("kind", ["at", "local_time"])
def test_a_draft_whose_time_is_long_past_is_saved_and_then_sent_now(
    anna: Person, draft: int, kind: str
) -> None:
    press.people(anna.workspace_id, 1)
    moment = "2025-01-01T09:00:00" + ("Z" if kind == "at" else "")
    Campaign.objects.filter(pk=draft).update(timing={kind: moment})
    field = {"at": "at", "local_time": "local_at"}[kind]
    shown = {"when": field.removesuffix("_at"), field: "2025-01-01T09:00"}

    renamed = save(anna, draft, name="June", **shown)
    page = read_text(anna.get(f"campaigns/{draft}/edit/"))
    refused = launch(anna, draft)
    mended = save(anna, draft, name="July", when="now", subject="Read this")

    assert renamed.status_code == 302
    assert f'id="id_{field}_error">2025-01-01 is in the past.' in page
    assert refused.status_code == 422
    assert "2025-01-01 is in the past." in read_text(refused)
    assert mended.status_code == 302
    campaign = Campaign.objects.get(pk=draft)
    assert (campaign.name, campaign.timing) == ("July", {})
    assert campaign.content["subject"] == "Read this"


def read_shown(person: Person, draft: int) -> dict[str, Any]:
    """The fields of time and hours as the page shows them, and a browser sends them."""
    page = person.read(f"campaigns/{draft}/edit/")
    shown: dict[str, Any] = {
        name: re.search(rf'name="{name}" value="([^"]*)"', page)[1]  # type: ignore[index]  # it is there
        for name in ("at", "local_at", "opens", "closes")
    }
    [when] = re.findall(r'name="when" value="(\w+)" checked', page)
    days = re.findall(r'name="weekdays" value="(\w+)"[^>]* checked', page)
    return {**shown, "when": when, "weekdays": days, "has_window": "on"}


@pytest.mark.parametrize(
    "timing",
    [
        SendTime(at=datetime(2027, 10, 31, 1, 30, tzinfo=UTC)),  # the second 02:30 of its night
        SendTime(at=datetime(2027, 5, 5, 9, 0, 45, tzinfo=UTC)),
        SendTime(local_time=datetime(2027, 5, 5, 9, 0, 45)),  # noqa: DTZ001  of each reader
    ],
)
def test_a_save_changes_no_time_and_no_hours_that_nobody_touched(
    anna: Person, draft: int, timing: SendTime
) -> None:
    Workspace.objects.filter(pk=anna.workspace_id).update(time_zone="Europe/Berlin")
    hours = working_hours.parse_hours(["09:00-12:30", "13:30-18:00"], days="mon-fri")
    change = {"timing": timing, "delivery_window": hours}
    drafts.change_campaign(anna.workspace_id, draft, change, actor="alice", now=datetime.now(UTC))
    before = Campaign.objects.get(pk=draft)
    shown = read_shown(anna, draft)

    saved = save(anna, draft, name="June", **shown)
    after = Campaign.objects.get(pk=draft)

    assert saved.status_code == 302
    assert "09:00-12:30, 13:30-18:00" in anna.read(f"campaigns/{draft}/edit/")
    assert after.name == "June"
    assert (after.timing, after.delivery_window) == (before.timing, before.delivery_window)
    save(anna, draft, **{**shown, "weekdays": ["mon"]})
    other_days = drafts.find_campaign(anna.workspace_id, draft).delivery_window
    save(anna, draft, **{**shown, "closes": "15:00"})
    other_hours = drafts.find_campaign(anna.workspace_id, draft).delivery_window
    assert other_days == working_hours.parse_hours(["09:00-12:30", "13:30-18:00"], days="mon")
    assert other_hours == working_hours.parse_hours(["09:00-15:00"], days="mon-fri")
    save(anna, draft, **{**shown, "at": "2027-03-01T10:00", "local_at": "2027-03-01T10:00"})
    moved = drafts.find_campaign(anna.workspace_id, draft).timing
    assert moved.at == (timing.at and datetime(2027, 3, 1, 9, tzinfo=UTC))
    assert moved.local_time == (timing.local_time and datetime(2027, 3, 1, 10))  # noqa: DTZ001  of each
