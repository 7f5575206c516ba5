"""Branding and pictures on the dashboard: stored safely, and shown in the mail that follows."""

import json
import re
from datetime import UTC, datetime
from hashlib import sha256
from html import unescape
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from postledger.accounts import queries as accounts
from postledger.accounts.people.roles import Role
from postledger.content import articles, brandings, letters
from postledger.content.models import Picture
from postledger.content.picture_types import MOST_BYTES
from postledger.content.rendering.branding import Branding, find_contrast
from postledger.content.rendering.source import Format
from postledger.content.slices import SliceFields
from postledger.mailing import snapshot
from postledger.mailing.content_source import ArticleSource, InlineSource
from postledger.web.dashboard.editor.snippets import write_picture
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

PNG = b"\x89PNG\r\n\x1a\n" + b"a picture"
BASE = "https://mail.example/pictures"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)
    settings.PUBLIC_URL = "https://mail.example"


def save(person: Person, **changes: Any) -> Any:
    fields = {"logo_url": "", "accent": "", "name": "Acme", "address": "1 Road", **changes}
    return person.client.post(person.url("content/branding/save/"), fields)


def file(content: bytes = PNG, name: str = "logo.png") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, content_type="image/png")


def test_the_page_on_which_readers_unsubscribe_opens_for_the_own_address(
    anna: Person, settings: LazySettings
) -> None:
    settings.UNSUBSCRIBE_SECRET = "only-for-tests, and long enough here"
    [token] = re.findall(r'href="[^"]*[?]token=([^"]+)"', anna.read("content/branding/"))

    page = Client().get("/unsubscribe", {"token": unescape(token)}).content.decode()

    settings.UNSUBSCRIBE_SECRET = ""
    assert anna.user.email in unescape(page)
    assert "token=" not in anna.read("content/branding/")


def test_everything_that_is_wrong_is_said_at_once_beside_its_field_and_nothing_is_stored(
    anna: Person,
) -> None:
    before = accounts.organisation(anna.workspace_id)
    for changes, wrong in (
        ({"accent": "blue", "address": "{1}", "name": "Other"}, "accent address"),
        ({"accent": "lightblue", "logo_url": "https://[a.example/x.png"}, "logo_url accent"),
        ({"logo": file(SVG), "accent": "#ffee00", "name": "{Acme}"}, "logo accent name"),
        ({"logo": file(), "accent": "blue"}, "logo accent"),  # a browser keeps no file
        ({"logo_url": 'https://a.example/"onerror=x', "name": "Kept"}, "logo_url"),
    ):
        answer = save(anna, **changes)
        page = answer.content.decode()
        assert answer.status_code == 422, changes
        assert re.findall(r'id="id_(\w+)_error"', page) == wrong.split(), changes
        assert f'value="{changes.get("name", "Acme")}"' in page, changes
    assert brandings.find_branding(anna.workspace_id) == Branding()
    assert accounts.organisation(anna.workspace_id) == before
    assert not Picture.objects.exists()


def test_a_colour_is_taken_without_its_sharp_sign_or_with_three_digits(anna: Person) -> None:
    for typed, stored in (("B01e3c", "#b01e3c"), ("#06a", "#0066aa")):
        save(anna, accent=typed)
        assert brandings.find_branding(anna.workspace_id).accent == stored


def test_a_manager_changes_the_footer_and_no_unsubscribe_page(alice: Caller) -> None:
    mia = visitors.sign_in(alice.workspace_id, Role.MANAGER, name="Mia")
    before = accounts.organisation(mia.workspace_id)

    assert save(mia, name="Acme Ltd", address="2 Street").status_code == 302
    assert mia.get("settings/").status_code == 403

    after = accounts.organisation(mia.workspace_id)
    assert (after.name, after.address) == ("Acme Ltd", "2 Street")
    assert after.unsubscribe_base_url == before.unsubscribe_base_url


def test_a_logo_a_colour_and_the_address_are_in_new_mail(anna: Person) -> None:
    save(anna, logo=file(), accent="#7A1FA2", address="2 Street")
    frame = anna.read("content/branding/letter/")

    branding = brandings.find_branding(anna.workspace_id)
    assert re.fullmatch(rf"{BASE}/[0-9a-f]{{64}}\.png", branding.logo_url)
    for shown in (f'src="{branding.logo_url}"', 'alt="Acme"', "#7a1fa2", "2 Street"):
        assert shown in frame
    assert "#1d4ed8" not in frame


def test_contrast_is_that_of_wcag() -> None:
    assert round(find_contrast("#000000"), 2) == 21
    assert round(find_contrast("#ffffff"), 2) == 1
    assert round(find_contrast("#767676"), 2) == 4.54


def test_an_article_keeps_the_branding_of_its_launch(anna: Person) -> None:
    save(anna, accent="#7a1fa2")
    articles.create(anna.workspace_id, key="may", title="May", actor="test")
    fields = SliceFields(title="News", body_md="[a](https://a.example)", is_published=True)
    articles.add_slice(anna.workspace_id, article_key="may", fields=fields, actor="test")

    taken = snapshot.take_snapshot(anna.workspace_id, ArticleSource("may"), now=NOW)
    save(anna, accent="#005500")
    choice = snapshot.from_json(json.loads(json.dumps(snapshot.to_json(taken.choice))))
    assert isinstance(choice, snapshot.ByPlaces)
    footer = letters.require_footer(accounts.organisation(anna.workspace_id))
    script = snapshot.assemble_letter(anna.workspace_id, choice, [], footer=footer, now=NOW)

    assert "#7a1fa2" in script.html
    assert "#005500" not in script.html


