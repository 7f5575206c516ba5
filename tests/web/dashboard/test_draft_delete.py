"""A draft that nobody wants is deleted, and never one that somebody has not seen."""

import re
from typing import Any

import pytest

from postledger.accounts.people.roles import Role
from postledger.campaigns.drafts import drafts
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Campaign
from tests.campaigns import press
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.usefixtures("furnished")


@pytest.fixture
def mia(alice: Caller) -> Person:
    return visitors.sign_in(alice.workspace_id, Role.MANAGER, name="Mia")


@pytest.fixture
def draft(alice: Caller) -> int:
    return newsroom.make_campaign(alice)


def answer(person: Person, page: str, campaign_id: int) -> Any:
    """Sends the form of a question as it was shown."""
    [seen] = re.findall(r'name="seen" value="([^"]+)"', page)
    return person.post(f"campaigns/{campaign_id}/edit/delete/", seen=seen)


def test_a_manager_deletes_a_draft_after_a_question_that_names_it(mia: Person, draft: int) -> None:
    editor = mia.read(f"campaigns/{draft}/edit/")
    page = mia.read(f"campaigns/{draft}/edit/delete/")

    answered = answer(mia, page, draft)

    assert f'href="/w/{mia.workspace_id}/campaigns/{draft}/edit/delete/"' in editor
    campaign = Campaign.with_deleted.get(pk=draft)
    assert f"<dd>{campaign.name}</dd>" in page
    assert not Campaign.objects.exists()
    assert f"{campaign.name} is deleted." in mia.read("campaigns/")
    assert answered.headers["Location"] == mia.url("campaigns/")
    deed = f"Mia deleted the draft of the campaign <b>{campaign.name}</b>."
    assert deed in mia.read("settings/audit/")


def test_what_somebody_else_changed_meanwhile_is_shown_before_it_is_deleted(
    mia: Person, draft: int
) -> None:
    page = mia.read(f"campaigns/{draft}/edit/delete/")
    changes = {"name": "July news"}
    drafts.change_campaign(mia.workspace_id, draft, changes, actor="olga", now=press.NOW)

    refused = answer(mia, page, draft)

    shown = refused.content.decode()
    assert refused.status_code == 409
    assert "while you had it open" in shown
    assert "<dd>July news</dd>" in shown
    assert Campaign.objects.get().name == "July news"
    answer(mia, shown, draft)
    assert not Campaign.objects.exists()


def test_what_was_launched_meanwhile_stays_and_the_page_says_why(mia: Person, draft: int) -> None:
    page = mia.read(f"campaigns/{draft}/edit/delete/")
    launching.launch_campaign(mia.workspace_id, draft, actor="olga", now=press.NOW)

    refused = answer(mia, page, draft)

    assert refused.headers["Location"] == mia.url(f"campaigns/{draft}/")
    assert "it cannot be deleted" in mia.read(f"campaigns/{draft}/")
    assert mia.get(f"campaigns/{draft}/edit/delete/").status_code == 302


def test_its_tests_are_counted_and_keep_their_pages(mia: Person, draft: int) -> None:
    run_ids = [
        launching.send_test(
            mia.workspace_id, draft, addresses="a@acme.example", actor="mia", now=press.NOW
        )
        for _ in range(40)
    ]
    page = mia.read(f"campaigns/{draft}/edit/delete/")

    answer(mia, page, draft)

    assert "40 tests of it were sent; their emails stay in the books." in page
    run_page = mia.read(f"campaigns/runs/{run_ids[0]}/")
    assert "A test from" in run_page
    assert "/duplicate/" not in run_page
    assert mia.get(f"campaigns/runs/{run_ids[0]}/cancel/").status_code == 200


def test_who_still_writes_it_is_told_that_nothing_is_saved(mia: Person, draft: int) -> None:
    drafts.delete_campaign(mia.workspace_id, draft, actor="olga")

    url = mia.url(f"campaigns/{draft}/edit/")
    saved = mia.client.post(url, {"name": "Mine"}, headers={"HX-Request": "true"})

    assert saved.status_code == 200
    assert "This draft was deleted while you had it open." in saved.content.decode()
    assert mia.client.get(url).status_code == 404
