"""Runs over HTTP: how far they are, why the rest waits, and how they are steered."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings

from postledger.campaigns.runs import run_control
from postledger.deliveries import ledger
from postledger.deliveries.ledger import LimitCause
from postledger.deliveries.reasons import Reason
from postledger.feedback import run_stops
from tests import cast
from tests.campaigns import press
from tests.deliveries.models import StreamDelta
from tests.web import newsroom
from tests.web.callers import Caller


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)


def steer(who: Caller, run_id: str, verb: str, **body: object) -> dict[str, Any]:
    """Does something twice, which must be as if it were done once."""
    first, second = (
        who.post(f"/v1/runs/{run_id}/{verb}", body if verb == "retry" else None) for _ in range(2)
    )
    assert first.status == second.status == 200, second.body
    seen: dict[str, Any] = second.body
    assert {**seen, "requeued": 0} == {**first.body, "requeued": 0}
    return seen


def test_a_campaign_is_made_previewed_tested_launched_steered_and_closed(alice: Caller) -> None:
    newsroom.people(alice, 3)
    alice.post("/v1/contacts/erase", {"address": "nobody@example.com"})
    id_ = newsroom.make_campaign(alice)
    shown = alice.post(f"/v1/campaigns/{id_}/preview", {}).body
    tested = alice.post(f"/v1/campaigns/{id_}/test", {"addresses": ["a@example.com"]})
    run_id = newsroom.launched(alice, id_)

    assert (shown["subject"], shown["findings"]) == ("News for [name]", [])
    assert tested.status == 202
    sending = alice.get(f"/v1/runs/{run_id}").body
    assert (sending["state"], sending["books"]["planned"]) == ("sending", 3)

    assert steer(alice, run_id, "pause")["state"] == "paused"
    assert steer(alice, run_id, "resume")["state"] == "sending"
    newsroom.book(run_id, newsroom.refused, size=2)
    newsroom.book(run_id, newsroom.taken)

    assert run_control.end_finished_runs() == 0
    opened = alice.get(f"/v1/runs/{run_id}").body
    assert (opened["state"], opened["books"]["states"]["failed"]) == ("open", 2)
    retried = alice.post(f"/v1/runs/{run_id}/retry", {}).body
    again = alice.post(f"/v1/runs/{run_id}/retry", {}).body
    assert (retried["requeued"], again["requeued"], again["state"]) == (2, 0, "sending")
    for _ in range(2):
        newsroom.book(run_id, newsroom.refused, size=1)

    closed = steer(alice, run_id, "close")
    assert (closed["state"], str(closed["ended_by"])[:4]) == ("closed", "key ")
    over = alice.post(f"/v1/runs/{run_id}/pause", None)
    assert (over.status, over.body["code"]) == (409, "run_over")


def test_what_waits_says_why_since_when_and_what_will_move_it(alice: Caller) -> None:
    newsroom.people(alice, 2)
    later = datetime.now(UTC) + timedelta(days=3)
    timing = {"at": f"{later:%Y-%m-%dT%H:%M:%SZ}"}
    run_id = newsroom.launched(alice, newsroom.make_campaign(alice, timing=timing))

    [wait] = alice.get(f"/v1/runs/{run_id}").body["waits"]
    held = steer(alice, run_id, "pause")

    assert (wait["reason"], wait["mails"]) == ("scheduled", 2)
    assert wait["next_due_at"].startswith(f"{later:%Y-%m-%dT%H:%M:%S}")
    assert wait["since"] < wait["next_due_at"]
    assert (held["hold"]["reason"], held["hold"]["actor"][:4]) == ("paused", "key ")
    [under_hold] = held["waits"]
    assert under_hold["moved_by"] == held["hold"]["moved_by"] == "a person releases it"


def test_a_run_tells_each_limit_and_each_hold_and_resuming_ends_only_its_pause(
    alice: Caller,
) -> None:
    newsroom.people(alice, 1)
    run_id = newsroom.launched(alice, newsroom.make_campaign(alice))
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    causes = [LimitCause(Reason.RATE_PER_HOUR, until), LimitCause(Reason.OUTSIDE_HOURS, until)]
    ledger.hold_for_limits(newsroom.stream_of(run_id), causes)

    limited = alice.get(f"/v1/runs/{run_id}").body
    paused = steer(alice, run_id, "pause")
    resumed = steer(alice, run_id, "resume")
    cast.block()
    blocked = steer(alice, run_id, "resume")

    states = [seen["state"] for seen in (limited, paused, resumed, blocked)]
    assert states == ["sending", "paused", "sending", "paused"]
    names = ["outside_hours", "rate_per_hour"]
    assert [hold["reason"] for hold in limited["holds"]] == names
    assert limited["hold"] == limited["holds"][0]
    assert datetime.fromisoformat(limited["hold"]["until"]) == until
    assert [hold["reason"] for hold in paused["holds"]] == ["paused", *names]
    assert [hold["reason"] for hold in resumed["holds"]] == names
    assert (blocked["hold"]["reason"], bool(blocked["hold"]["fails_at"])) == (
        "sender_blocked",
        True,
    )


def test_a_cancelled_run_is_not_retried_and_its_rest_can_be_sent(alice: Caller) -> None:
    newsroom.people(alice, 3)
    run_id = newsroom.launched(alice, newsroom.make_campaign(alice))
    newsroom.book(run_id, newsroom.taken, size=1)
    busy = alice.post(f"/v1/runs/{run_id}/close", None)
    wrong = alice.post(f"/v1/runs/{run_id}/retry", {"code": "\0"})

    steer(alice, run_id, "cancel")
    ledger.drain(newsroom.stream_of(run_id))
    run_control.end_finished_runs()
    ended = steer(alice, run_id, "cancel")
    rest = alice.post(f"/v1/runs/{run_id}/remaining", None)
    planned = press.planned(rest.body["run_id"])
    over = alice.post(f"/v1/runs/{run_id}/retry", {})

    assert (busy.status, busy.body["code"]) == (409, "run_busy")
    assert (wrong.status, wrong.body["code"]) == (422, "INVALID_PAYLOAD")
    assert (ended["state"], rest.status) == ("cancelled", 202)
    assert press.addresses(planned) == ["r1@example.com", "r2@example.com"]
    assert alice.get(rest.body["links"]["self"]).body["excluded"] == {"already_mailed": 1}
    assert (over.status, over.body["code"]) == (409, "run_over")


def test_whom_a_run_leaves_out_is_listed_page_by_page(alice: Caller) -> None:
    ids = newsroom.people(alice, 4)
    for id_ in ids[:2]:
        alice.post(f"/v1/contacts/{id_}/unsubscribe", {})
    alice.post("/v1/suppressions", {"address": "r2@example.com"})
    path = f"/v1/runs/{newsroom.launched(alice, newsroom.make_campaign(alice))}/exclusions"

    first = alice.get(path, limit="2").body
    second = alice.get(path, limit="2", cursor=first["next"]).body

    listed = [*first["exclusions"], *second["exclusions"]]
    assert [(each["contact_id"], each["email"]) for each in listed] == [
        (id_, f"r{number}@example.com") for number, id_ in enumerate(ids[:3])
    ]
    assert (len(first["exclusions"]), second["next"]) == (2, None)
    one = alice.get(path, reason=listed[2]["reason"]).body["exclusions"]
    assert listed[2] in one
    assert alice.get(path, reasons="x").status == 422
    for run_id in ("x", "0", "6f1c1f4e-3f0e-4a55-9d7c-0d2f9d3f6a11"):
        assert alice.get(f"/v1/runs/{run_id}").status == 404, run_id


def test_a_run_shows_what_was_reported_beside_its_books_and_why_it_stopped_itself(
    alice: Caller, charlie: Caller
) -> None:
    newsroom.people(alice, 4)
    run_id = newsroom.launched(alice, newsroom.make_campaign(alice))
    newsroom.book(run_id, newsroom.taken, size=1)
    newsroom.book(run_id, newsroom.refused, size=1)
    stream_id = newsroom.stream_of(run_id)
    cast.lose(stream_id, size=1)
    before = alice.get(f"/v1/runs/{run_id}").body
    StreamDelta.objects.create(stream_id=stream_id, delivered=1_732, bounced=82, reported=1_814)

    run_stops.stop_bad_runs()

    seen = alice.get(f"/v1/runs/{run_id}").body
    nothing = dict.fromkeys(("skipped", "suppressed", "expired", "cancelled"), 0)
    assert seen["books"] == before["books"]
    assert seen["books"] == {
        "planned": 4,
        "states": {"waiting": 1, "accepted": 1, "failed": 1, "in_doubt": 1, **nothing},
        "balances": True,
    }
    assert set(before["feedback"].values()) == {0}
    assert (seen["feedback"]["delivered"], seen["feedback"]["bounced"]) == (1_732, 82)
    assert (seen["state"], seen["hold"]["reason"]) == ("paused", "bounce_rate")
    assert seen["hold"]["detail"] == "82 of 1,814 mails bounced (4.5 %); limit 3 %"
    assert charlie.get(f"/v1/runs/{run_id}").status == 404
    assert steer(alice, run_id, "resume")["state"] == "sending"
    assert run_stops.stop_bad_runs() == 0
