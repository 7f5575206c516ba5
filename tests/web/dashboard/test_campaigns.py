"""The list of campaigns: states, how far each is, what it waits for, and how to find one."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from postledger.campaigns.models import Campaign
from postledger.campaigns.runs import run_control
from tests.campaigns import press
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.usefixtures("furnished")

PAGE = 25


def launch(who: Caller, tag: str) -> str:
    return newsroom.launched(who, newsroom.make_campaign(who, tag=tag, name=tag))


def shown(person: Person, **query: str) -> list[str]:
    """The names of the campaigns on a page, in their order."""
    return re.findall(r'rowheader"><a href="[^"]*">([^<]*)</a>', person.read("campaigns/", **query))


def test_every_state_has_its_tab_and_the_tabs_add_up(alice: Caller, anna: Person) -> None:
    press.people(alice.workspace_id, 3)
    newsroom.make_campaign(alice, tag="draft", name="draft")
    runs = {tag: launch(alice, tag) for tag in ("moving", "paused", "open", "sent", "cancelled")}
    anna.post(f"campaigns/runs/{runs['paused']}/pause/")
    newsroom.book(runs["open"], newsroom.refused)
    newsroom.book(runs["sent"], newsroom.taken)
    alice.post(f"/v1/runs/{runs['cancelled']}/cancel", None)
    run_control.end_finished_runs()

    assert shown(anna) == ["cancelled", "sent", "open", "paused", "moving", "draft"]
    for group, names in (
        ("moving", ["moving"]),
        ("waiting", ["paused"]),
        ("open", ["open"]),
        ("draft", ["draft"]),
        ("done", ["cancelled", "sent"]),
    ):
        assert shown(anna, show=group) == names
    text = anna.read("campaigns/")
    tabs = re.findall(r"(\w+) <span>(\d+)</span>", text)
    assert dict(tabs) == {
        "All": "6", "Moving": "1", "Waiting": "1", "Open": "1", "Drafts": "1", "Done": "2"
    }  # fmt: skip
    assert "Paused by Anna until you resume it" in text


def test_a_campaign_is_found_by_a_part_of_its_name_or_tag(alice: Caller, anna: Person) -> None:
    newsroom.make_campaign(alice, tag="may-news", name="News of May")
    newsroom.make_campaign(alice, tag="dealers", name="100%_off")

    assert shown(anna, q="of may") == ["News of May"]
    assert shown(anna, q="DEAL") == ["100%_off"]
    assert shown(anna, q="%_o") == ["100%_off"], "wildcards are letters"
    assert "No such campaign" in anna.read("campaigns/", q="\0x")


def test_older_and_newer_lead_through_all_campaigns_without_a_query_more(
    alice: Caller, anna: Person
) -> None:
    press.people(alice.workspace_id, 1)
    first = newsroom.make_campaign(alice, tag="c0", name="c0")
    newsroom.launched(alice, first)
    anna.read("campaigns/")
    with CaptureQueriesContext(connection) as few:
        anna.read("campaigns/")
    row = Campaign.objects.get(pk=first)
    for number in range(1, PAGE + 6):
        row.pk, row.tag, row.name = None, f"c{number}", f"c{number}"
        row.save(force_insert=True)
        if number < 4:
            newsroom.launched(alice, row.pk)

    with CaptureQueriesContext(connection) as many:
        newest = shown(anna)
    [older] = re.findall(r'href="(\?before=\d+)"', anna.read("campaigns/"))
    [before] = re.findall(r"\d+", older)
    oldest = shown(anna, before=before)
    [after] = re.findall(r'href="\?after=(\d+)"', anna.read("campaigns/", before=before))

    assert newest + oldest == [f"c{number}" for number in reversed(range(PAGE + 6))]
    assert shown(anna, after=after) == newest
    assert len(many) == len(few) <= 30


def test_the_campaigns_of_others_are_not_there(alice: Caller, charlie: Caller) -> None:
    newsroom.make_campaign(alice)
    stranger = visitors.sign_in(charlie.workspace_id, name="Carl")

    assert shown(stranger) == []
    assert stranger.get(f"campaigns/{2**63}/").status_code == 404
