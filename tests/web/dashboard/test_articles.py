"""Articles on the dashboard: their slices written by hand, and seen from any place."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path

import pytest
from django.conf import LazySettings

from postledger.accounts import integrations
from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.models import Workspace
from postledger.content import articles
from postledger.content.slices import SliceFields
from tests.campaigns import mailouts
from tests.fakes import notion as fake_notion
from tests.fakes import notion_pages as pages
from tests.fakes.notion import TOKEN, FakeNotion
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.usefixtures("furnished")

OHIO = "ocd-division/country:us/state:oh"
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def may(anna: Person) -> str:
    created = anna.post("content/new-article/", title="News of May", key="may")
    assert created.headers["Location"].endswith("/content/articles/may/")
    return "content/articles/may/"


def add(anna: Person, **fields: object) -> int:
    whole = SliceFields(**{"is_published": True, **fields})  # type: ignore[arg-type]  # of a slice
    return articles.add_slice(anna.workspace_id, article_key="may", fields=whole, actor="test")


def seen(page: str) -> list[str]:
    return re.findall(r'data-label="Seen"><?b?>?<?(?:span class="faint")?>?(Yes|No)<', page)


def test_a_slice_is_written_listed_changed_and_deleted(anna: Person, may: str) -> None:
    fields = {"title": "Hello", "body_md": "First\r\nline", "preheader": "Read {{ name }}"}

    anna.post(f"{may}slices/new/", **fields, published_from="2026-01-31T09:00")
    [piece] = articles.list_slices(anna.workspace_id, article_key="may")
    shown = anna.read(may)
    anna.post(f"{may}slices/{piece.id}/", **fields, is_published="on", scope_ocd_id=OHIO)
    [changed] = articles.list_slices(anna.workspace_id, article_key="may")

    assert (piece.body_md, piece.preheader) == ("First\nline", "Read {{ name }}")
    assert piece.published_from == datetime(2026, 1, 31, 9, tzinfo=UTC)
    assert "Saved as a draft: readers do not get it yet." in shown
    assert f"/content/articles/may/slices/{piece.id}/" in shown
    assert "from <time" in shown
    assert (changed.scope_ocd_id, changed.published_from) == (OHIO, None)
    assert "Preheader: Read [name]" in anna.read(may, place=OHIO)
    anna.post(f"{may}slices/{piece.id}/delete/")
    assert "No slice yet" in anna.read(may)


def test_an_article_is_renamed_and_keeps_its_key(anna: Person, may: str) -> None:
    wrong = anna.post(f"{may}rename/", title="\u202e")
    renamed = anna.post(f"{may}rename/", title="News of <June>")

    assert wrong.status_code == 422
    assert "Use printable characters only." in wrong.content.decode()
    assert renamed.headers["Location"].endswith(f"/{may}")
    assert "News of &lt;June&gt;</h1>" in anna.read(may)
    assert articles.find_article(anna.workspace_id, key="may").title == "News of <June>"
    assert 'value="News of &lt;June&gt;"' in anna.read(f"{may}rename/")


def test_an_article_is_deleted_when_no_draft_is_made_from_it(
    anna: Person, alice: Caller, may: str
) -> None:
    add(anna, title="Hello", is_headline=True)
    content = {"kind": "article", "key": "may"}
    draft = newsroom.make_campaign(alice, name="June <news>", content=content)

    asked = anna.read(f"{may}delete/")
    refused = anna.post(f"{may}delete/")
    alice.ask("PATCH", f"/v1/campaigns/{draft}", {"content": newsroom.NEW["content"]})
    asked_again = anna.read(f"{may}delete/")
    anna.post(f"{may}delete/")

    assert f'/campaigns/{draft}/">June &lt;news&gt;</a>' in asked
    assert "Delete the article" not in asked
    assert refused.status_code == 409
    assert "with its 1 slice." in asked_again
    assert articles.list_articles(anna.workspace_id) == []


def test_a_year_that_nobody_means_is_refused_at_its_field(anna: Person, may: str) -> None:
    number = add(anna, title="Hello", is_headline=True)

    for zone, far in (
        ("America/New_York", "9999-12-31T23:59"),
        ("Asia/Tokyo", "0001-01-01T00:00"),
        ("UTC", "9001-01-01T00:00"),
        ("UTC", "1969-12-31T23:59"),
    ):
        Workspace.objects.filter(pk=anna.workspace_id).update(time_zone=zone)
        for name in ("published_from", "published_until"):
            refused = anna.post(f"{may}slices/{number}/", title="Hello", **{name: far})
            assert refused.status_code == 422, (far, name)
            assert "Use a year from 1970 to 9000" in refused.content.decode(), (far, name)
        assert "Use a year from 1970 to 9000" in anna.read(may, at=far), far
        assert anna.get(f"{may}letter/", at=far).status_code == 200, far
    [piece] = articles.list_slices(anna.workspace_id, article_key="may")
    assert (piece.published_from, piece.published_until) == (None, None)


def test_saving_a_slice_changes_no_moment_that_nobody_touched(anna: Person, may: str) -> None:
    Workspace.objects.filter(pk=anna.workspace_id).update(time_zone="Europe/Berlin")
    second_half_past_two = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    end = second_half_past_two + timedelta(seconds=45)
    number = add(anna, title="A", published_from=second_half_past_two, published_until=end)
    path = f"{may}slices/{number}/"
    shown = dict(re.findall(r'name="(published_\w+)" value="([^"]*)"', anna.read(path)))

    anna.post(path, title="B", is_published="on", **shown)
    [kept] = articles.list_slices(anna.workspace_id, article_key="may")
    shown["published_until"] = "2026-10-25T03:00"
    anna.post(path, title="B", is_published="on", **shown)
    [changed] = articles.list_slices(anna.workspace_id, article_key="may")

    assert shown["published_from"] == "2026-10-25T02:30"
    assert kept.title == "B"
    assert (kept.published_from, kept.published_until) == (second_half_past_two, end)
    assert changed.published_from == second_half_past_two
    assert changed.published_until == datetime(2026, 10, 25, 2, tzinfo=UTC)


def test_a_wrong_slice_is_refused_beside_its_field_and_keeps_what_was_typed(
    anna: Person, may: str
) -> None:
    backwards = {"published_from": "2026-02-01T09:00", "published_until": "2026-01-01T09:00"}
    for field, fields, sentence in (
        ("title", {"is_headline": "on"}, "let the slice be no headline"),
        ("body_md", {"section_order": "1", "body_md": "  "}, "Write a text: the slice is empty."),
        ("body_md", {"title": "Hi", "body_md": "{{ first_name }}"}, "no email has a value"),
        ("section_order", {"title": "Hi", "section_order": "one"}, "Write a whole number"),
        ("scope_ocd_id", {"title": "Hi", "scope_ocd_id": "Berlin"}, "Write one like ocd-"),
        ("published_from", {"title": "Hi", "published_from": "soon"}, "Write a day and a time"),
        ("published_until", {"title": "Hi", **backwards}, "the time until which readers"),
    ):
        refused = anna.post(f"{may}slices/new/", section="Kept", **fields)

        page = refused.content.decode()
        assert refused.status_code == 422, fields
        [error] = re.findall(rf'id="id_{field}_error">([^<]*)', page)
        assert sentence in error
        assert 'value="Kept"' in page, fields
    assert articles.list_slices(anna.workspace_id, article_key="may") == []


def test_an_article_is_seen_from_places_and_moments(anna: Person, may: str) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    add(anna, title="For all", body_md="Everybody reads this.")
    add(anna, title=EVIL, is_headline=True, body_md=f"Ohio {EVIL}", scope_ocd_id=OHIO)
    add(anna, title="Later", body_md="Later.", published_from=tomorrow, sort_index=5)
    add(anna, title="Draft", body_md="Draft.", is_published=False, sort_index=6)

    anywhere = anna.read(may, show="text")
    ohio = anna.read(may, show="text", place=OHIO)
    typed = anna.read(may, show="text", more=f"x {OHIO}")
    later = anna.read(may, show="text", at=f"{tomorrow + timedelta(days=1):%Y-%m-%dT%H:%M}")
    frame = anna.read(f"{may}letter/", place=OHIO)

    assert seen(anywhere) == ["Yes", "No", "No", "No"]
    assert seen(ohio) == seen(typed) == ["Yes", "Yes", "No", "No"]
    assert seen(later) == ["Yes", "No", "Yes", "No"]
    assert f"Subject: <b>{EVIL}</b>" in unescape(ohio)
    assert all(EVIL not in page for page in (anywhere, ohio, frame))
    assert "Ohio" in frame
    assert "Write a day and a time" in anna.read(may, at="soon")


@pytest.fixture
def notion(anna: Person, settings: LazySettings) -> Iterator[FakeNotion]:
    integrations.set_integration(
        anna.workspace_id, IntegrationKind.NOTION, changes={"token": TOKEN}, actor="test"
    )
    with fake_notion.running() as running:
        settings.NOTION_URL = running.url
        yield running


def test_a_notion_page_is_shown_as_the_mail_would_show_it(anna: Person, notion: FakeNotion) -> None:
    page_id = notion.add_page(
        pages.paragraph(f"Hello {EVIL}"),
        properties={**mailouts.row(), "Preheader": pages.rich_text("What is <new>")},
    )
    url = f"https://www.notion.so/acme/News-{page_id.replace('-', '')}?pvs=4"

    shown = anna.read("content/notion/", page=url, show="text")
    frame = anna.read("content/notion/letter/", page=url)

    assert "Hello &lt;script&gt;" in shown
    assert "Hello &lt;script&gt;" in frame
    assert EVIL not in shown + frame
    assert "Preheader: What is &lt;new&gt;" in shown
    assert "1 Road" in frame


def test_a_look_at_a_notion_page_copies_no_private_picture(
    anna: Person, notion: FakeNotion, settings: LazySettings, tmp_path: Path
) -> None:
    settings.PICTURES_FOLDER, settings.PICTURES_URL = str(tmp_path), "https://mail.example/pictures"
    hall = pages.hosted("image", "hall.png", caption=["The hall"])
    page_id = notion.add_page(pages.paragraph("Hello"), hall, properties=mailouts.row())

    shown = anna.read("content/notion/", page=page_id, show="text")

    assert "[The hall]" in shown
    assert 'data-level="warning"' in shown
    assert "copied to their public address by a launch" in shown
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_notion_page_says_so_and_is_not_asked_for(
    anna: Person, notion: FakeNotion
) -> None:
    shown = anna.read("content/notion/", page=EVIL)

    assert 'role="alert"' in shown
    assert EVIL not in shown
    assert notion.requests == []
    assert anna.get("content/notion/letter/", page=EVIL).status_code == 404
