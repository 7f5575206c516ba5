"""Programs read what needs a person, of their own workspace only."""

from datetime import UTC, datetime, timedelta

import pytest

from postledger.alerts.models import Alert, Watch
from tests.alerts import house
from tests.web.callers import Caller

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture(autouse=True)
def running_worker(db: None) -> None:
    house.start_worker()


def write_alert(who: Caller, number: int = 0, *, closed: bool = False, **changes: object) -> Alert:
    given = {
        "cause": "sender_held",
        "subject": f"news{number}@acme.example",
        "first_at": NOW,
        "last_at": NOW,
        "opened_at": NOW,
        "count": 3,
        "data": {"reason": "sender_blocked"},
        "closed_at": NOW if closed else None,
        **changes,
    }
    return Alert.objects.create(workspace_id=who.workspace_id, **given)


def test_an_alert_is_told_in_words_with_its_times_or_why_it_is_untold(alice: Caller) -> None:
    alert = write_alert(alice, told_at=NOW)
    write_alert(alice, 1)

    untold, shown = alice.get("/v1/alerts").body["alerts"]

    assert shown["id"] == alert.pk
    assert shown["sentence"] == (
        "news0@acme.example may not send: the provider refuses this sender. 3 mails wait."
    )
    assert datetime.fromisoformat(shown["told_at"]) == NOW
    assert (shown["state"], shown["untold_reason"]) == ("open", None)
    assert (untold["told_at"], untold["untold_reason"]) == (None, "no_member")
    assert alice.get("/v1/alerts", cursor="2-1").status == 422


def test_open_alerts_come_first_and_pages_follow_one_another_for_their_workspace(
    alice: Caller, charlie: Caller
) -> None:
    closed = [write_alert(alice, number, closed=True).pk for number in range(2)]
    opened = [write_alert(alice, number).pk for number in range(3)]
    closed.append(write_alert(alice, 9, closed=True).pk)

    first = alice.get("/v1/alerts", limit="4").body
    rest = alice.get("/v1/alerts", limit="4", cursor=first["next"]).body

    seen = first["alerts"] + rest["alerts"]
    assert [alert["id"] for alert in seen] == [*reversed(opened), *reversed(closed)]
    assert (len(first["alerts"]), rest["next"]) == (4, None)
    for state, ids in (("open", opened), ("closed", closed)):
        shown = alice.get("/v1/alerts", state=state).body["alerts"]
        assert [alert["id"] for alert in shown] == [*reversed(ids)], state
    assert charlie.get("/v1/alerts").body == {"alerts": [], "next": None}
    assert charlie.get("/v1/alerts", cursor=f"0-{closed[-1] + 1}").body["alerts"] == []


def test_that_no_worker_runs_is_found_at_reading_and_stands_first(alice: Caller) -> None:
    stored = write_alert(alice)
    house.end_worker()
    Watch.objects.create(watched_at=NOW - timedelta(hours=1))

    first = alice.get("/v1/alerts", limit="1").body
    rest = alice.get("/v1/alerts", limit="1", cursor=first["next"]).body

    assert [(alert["id"], alert["cause"]) for alert in first["alerts"]] == [(None, "no_worker")]
    assert datetime.fromisoformat(first["alerts"][0]["since"]) == NOW - timedelta(hours=1)
    assert [alert["id"] for alert in rest["alerts"]] == [stored.pk]
    assert rest["alerts"][0]["untold_reason"] == "no_worker"
    assert alice.get("/v1/alerts", state="closed").body["alerts"] == []
