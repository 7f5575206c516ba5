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
from postledger.accounts.people.roles import Role
from postledger.content import articles
from postledger.content.models import Slice
from postledger.content.slices import SliceFields
from tests.campaigns import mailouts
from tests.fakes import notion as fake_notion
from tests.fakes import notion_pages as pages
from tests.fakes.notion import TOKEN, FakeNotion
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

OHIO = "ocd-division/country:us/state:oh"
EVIL = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)


@pytest.fixture
def anna(alice: Caller) -> Person:
    return visitors.sign_in(alice.workspace_id)


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
    fields = {"title": "Hello", "body_md": "First\r\nline", "is_published": "on"}
    fields["preheader"] = "Read {{ name }}"

    added = anna.post(f"{may}slices/new/", **fields, published_from="2026-01-31T09:00")
    [piece] = articles.list_slices(anna.workspace_id, article_key="may")
    shown = anna.read(may)
    anna.post(f"{may}slices/{piece.id}/", **fields, scope_ocd_id=OHIO)
    [changed] = articles.list_slices(anna.workspace_id, article_key="may")

    assert added.status_code == 302
    assert piece.body_md == "First\nline"
    assert piece.preheader == "Read {{ name }}"
    assert "Preheader: Read [name]" in shown
    assert piece.published_from == datetime(2026, 1, 31, 9, tzinfo=UTC)
    assert f"/content/articles/may/slices/{piece.id}/" in shown
    assert "from <time" in shown
    assert (changed.scope_ocd_id, changed.published_from) == (OHIO, None)
    assert "It cannot be brought back" in anna.read(f"{may}slices/{piece.id}/delete/")
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
    draft = newsroom.make_campaign(
        alice, name="June <news>", content={"kind": "article", "key": "may"}
    )

    asked = anna.read(f"{may}delete/")
    refused = anna.post(f"{may}delete/")
    alice.ask("PATCH", f"/v1/campaigns/{draft}", {"content": newsroom.NEW["content"]})
    asked_again = anna.read(f"{may}delete/")
    deleted = anna.post(f"{may}delete/")

    assert f'/campaigns/{draft}/">June &lt;news&gt;</a>' in asked
    assert "Choose other content in each of them" in asked
    assert "Delete the article" not in asked
    assert refused.status_code == 409
    assert "with its 1 slice." in asked_again
    assert deleted.headers["Location"].endswith("/content/articles/")
    assert articles.list_articles(anna.workspace_id) == []


@pytest.mark.parametrize("name", ["published_from", "published_until"])
@pytest.mark.parametrize(
    ("zone", "far"),
    [
        ("America/New_York", "9999-12-31T23:59"),
        ("Asia/Tokyo", "0001-01-01T00:00"),
        ("UTC", "9001-01-01T00:00"),
        ("UTC", "1969-12-31T23:59"),
    ],
)
def test_a_year_that_nobody_means_is_refused_at_its_field(
    anna: Person, may: str, zone: str, far: str, name: str
) -> None:
    Workspace.objects.filter(pk=anna.workspace_id).update(time_zone=zone)
    number = add(anna, title="Hello", is_headline=True)

    refused = anna.post(f"{may}slices/{number}/", title="Hello", **{name: far})
    looked = anna.get(may, at=far)
    letter = anna.get(f"{may}letter/", at=far)

    assert refused.status_code == 422
    assert "Use a year from 1970 to 9000, or leave it out." in refused.content.decode()
    assert looked.status_code == letter.status_code == 200
    assert "Use a year from 1970 to 9000" in looked.content.decode()
    [piece] = articles.list_slices(anna.workspace_id, article_key="may")
    assert (piece.published_from, piece.published_until) == (None, None)


def test_saving_a_slice_changes_no_moment_that_nobody_touched(anna: Person, may: str) -> None:
    Workspace.objects.filter(pk=anna.workspace_id).update(time_zone="Europe/Berlin")
    second_half_past_two = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    end = second_half_past_two + timedelta(seconds=45)
    number = add(anna, title="A", published_from=second_half_past_two, published_until=end)
    page = anna.read(f"{may}slices/{number}/")
    shown = dict(re.findall(r'name="(published_\w+)" value="([^"]*)"', page))

    saved = anna.post(f"{may}slices/{number}/", title="B", is_published="on", **shown)
    [kept] = articles.list_slices(anna.workspace_id, article_key="may")
    shown["published_until"] = "2026-10-25T03:00"
    anna.post(f"{may}slices/{number}/", title="B", is_published="on", **shown)
    [changed] = articles.list_slices(anna.workspace_id, article_key="may")

    assert shown["published_from"] == "2026-10-25T02:30"
    assert saved.status_code == 302
    assert (kept.title, kept.published_from, kept.published_until) == (
        "B",
        second_half_past_two,
        end,
    )
    assert changed.published_from == second_half_past_two
    assert changed.published_until == datetime(2026, 10, 25, 2, tzinfo=UTC)


def test_a_wrong_slice_is_refused_and_keeps_what_was_typed(anna: Person, may: str) -> None:
    refused = anna.post(f"{may}slices/new/", body_md="Kept", is_headline="on")
    moment = anna.post(f"{may}slices/new/", title="Kept", published_from="soon")

    assert refused.status_code == moment.status_code == 422
    assert "a headline needs a title, or a dek" in refused.content.decode()
    assert ">\nKept</textarea>" in refused.content.decode()
    assert "Write a day and a time" in moment.content.decode()
    assert 'value="soon"' in moment.content.decode()
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
    assert "Subject: <b>For all</b>" in anywhere
    assert f"Subject: <b>{EVIL}</b>" in unescape(ohio)
    assert re.search(r'value="[^"]+state:oh" checked', ohio)
    assert all(EVIL not in page for page in (anywhere, ohio, frame))
    assert "Ohio" in frame
    assert "1 Road" in frame
    assert "Write a day and a time" in anna.read(may, at="soon")


