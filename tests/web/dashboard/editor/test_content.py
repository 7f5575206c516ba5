"""The content of a draft: the values of readers in it, and what a reader would get."""

import re
from uuid import UUID

import pytest

from postledger.campaigns.models import Campaign
from postledger.content import templates
from postledger.content.rendering.source import Format, Source, make_script
from postledger.content.versions import Version
from postledger.web.dashboard.editor import merge_tags
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard.editor.draft_forms import PART, autosave, read_text, save
from tests.web.dashboard.visitors import Person


def test_a_value_with_a_default_may_be_empty_also_if_it_got_it_later(
    anna: Person, draft: int
) -> None:
    autosave(anna, draft, subject="Hi {{ city }}")
    autosave(anna, draft, subject="Hi {{ city | default: 'you' }}", variable=["city"])

    content = Campaign.objects.get(pk=draft).content
    assert "city" in content["optional"]


def test_a_value_that_is_printed_only_if_it_is_there_may_be_empty(anna: Person, draft: int) -> None:
    covered = '<b class="mono">city</b> may be empty: the text has a default or a condition'
    text = {"subject": "News", "body": "{% if city %}From {{ city }}{% endif %}"}

    saved = read_text(autosave(anna, draft, **text))
    shown = read_text(anna.get(f"campaigns/{draft}/edit/"))
    optional = Campaign.objects.get(pk=draft).content["optional"]
    save(anna, draft, subject="News", body="{{ city }}", variable=["city"])

    assert optional == ["city"]
    for page in (saved, shown):
        assert covered in page
        assert 'name="may_be_empty" value="city"' not in page
    assert Campaign.objects.get(pk=draft).content["required"] == ["city"]


def test_a_default_of_one_part_fills_no_gap_in_another(
    alice: Caller, anna: Person, draft: int
) -> None:
    newsroom.people(alice, 1, attributes={"city": "Porto"})
    alice.post("/v1/contacts", {"address": "nobody@example.com"})
    subject = "Hi {{ city | default: 'you' }}"
    first = read_text(autosave(anna, draft, subject=subject, body="Hi"))
    ticked = re.findall(r'name="may_be_empty" value="(\w+)" checked', first)
    path = f"campaigns/{draft}/edit/checks/"
    filled = anna.read(path)

    for part in ("body", "preheader", "text"):
        posted = {"subject": subject, "body": "Hi", part: "Hi {{ city }}, News"}
        autosave(anna, draft, **posted, variable=["city"], may_be_empty=ticked)
        assert Campaign.objects.get(pk=draft).content["required"] == ["city"]
        assert "1 recipient has no city" in anna.read(path)

    assert '<b class="mono">city</b> may be empty: the text has a default' in first
    assert "Every variable has a value" in filled


def test_a_tick_moves_no_line_of_the_values_and_a_browser_restores_none(
    anna: Person, draft: int
) -> None:
    body = "{{ plan }} {{ city }} {{ age }}"
    autosave(anna, draft, body=body, subject="News")
    shown = ["age", "city", "plan"]

    autosave(anna, draft, body=body, subject="News", variable=shown, may_be_empty=["age"])
    page = anna.read(f"campaigns/{draft}/edit/")

    assert re.findall(r'name="variable" value="(\w+)"', page) == shown
    assert re.findall(r'name="may_be_empty" value="(\w+)" checked', page) == ["age"]
    assert re.search(r'<form[^>]* id="draft"[^>]* autocomplete="off"', page)


def test_a_text_waits_in_the_draft_while_other_content_is_chosen(
    alice: Caller, anna: Person, draft: int
) -> None:
    path, page_id = f"campaigns/{draft}/edit", "1" * 32
    text = {"subject": "Hi {{ city }}", "body": "# Typed", "text": "Plain", "locale": "de"}
    autosave(anna, draft, **text, kind="html", variable=["city"], may_be_empty=["city"])
    written = Campaign.objects.get(pk=draft).content

    other = {"kind": "page", "page": page_id, **text, "variable": ["city"]}
    save(anna, draft, **other, may_be_empty=["city"])
    waiting = Campaign.objects.get(pk=draft)
    save(anna, draft, **{**other, "locale": "Klingonisch"}, may_be_empty=["city"])
    shown = read_text(anna.get(f"{path}/"))
    copied = anna.post(f"campaigns/{draft}/duplicate/").headers["Location"]
    copy = read_text(anna.client.get(copied))
    emptied = save(anna, draft, kind="page", page=page_id, subject="", body="")

    assert waiting.content == {"kind": "page", "page_id": str(UUID(page_id))}
    assert "Typed" not in str(alice.get(f"/v1/campaigns/{draft}").body)
    assert waiting.kept_text == {**written, "format": "html"}
    for page in (shown, copy):
        assert 'value="page" checked' in page
        assert 'value="Hi {{ city }}"' in page
        assert "# Typed</textarea>" in page
        assert "Plain</textarea>" in page
        assert 'name="locale" value="de"' in page
        assert 'name="may_be_empty" value="city" checked' in page
    assert emptied.status_code == 302
    assert Campaign.objects.get(pk=draft).kept_text is None