def test_a_stored_choice_without_branding_is_read_as_one_without() -> None:
    choice = snapshot.from_json({"slices": [], "names": []})

    assert choice == snapshot.ByPlaces(())


def test_inline_content_gets_the_branding_of_the_moment(anna: Person) -> None:
    content = InlineSource("Hi", "[a](https://a.example)", Format.MARKDOWN)
    [plain] = snapshot.take_snapshot(anna.workspace_id, content, now=NOW).scripts
    save(anna, accent="#7a1fa2")
    [branded] = snapshot.take_snapshot(anna.workspace_id, content, now=NOW).scripts

    assert plain.html.replace("#1d4ed8", "#7a1fa2") == branded.html


def upload(person: Person, campaign_id: int, *, part: bool = True, **fields: Any) -> Any:
    return person.client.post(
        person.url(f"campaigns/{campaign_id}/edit/picture/"),
        {"kind": "markdown", "description": "A [cat]", **fields},
        headers={"HX-Request": "true"} if part else {},
    )


def test_a_picture_is_inserted_by_the_page_and_served_to_everybody_who_has_its_address(
    anna: Person, alice: Caller
) -> None:
    draft = newsroom.make_campaign(alice)

    answer = upload(anna, draft, picture=file())
    snippet = json.loads(answer.headers["HX-Trigger"])["picture"]["snippet"]
    found = re.fullmatch(rf"!\[A \\\[cat\\\]\]\({BASE}(/[0-9a-f]{{64}}\.png)\)", snippet)
    assert found, snippet
    head = Client().head(f"/pictures{found[1]}")
    served, again = (Client().get(f"/pictures{found[1]}") for _ in range(2))

    assert head.headers["Content-Length"] == served.headers["Content-Length"] == str(len(PNG))
    assert (head.content, head.headers["Content-Type"]) == (b"", "image/png")
    assert [served.getvalue(), again.getvalue()] == [PNG, PNG]  # of files
    assert served.headers["Content-Type"] == "image/png"
    assert served.headers["X-Content-Type-Options"] == "nosniff"
    assert served.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert sha256(PNG).hexdigest() not in found[1]
    assert Client().get(f"/pictures{found[1].replace('.png', '.gif')}").status_code == 404
    assert Client().get(f"/pictures/{'0' * 64}.png").status_code == 404


def test_the_same_picture_keeps_its_address_in_a_workspace_and_has_another_elsewhere(
    anna: Person, alice: Caller, charlie: Caller
) -> None:
    draft = newsroom.make_campaign(alice)
    first, second = (upload(anna, draft, picture=file()).headers["HX-Trigger"] for _ in range(2))
    other = visitors.sign_in(charlie.workspace_id)
    save(other, logo=file())

    assert first == second
    assert Picture.objects.count() == 2
    assert brandings.find_branding(other.workspace_id).logo_url not in first


def test_what_is_no_picture_for_mail_is_refused_in_words(
    anna: Person, alice: Caller, settings: LazySettings
) -> None:
    draft = newsroom.make_campaign(alice)

    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "Choose a file first."),
        ({"picture": file(SVG, "cat.png")}, "it is no PNG, JPEG, GIF or WebP"),
        ({"picture": file(b"<script>", "cat.gif")}, "it is no PNG, JPEG, GIF or WebP"),
        ({"picture": file(PNG.ljust(MOST_BYTES + 1, b"\0"))}, "it has more than 5 MB"),
    ]
    for fields, words in cases:
        answer = upload(anna, draft, **fields)

        assert words in answer.content.decode()
        assert "HX-Trigger" not in answer.headers, words
    settings.PUBLIC_URL = ""
    assert "Set PUBLIC_URL" in upload(anna, draft, picture=file()).content.decode()
    assert not Picture.objects.exists()


def test_pictures_of_this_workspace_alone_are_listed_to_be_used_again(
    anna: Person, alice: Caller, charlie: Caller
) -> None:
    empty = anna.read("content/pictures/")
    upload(anna, newsroom.make_campaign(alice), picture=file())
    [name] = Picture.objects.values_list("name", flat=True)

    page = visitors.sign_in(alice.workspace_id, Role.VIEWER).read("content/pictures/")

    assert "No picture yet" in empty
    assert f'<img class="thumb" src="/pictures/{name}.png" alt="" loading="lazy">' in page
    assert f"![]({BASE}/{name}.png)</pre>" in page
    assert f"&lt;mj-image src=&quot;{BASE}/{name}.png&quot;" in page
    assert name not in visitors.sign_in(charlie.workspace_id).read("content/pictures/")


def test_the_frame_of_a_letter_loads_our_pictures_and_nothing_else(anna: Person) -> None:
    policy = anna.get("content/branding/letter/").headers["Content-Security-Policy"]

    assert f"img-src data: {BASE}/;" in policy
    assert "default-src 'none'" in policy


def test_a_description_is_no_markup_and_no_liquid_in_any_format() -> None:
    text = '"><b>{{ x }}'
    url = f"{BASE}/a.png"

    assert write_picture(Format.MARKDOWN, url, description=text) == rf'!["\>\<b\> x ]({url})'
    for format_ in (Format.HTML, Format.MJML):
        written = write_picture(format_, url, description=text)
        assert 'alt="&quot;&gt;&lt;b&gt; x "' in written
