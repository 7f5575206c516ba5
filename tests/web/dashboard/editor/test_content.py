"""The content of a draft: the values of readers in it, and what a reader would get."""

import re
from uuid import UUID

from postledger.campaigns.models import Campaign
from postledger.content import templates
from postledger.content.rendering.source import Format, Source
from postledger.content.versions import Version
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard.editor.draft_forms import autosave, read_text, save
from tests.web.dashboard.visitors import Person


def test_a_value_with_a_default_or_that_is_printed_only_if_it_is_there_may_be_empty(
    anna: Person, draft: int
) -> None:
    autosave(anna, draft, subject="Hi {{ city }}")
    autosave(anna, draft, subject="Hi {{ city | default: 'you' }}", variable=["city"])

    assert Campaign.objects.get(pk=draft).content["optional"] == ["city"]
    autosave(anna, draft, subject="Hi", body="{% if plan %}{{ plan }}{% endif %}")
    assert Campaign.objects.get(pk=draft).content["optional"] == ["plan"]


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
    save(anna, draft, kind="page", page=page_id, subject="", body="")

    assert waiting.content == {"kind": "page", "page_id": str(UUID(page_id))}
    assert "Typed" not in str(alice.get(f"/v1/campaigns/{draft}").body)
    assert waiting.kept_text == {**written, "format": "html"}
    for kept in (
        'value="page" checked',
        'value="Hi {{ city }}"',
        "# Typed</textarea>",
        "Plain</textarea>",
        'name="locale" value="de"',
        'name="may_be_empty" value="city" checked',
    ):
        assert kept in shown
        assert kept in copy
    assert Campaign.objects.get(pk=draft).kept_text is None


def test_a_variable_that_cannot_be_stored_is_left_out(anna: Person, draft: int) -> None:
    save(anna, draft, body="{{ open", variable=["city", "a\0b"])

    assert Campaign.objects.get(pk=draft).content["required"] == ["city"]


def test_the_preview_is_what_a_contact_would_get_in_a_frame_that_runs_nothing(
    alice: Caller, charlie: Caller, anna: Person, draft: int
) -> None:
    alice.post("/v1/contacts", {"address": "mira@example.com", "name": "Mira"})
    charlie.post("/v1/contacts", {"address": "far@example.com", "name": "Far"})
    path, mira = f"campaigns/{draft}/edit", "mira@example.com"

    def preview(reader: str, **asked: str) -> str:
        return anna.read(f"{path}/preview/", **{"as": reader}, **asked)

    save(anna, draft, preheader="<b>Not</b> bold, {{ name }}")
    pages = preview(mira), preview("mira")
    text = preview(mira, show="text")
    frame = anna.get(f"{path}/letter/", **{"as": mira})
    alice.post("/v1/contacts", {"address": "miro@example.com", "name": "Miro"})

    for page in pages:
        assert "News for Mira" in page
        assert "To: <b>Mira</b> &lt;mira@example.com&gt;" in page
        assert "Preheader: &lt;b&gt;Not&lt;/b&gt; bold, Mira" in page
        assert 'sandbox=""' in page
    assert "Hello, Mira." in text
    assert "Not" not in text.partition("<pre")[2]
    assert "&lt;b&gt;Not&lt;/b&gt; bold, Mira</div>" in frame.content.decode()
    assert frame.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert "No contact has the address far@example.com." in preview("far@example.com")
    assert "Several contacts have “mir” in their name or address" in preview("mir")
    for asked in ({"as": "mir"}, {}):
        offered = re.findall('value="([^"]*)"', anna.read(f"{path}/readers/", **asked))
        assert set(offered) == {mira, "miro@example.com"}
    for domain, is_left_out in (("example.com", False), ("example.org", True)):
        save(anna, draft, field=["domain"], op=["is"], value=[domain])
        assert ("Not among the recipients of this draft" in preview(mira)) is is_left_out


def test_the_preview_of_a_template_is_in_the_language_of_its_reader_or_in_one_that_was_asked_for(
    alice: Caller, anna: Person, draft: int
) -> None:
    for language in ("de", "fr"):
        alice.post("/v1/contacts", {"address": f"{language}@example.com", "locale": language})
    texts = tuple(
        Source(f"Hello in {language}", f"Text in {language}.", Format.MARKDOWN, locale=language)
        for language in ("en", "de")
    )
    templates.create(anna.workspace_id, key="june", name="June", actor="alice")
    version = Version((), (), "", texts)
    templates.add_version(anna.workspace_id, key="june", version=version, actor="alice")
    save(anna, draft, kind="template", template="june")

    def show(part: str, reader: str, **asked: str) -> str:
        return read_text(anna.get(f"campaigns/{draft}/edit/{part}/", **{"as": reader}, **asked))

    assert "<b>Hello in de</b>" in show("preview", "de@example.com")
    assert "no text for the locale 'fr'" in show("preview", "fr@example.com")
    assert "Text in en." in show("letter", "fr@example.com", language="en")


def test_a_tag_of_another_tool_is_named_with_what_to_write(anna: Person, draft: int) -> None:
    checks = f"campaigns/{draft}/edit/checks/"
    footer = "*|UNSUB|*, *|LIST:ADDRESS|*, *|ARCHIVE|*, [UNSUBSCRIBE]"
    written = 'Write it as {{ first_name | default: "there" }}'
    deleted = "Delete it: the footer has the link to unsubscribe and your postal address."

    for field, tag, remedy in (
        ("subject", "*|FNAME|*", written),
        ("body", "%%VORNAME%%", written),
        ("subject", "[VORNAME]", written),
        ("body", "%recipient.name%", written),
        ("body", "{{{ contact.NAME }}}", written),
        ("body", footer, deleted),
    ):
        save(anna, draft, **{"subject": "News", "body": "Hello", field: f"Hello {tag}, read this"})
        page = read_text(anna.get(checks))
        assert f"{tag} would be sent as it stands" in page
        assert remedy in page, tag


def test_links_values_and_percentages_are_no_tags_of_other_tools(anna: Person, draft: int) -> None:
    body = (
        "[AGB](https://a.example/100%20a.b%20c) [AGB][1] [AGB] 50% off, 100%% [x] [X] [the NAME]"
        " {{ city }} {% if plan == '[PRO]' %}*|*{% endif %}\n\n"
        "[AGB]: https://a.example/\n[1]: https://a.example/"
    )
    save(anna, draft, subject="News for {{ name }}: 20%", body=body)

    assert "as it stands" not in anna.read(f"campaigns/{draft}/edit/checks/")


def test_the_language_of_a_text_is_read_by_its_code_or_name(anna: Person, draft: int) -> None:
    for typed, locale in (("German", "de"), ("deutsch", "de"), ("pt_br", "pt-BR"), ("", "en")):
        save(anna, draft, subject="News", body="Hallo", locale=typed)
        unknown = save(anna, draft, subject="News", body="Hallo", locale="Klingonisch")

        assert Campaign.objects.get(pk=draft).content["locale"] == locale
        assert unknown.status_code == 422