def test_a_variable_that_cannot_be_stored_is_left_out(anna: Person, draft: int) -> None:
    save(anna, draft, body="{{ open", variable=["city", "a\0b"])

    assert Campaign.objects.get(pk=draft).content["required"] == ["city"]


def test_the_preview_is_what_a_contact_would_get_in_a_frame_that_runs_nothing(
    alice: Caller, charlie: Caller, anna: Person, draft: int
) -> None:
    alice.post("/v1/contacts", {"address": "mira@example.com", "name": "Mira"})
    charlie.post("/v1/contacts", {"address": "far@example.com", "name": "Far"})
    path = f"campaigns/{draft}/edit"
    save(anna, draft, preheader="<b>Not</b> bold, {{ name }}")

    shown = anna.read(f"{path}/preview/", **{"as": "mira@example.com"})
    text = anna.read(f"{path}/preview/", **{"as": "mira@example.com", "show": "text"})
    strange = anna.read(f"{path}/preview/", **{"as": "far@example.com"})
    alice.post("/v1/contacts", {"address": "miro@example.com", "name": "Miro"})
    by_part = anna.read(f"{path}/preview/", **{"as": "mira"})
    of_several = anna.read(f"{path}/preview/", **{"as": "mir"})
    offered = anna.read(f"{path}/readers/", **{"as": "mir"})
    offered_first = anna.read(f"{path}/readers/")
    frame = anna.get(f"{path}/letter/", **{"as": "mira@example.com"})
    save(anna, draft, field=["domain"], op=["is"], value=["example.com"])
    among = anna.read(f"{path}/preview/", **{"as": "Mira@example.com"})
    save(anna, draft, field=["domain"], op=["is"], value=["example.org"])
    left_out = anna.read(f"{path}/preview/", **{"as": "mira@example.com"})

    assert "News for Mira" in shown
    assert "Preheader: &lt;b&gt;Not&lt;/b&gt; bold, Mira" in shown
    assert "Not among the recipients" not in among
    assert "Not among the recipients of this draft" in left_out
    for page in (shown, by_part):
        assert "To: <b>Mira</b> &lt;mira@example.com&gt;" in page
    assert "Not" not in text.partition("<pre")[2]
    assert "&lt;b&gt;Not&lt;/b&gt; bold, Mira</div>" in frame.content.decode()
    assert 'sandbox=""' in shown
    assert "Hello, Mira." in text
    assert "No contact has the address far@example.com." in strange
    assert "News for Mira" in by_part
    assert "Several contacts have “mir” in their name or address, such as" in of_several
    for listed in (offered, offered_first):
        assert set(re.findall('value="([^"]*)"', listed)) == {
            "mira@example.com",
            "miro@example.com",
        }
    assert frame.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert "<strong" in frame.content.decode()
    assert "Mira" in frame.content.decode()


def test_the_preview_of_a_template_says_which_of_its_languages_it_shows_and_offers_the_others(
    alice: Caller, anna: Person, draft: int
) -> None:
    for language in ("de", "fr"):
        alice.post("/v1/contacts", {"address": f"{language}@example.com", "locale": language})
    path = f"campaigns/{draft}/edit"
    german, english = (
        Source(f"Hello in {language}", f"Text in {language}.", Format.MARKDOWN, locale=language)
        for language in ("de", "en")
    )
    templates.create(anna.workspace_id, key="june", name="June", actor="alice")

    def publish(fallback: str) -> None:
        version = Version((), (), fallback, (german, english))
        templates.add_version(anna.workspace_id, key="june", version=version, actor="alice")

    def show(reader: str, **asked: str) -> str:
        return read_text(anna.get(f"{path}/preview/", **{"as": reader}, **asked))

    publish("")
    save(anna, draft, kind="template", template="june")
    anybody, own = show(""), show("de@example.com")
    unserved, asked = show("fr@example.com"), show("fr@example.com", language="en")
    frame = read_text(anna.get(f"{path}/letter/", **{"as": "fr@example.com", "language": "en"}))
    part = read_text(anna.client.get(anna.url(f"{path}/preview/"), headers=PART))
    publish("en")
    with_fallback = show("fr@example.com")

    assert "Shown in German, the first of its languages. Show it in: <a" in anybody
    assert "<b>Hello in de</b>" in anybody
    assert "Shown in German, the language of this reader." in own
    assert "no text for the locale 'fr'" in unserved
    assert "Shown in" not in unserved
    assert re.findall(r"&language=(\w+)\">", unserved) == ["de", "en"]
    assert "Shown in English. Show it in: <a" in asked
    assert "&language=en" in asked.partition("<iframe")[2]
    assert "Text in en." in frame
    assert 'hx-target="#preview">English</a>' in part
    assert "Shown in English, for everybody whose language has no text." in with_fallback


