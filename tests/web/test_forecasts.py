"""When the mails of a campaign will have gone, over HTTP: before its launch, and during a run."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings

from postledger.accounts.models import Sender
from tests.web import newsroom
from tests.web.callers import Caller

RATE = 0.1  # mails a second: slow enough that no clock of a test matters


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)


def minutes_of(forecast: dict[str, Any]) -> float:
    spent = datetime.fromisoformat(forecast["ends_at"]) - datetime.fromisoformat(forecast["as_of"])
    return spent / timedelta(minutes=1)


def test_a_campaign_before_its_launch_shows_when_its_audience_would_have_its_mails(
    alice: Caller,
) -> None:
    Sender.objects.update(rate_per_second=RATE)
    [first, *_] = newsroom.people(alice, 4)
    alice.post(f"/v1/contacts/{first}/unsubscribe", {})

    forecast = alice.get(f"/v1/campaigns/{newsroom.make_campaign(alice)}/forecast").body

    assert minutes_of(forecast) == pytest.approx(0.5, rel=0.02)
    assert {key: forecast[key] for key in ("waiting", "left", "binding", "of")} == {
        "waiting": 3,
        "left": 0,
        "binding": "rate_per_second",
        "of": "sender",
    }
    [change] = forecast["changes"]
    assert (change["without"], change["of"]) == ("rate_per_second", "sender")
    assert change["ends_at"] < forecast["ends_at"]


def test_a_run_shows_when_its_waiting_mails_will_have_gone_unless_it_is_paused_or_over(
    alice: Caller,
) -> None:
    Sender.objects.update(rate_per_second=RATE)
    newsroom.people(alice, 3)
    id_ = newsroom.make_campaign(alice)
    run_id = newsroom.launched(alice, id_)
    newsroom.book(run_id, newsroom.taken, size=1)

    forecast = alice.get(f"/v1/runs/{run_id}").body["forecast"]
    of_campaign = alice.get(f"/v1/campaigns/{id_}/forecast").body
    alice.post(f"/v1/runs/{run_id}/pause", None)
    paused = alice.get(f"/v1/runs/{run_id}").body["forecast"]
    alice.post(f"/v1/runs/{run_id}/resume", None)
    newsroom.book(run_id, newsroom.taken)

    assert (forecast["waiting"], forecast["binding"]) == (2, "rate_per_second")
    assert minutes_of(forecast) == pytest.approx(1 / 3, rel=0.02)
    assert (of_campaign["waiting"], of_campaign["binding"]) == (2, "rate_per_second")
    assert (paused["ends_at"], paused["left"], paused["binding"]) == (None, 2, "held")
    assert alice.get(f"/v1/runs/{run_id}").body["forecast"] is None
