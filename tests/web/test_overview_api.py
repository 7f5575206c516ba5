"""The overview, all mail of a workspace, and the pace of a run, as a program gets them."""

import pytest
from django.conf import LazySettings

from tests.campaigns import press
from tests.web import newsroom
from tests.web.callers import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)
    press.people(alice.workspace_id, 30)


def test_the_overview_has_the_books_of_today_and_what_moves_and_waits(
    alice: Caller, charlie: Caller
) -> None:
    run_id = newsroom.launched(alice, newsroom.make_campaign(alice))
    newsroom.book(run_id, newsroom.taken, size=10)
    newsroom.book(run_id, newsroom.refused, size=5)
    alice.post(f"/v1/runs/{run_id}/pause", None)
    alice.send()

    seen = alice.get("/v1/overview").body
    theirs = charlie.get("/v1/overview").body

    assert seen["day"]["planned"] == 31
    assert sum(seen["day"]["states"].values()) == 31
    assert seen["day"]["states"]["accepted"] == 10
    single, run = seen["streams"]
    assert (single["kind"], single["next_in_line"]) == ("transactional", 1)
    assert run["waiting"][0]["mails"] == 15
    assert run["waiting"][0]["cause"]["code"] == "paused"
    assert len(seen["accepted_per_minute"]) == 60
    assert [sender["address"] for sender in seen["senders"]] == ["news@acme.example"]
    assert (theirs["day"]["planned"], theirs["streams"]) == (0, [])


def test_messages_of_runs_and_single_mails_are_found_and_paged(
    alice: Caller, charlie: Caller
) -> None:
    campaign_id = newsroom.make_campaign(alice)
    run_id = newsroom.launched(alice, campaign_id)
    newsroom.book(run_id, newsroom.taken, size=10)
    alice.send(to="R7@example.com")

    def ask(who: Caller = alice, **query: object) -> list[tuple[str, str]]:
        reply = who.get("/v1/messages", **{name: str(value) for name, value in query.items()})
        assert reply.status == 200, reply.body
        return [(found["address"], found["state"]) for found in reply.body["messages"]]

    assert ask(address="r7@example.com") == [
        ("R7@example.com", "waiting"),
        ("r7@example.com", "waiting"),
    ]
    assert ask(charlie, address="r7@example.com") == ask(charlie, campaign_id=campaign_id) == []
    assert len(ask(campaign_id=campaign_id, state="accepted", limit=100)) == 10
    assert ask(campaign_id=campaign_id + 999) == []
    first = alice.get("/v1/messages", limit="20").body
    second = alice.get("/v1/messages", limit="20", cursor=first["older"]).body
    again = alice.get("/v1/messages", limit="20", cursor=second["newer"]).body
    ids = [found["id"] for page in (first, second) for found in page["messages"]]
    assert len(set(ids)) == len(ids) == 31
    assert (second["older"], first["newer"]) == (None, None)
    assert [found["id"] for found in again["messages"]] == ids[:20]
    assert alice.get("/v1/messages", cursor="x").status == 422


def test_the_pace_of_a_run_adds_up_to_its_accepted_mails(alice: Caller) -> None:
    run_id = newsroom.launched(alice, newsroom.make_campaign(alice))
    newsroom.book(run_id, newsroom.taken, size=10)

    pace = alice.get(f"/v1/runs/{run_id}/pace").body

    assert pace["seconds"] == 5
    assert sum(point["accepted"] for point in pace["points"]) == 10
