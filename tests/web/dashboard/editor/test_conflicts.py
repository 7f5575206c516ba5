"""Who changes a draft while somebody else does is told, and nothing is lost."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import override
from urllib.parse import urlencode

import pytest
from django.http import QueryDict
from django.template.loader import render_to_string

from postledger.accounts import workspaces
from postledger.campaigns import article_deletion
from postledger.campaigns.article_deletion import ArticleInUseError
from postledger.campaigns.drafts import drafts
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Campaign
from postledger.content import articles
from postledger.web.dashboard.access import find_visitor
from postledger.web.dashboard.editor import choices, saving
from postledger.web.dashboard.editor.draft_form import DraftForm, Part
from tests.campaigns import press
from tests.races import collide
from tests.web.dashboard import visitors
from tests.web.dashboard.editor.draft_forms import PART, fields, read_text, save
from tests.web.dashboard.visitors import Person


def test_two_editors_at_once_are_told_and_choose(anna: Person, draft: int) -> None:
    boris = visitors.sign_in(anna.workspace_id, name="Boris")
    url = anna.url(f"campaigns/{draft}/edit/")
    seen = fields(draft)["seen"]
    quiet = anna.client.get(url, {"seen": seen}, headers=PART)
    save(boris, draft, subject="Boris was here")

    noticed = anna.client.get(url, {"seen": seen}, headers=PART)
    refused = save(anna, draft, seen=seen, subject="Anna was here")
    kept = Campaign.objects.get(pk=draft).content["subject"]
    mine = save(anna, draft, seen=seen, subject="Anna was here", overwrite="1")
    again = read_text(save(anna, draft, seen=seen, subject="Window two"))

    assert (quiet.status_code, refused.status_code, mine.status_code) == (204, 409, 302)
    for told in (noticed, refused):
        assert "Boris changed this campaign" in read_text(told)
    assert 'value="Anna was here"' in read_text(refused)
    assert kept == "Boris was here"
    assert Campaign.objects.get(pk=draft).content["subject"] == "Anna was here"
    assert "You changed this campaign in another window" in again


class InterruptedForm(DraftForm):
    """Somebody else saves after the first part."""

    @override
    def list_parts(self) -> Iterator[Part]:
        parts = super().list_parts()
        yield next(parts)
        boris = visitors.sign_in(self.workspace_id, name="Boris")
        save(boris, self.campaign.id, when="at", at="2027-01-31T09:00")
        yield from parts


def test_whose_part_was_saved_before_a_conflict_is_told_so(anna: Person, draft: int) -> None:
    campaign = drafts.find_campaign(anna.workspace_id, draft)
    posted = QueryDict(urlencode(fields(draft, name="June", subject="June"), doseq=True))
    form = InterruptedForm(
        anna.workspace_id, campaign, choices.list_choices(anna.workspace_id), posted
    )
    visitor = find_visitor(anna.user, anna.workspace_id)
    assert visitor is not None

    saved = saving.save_draft(visitor, form, as_of=campaign.updated_at, now=datetime.now(UTC))

    values = {"saved": saved, "visitor": visitor}
    shown = render_to_string("dashboard/editor_problems.html", values)
    stored = Campaign.objects.get(pk=draft)
    assert (stored.name, stored.content["subject"]) == ("June", "News for {{ name }}")
    assert "Only a part of yours is saved" in shown


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_a_draft_that_is_launched_while_it_is_saved_stays_as_it_was_launched(
    anna: Person, draft: int
) -> None:
    press.people(anna.workspace_id, 1)
    now = datetime.now(UTC)

    with collide.uncommitted(
        lambda: launching.launch_campaign(anna.workspace_id, draft, actor="boris", now=now)
    ):
        late_save = collide.start(lambda: save(anna, draft, subject="Too late"))
        late_save.must_wait()

    refused = late_save.answer()
    assert refused.status_code == 409
    assert "This draft was launched while you had it open." in read_text(refused)
    assert 'value="Too late"' in read_text(refused)
    assert Campaign.objects.get(pk=draft).content["subject"] == "News for {{ name }}"


def test_who_still_writes_a_draft_that_was_launched_keeps_the_text_and_is_told(
    anna: Person, draft: int
) -> None:
    url, typed = anna.url(f"campaigns/{draft}/edit/"), fields(draft, subject="Too late")
    press.people(anna.workspace_id, 1)
    now = datetime.now(UTC)
    launching.launch_campaign(anna.workspace_id, draft, actor="boris", now=now)

    part = anna.client.post(url, typed, headers=PART)
    noticed = anna.client.get(url, {"seen": typed["seen"]}, headers=PART)
    page = anna.client.post(url, typed)

    assert (part.status_code, noticed.status_code, page.status_code) == (200, 200, 409)
    for answer in (part, noticed, page):
        assert f'href="{anna.url(f"campaigns/{draft}/")}">Show the run' in read_text(answer)
    assert 'value="Too late"' in read_text(page)
    assert anna.client.get(url).headers["Location"] == anna.url(f"campaigns/{draft}/")


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_a_draft_and_the_deletion_of_its_article_at_once_the_later_is_refused(
    anna: Person, draft: int
) -> None:
    for key in ("kept", "gone"):
        articles.create(anna.workspace_id, key=key, title=key, actor="alice")

    def delete(key: str) -> None:
        article_deletion.delete_article(anna.workspace_id, key=key, actor="boris")

    with collide.uncommitted(lambda: delete("gone")):
        late_save = collide.start(lambda: save(anna, draft, kind="article", article="gone"))
        late_save.must_wait()
    refused = late_save.answer()
    with collide.uncommitted(lambda: save(anna, draft, kind="article", article="kept", text="")):
        late_deletion = collide.start(lambda: delete("kept"))
        late_deletion.must_wait()

    assert refused.status_code == 422
    assert "Article “gone” not found in this workspace." in read_text(refused)
    with pytest.raises(ArticleInUseError):
        late_deletion.answer()
    assert [one.key for one in articles.list_articles(anna.workspace_id)] == ["kept"]


def test_a_moment_that_no_page_of_ours_has_seen_is_a_conflict(anna: Person, draft: int) -> None:
    workspaces.set_time_zone(anna.workspace_id, "America/New_York", actor="alice")
    url = anna.url(f"campaigns/{draft}/edit/")

    for seen in (
        "",
        "garbage",
        "2026-01-01T00:00:00",
        "0001-01-01T00:00:00+00:00",
        "9999-12-31T23:59:59-12:00",
    ):
        for changes in ({"name": "Mine"}, {}):
            typed = fields(draft, seen=seen, **changes)
            assert anna.client.post(url, typed, headers=PART).status_code == 200, seen
    assert Campaign.objects.get(pk=draft).name != "Mine"