def test_an_article_that_nobody_could_be_mailed_says_why(anna: Person, may: str) -> None:
    add(anna, body_md="Without a title.")

    shown = anna.read(may)

    assert "The letter would have no subject" in shown
    assert "<iframe" not in shown
    assert anna.get(f"{may}letter/").status_code == 404


def test_a_viewer_sees_an_article_and_is_offered_no_change(
    anna: Person, alice: Caller, may: str
) -> None:
    add(anna, title="Hello")
    viewer = visitors.sign_in(alice.workspace_id, Role.VIEWER)

    shown = viewer.read(may) + viewer.read("content/articles/")

    assert "Hello" in shown
    assert "New slice" not in shown
    assert "New article" not in shown
    assert "/slices/" not in shown


def test_a_taken_or_wrong_key_is_said_beside_it(anna: Person, may: str) -> None:
    taken = anna.post("content/new-article/", title="Again", key="may")
    wrong = anna.post("content/new-article/", title="Again", key="Not A Key")

    assert "An article has this key already." in taken.content.decode()
    assert "Use up to 200 lowercase letters" in wrong.content.decode()
    assert 'value="Not A Key"' in wrong.content.decode()


def test_without_notion_the_page_says_what_to_do(anna: Person, alice: Caller) -> None:
    manager = visitors.sign_in(alice.workspace_id, Role.MANAGER)

    assert anna.url("settings/integrations/notion/") in anna.read("content/notion/")
    assert "Owners and developers set up integrations." in manager.read("content/notion/")


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


def test_an_incomplete_footer_says_where_it_is_entered_in_the_words_of_the_reader(
    anna: Person, may: str, settings: LazySettings
) -> None:
    add(anna, title="News", body_md="[more](/more)")
    Workspace.objects.filter(pk=anna.workspace_id).update(org_address="")
    english = anna.read(may)
    anna.client.cookies[settings.LANGUAGE_COOKIE_NAME] = "ru"
    russian = anna.read(may)
    settings.UNSUBSCRIBE_SECRET = ""

    assert "postal address are entered under Branding" in english
    assert "postledger workspace footer" not in english
    assert "страницу отписки — владелец в настройках" in russian
    assert "Текст, строка 3" in russian
    assert "UNSUBSCRIBE_SECRET" in anna.read(may)


def test_a_slice_that_nobody_could_get_is_refused_beside_its_field(anna: Person, may: str) -> None:
    path = f"{may}slices/new/"
    fields = {"published_from": "2026-02-01T09:00", "published_until": "2026-01-01T09:00"}
    pages = [
        ("scope_ocd_id", anna.post(path, title="Hi", scope_ocd_id="Berlin"), "Write one like ocd-"),
        (
            "body_md",
            anna.post(path, title="Hi", body_md="{{ first_name }}"),
            "no email has a value",
        ),
        ("published_until", anna.post(path, title="Hi", **fields), "the time until which readers"),
        ("title", anna.post(path, is_headline="on"), "let the slice be no headline"),
    ]

    for field, page, sentence in pages:
        assert page.status_code == 422
        [error] = re.findall(rf'id="id_{field}_error">([^<]*)', page.content.decode())
        assert sentence in error
    assert articles.list_slices(anna.workspace_id, article_key="may") == []


def test_an_old_slice_with_a_value_that_no_mail_has_says_what_to_do(anna: Person, may: str) -> None:
    number = add(anna, title="Hi", body_md="Hello")
    Slice.objects.filter(pk=number).update(body_md="Hello {{ first_name }}")

    shown = anna.read(may)

    assert "A slice uses first_name, which no email has a value for" in shown
    assert "optional variables" not in shown


def test_a_slice_that_is_no_headline_says_that_its_title_is_not_in_the_mail(
    anna: Person, may: str
) -> None:
    assert "Of another slice they see only the text." in anna.read(f"{may}slices/new/")
    assert "readers see the title of their headline" in anna.read("content/new-article/")


def test_an_empty_slice_is_refused_in_words_of_its_page(anna: Person, may: str) -> None:
    empty = anna.post(f"{may}slices/new/", section="1", body_md="  ", section_order="one")
    mended = anna.post(f"{may}slices/new/", section="1", body_md="  ", section_order="1")

    assert "Write a whole number, such as 2." in empty.content.decode()
    assert mended.status_code == 422
    assert "Write a text: the slice is empty." in mended.content.decode()
    assert "Short text under the title" in mended.content.decode()
    assert articles.list_slices(anna.workspace_id, article_key="may") == []


def test_a_slice_that_stays_a_draft_says_so(anna: Person, may: str) -> None:
    anna.post(f"{may}slices/new/", title="Hi")

    assert "Saved as a draft: readers do not get it yet." in anna.read(may)


def test_a_key_is_made_of_the_title_if_none_is_given(anna: Person) -> None:
    made = anna.post("content/new-article/", title="News of: May_2026", key="")
    unnamed = anna.post("content/new-article/", title="Новости", key="")

    assert made.headers["Location"].endswith("/content/articles/news-of-may-2026/")
    assert unnamed.status_code == 422
    assert "Write a key" in unnamed.content.decode()


def test_the_section_of_a_slice_is_empty_where_nothing_is_set(anna: Person, may: str) -> None:
    add(anna, title="Hi")
    add(anna, title="Other", section="Local", sort_index=2)

    shown = anna.read(may)

    assert "0.0" not in shown
    assert 'Local <span class="faint">0.2</span>' in shown