@pytest.mark.parametrize(
    "tag",
    ["*|FNAME|*", "%%VORNAME%%", "[VORNAME]", "%recipient.name%", "{{{ contact.NAME }}}"],
)
@pytest.mark.parametrize("field", ["subject", "body"])
def test_a_tag_of_another_tool_is_named_with_what_to_write(
    anna: Person, draft: int, field: str, tag: str
) -> None:
    save(anna, draft, **{"subject": "News", "body": "Hello", field: f"Hello {tag}, read this"})

    page = read_text(anna.get(f"campaigns/{draft}/edit/checks/"))

    assert f"{tag} would be sent as it stands" in page
    assert 'Write it as {{ first_name | default: "there" }}' in page


def test_a_tag_of_what_the_footer_has_is_to_be_deleted(anna: Person, draft: int) -> None:
    tags = "*|UNSUB|*, *|LIST:ADDRESS|*, *|ARCHIVE|*, [UNSUBSCRIBE]"
    save(anna, draft, subject="News", body=f"Hello *|FNAME|*, read {tags}")

    page = read_text(anna.get(f"campaigns/{draft}/edit/checks/"))

    assert "*|FNAME|* would be sent as it stands" in page
    assert f"{tags} would be sent as it stands" in page
    assert "Delete it: the footer has the link to unsubscribe and your postal address." in page


def test_html_in_markdown_is_warned_of(anna: Person, draft: int) -> None:
    button = {"body": '<a class="button" href="{{ url }}">Reservar</a>'}
    save(anna, draft, **button)
    as_markdown = read_text(anna.get(f"campaigns/{draft}/edit/checks/"))
    save(anna, draft, **button, kind="html")
    as_html = anna.read(f"campaigns/{draft}/edit/checks/")

    assert "HTML tags in the text, as <a …>, would be read as text" in as_markdown
    assert "Write a link as [Book now](https://…), or choose HTML" in as_markdown
    assert "HTML tags in the text" not in as_html


def test_a_picture_without_a_description_is_warned_of(anna: Person, draft: int) -> None:
    save(anna, draft, subject="News", body="![](https://a.example/a.png)")
    without = anna.read(f"campaigns/{draft}/edit/checks/")
    save(anna, draft, subject="News", body="![A cat](https://a.example/a.png)")
    described = anna.read(f"campaigns/{draft}/edit/checks/")

    assert "A picture has no description" in without
    assert "A picture has no description" not in described


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Hello<BR/>Anna", "<BR"),
        ("<div>\n\nHello\n\n</div>", "<div"),
        ("<https://a.example> <a@b.example> a < b <3 <Anna>", ""),
        ("`<br>` {{ x | default: '<b>' }}\n\n```\n<a href>\n```", ""),
    ],
)
def test_addresses_and_examples_are_no_html_that_readers_see(written: str, shown: str) -> None:
    script = make_script(Source("News", written, Format.MARKDOWN), optional=("x",))

    assert merge_tags.find_html_shown(script.html) == shown


def test_links_values_and_percentages_are_no_tags_of_other_tools(anna: Person, draft: int) -> None:
    body = (
        "[AGB](https://a.example/100%20a.b%20c) [AGB][1] [AGB] 50% off, 100%% [x] [X] [the NAME]"
        " {{ city }} {% if plan == '[PRO]' %}*|*{% endif %}\n\n"
        "[AGB]: https://a.example/\n[1]: https://a.example/"
    )
    save(anna, draft, subject="News for {{ name }}: 20%", body=body)

    assert "as it stands" not in anna.read(f"campaigns/{draft}/edit/checks/")


def test_a_link_without_an_address_is_warned_of(anna: Person, draft: int) -> None:
    save(anna, draft, subject="News", body="[Leer]() and [more](https://a.example/)")

    page = anna.read(f"campaigns/{draft}/edit/checks/")

    assert "A link leads nowhere. Write the address of its page." in page
    assert "Links and pictures are written as mail programs need them" not in page


@pytest.mark.parametrize(
    ("typed", "locale"), [("German", "de"), ("deutsch", "de"), ("pt_br", "pt-BR"), ("", "en")]
)
def test_the_language_of_a_text_is_read_by_its_code_or_name(
    anna: Person, draft: int, typed: str, locale: str
) -> None:
    saved = save(anna, draft, subject="News", body="Hallo", locale=typed)
    unknown = save(anna, draft, subject="News", body="Hallo", locale="Klingonisch")

    assert saved.status_code == 302
    assert Campaign.objects.get(pk=draft).content["locale"] == locale
    assert unknown.status_code == 422
    assert "is not the code of a language: write one like en" in read_text(unknown)
