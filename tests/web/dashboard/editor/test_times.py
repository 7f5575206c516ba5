"""When a draft goes: a time that is past, and hours that nobody touched."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postledger.accounts import working_hours
from postledger.accounts.models import Workspace
from postledger.campaigns.drafts import drafts
from postledger.campaigns.models import Campaign
from postledger.contacts.models import Contact
from postledger.mailing.send_times import SendTime
from tests.campaigns import press
from tests.web.callers import Caller
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


def test_a_local_time_says_for_how_many_it_is_past_and_is_refused_if_it_is_for_all(
    anna: Person, alice: Caller, draft: int
) -> None:
    zones = ("Pacific/Kiritimati", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Pacific/Pago_Pago")
    for number, zone in enumerate(zones):
        address = f"{number}@example.com"
        alice.post("/v1/contacts", {"address": address, "time_zone": zone})
    Contact.objects.filter(address="0@example.com").update(state="unsubscribed")
    moment = f"{datetime.now(UTC):%Y-%m-%dT%H:00}"
    times = {"when": "local", "local_at": moment}
    title = "The chosen time is past for 1 recipient"

    save(anna, draft, **times)
    some = read_text(anna.get(f"campaigns/{draft}/edit/launch/"))
    hours = {"has_window": "on", "opens": "09:00", "closes": "17:30", "weekdays": ["mon"]}
    save(anna, draft, **times, **hours)
    in_hours = read_text(anna.get(f"campaigns/{draft}/edit/checks/"))
    yesterday = datetime.now(UTC) - timedelta(days=2)
    save(anna, draft, when="local", local_at=f"{yesterday:%Y-%m-%dT%H:00}")
    refused = launch(anna, draft)

    assert f"{title}</p><p>Where it is later than that, mail goes at once. Choose" in some
    assert f"{title}</p><p>Where it is later than that, mail goes at once within" in in_hours
    assert refused.status_code == 422
    assert "It was not launched: The chosen time is past." in read_text(refused)


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


def test_hours_that_end_on_the_next_day_and_the_zone_of_those_without_one_are_said(
    anna: Person, draft: int
) -> None:
    Workspace.objects.update(time_zone="Europe/Lisbon")
    hours = {"has_window": "on", "opens": "22:00", "weekdays": ["mon"]}
    path = f"campaigns/{draft}/edit/"

    save(anna, draft, **hours, closes="20:00")
    over_night = anna.read(f"{path}checks/")
    save(anna, draft, **hours, closes="23:00")
    of_one_day = anna.read(f"{path}checks/")

    assert "The working hours are from 22:00 until 20:00 of the next day" in over_night
    assert "of the next day" not in of_one_day
    told = "Whoever has no time zone has that of the workspace, Europe/Lisbon."
    assert anna.read(path).count(told) == 2
