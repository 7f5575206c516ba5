"""Templates on the dashboard: written, tried, compared, archived, by people alone."""

import re
from html import unescape
from typing import Any

import pytest

from postledger.content import templates
from postledger.content.rendering.source import Format, Source
from postledger.content.versions import Version
from postledger.web.dashboard.content.version_diff import (
    MOST_SHOWN,
    Change,
    compare_lines,
    compare_versions,
)
from tests import cast
from tests.web.callers import Caller
from tests.web.dashboard.visitors import Person

EVIL = "<script>alert(1)</script>"


def write(person: Person, *texts: dict[str, str], path: str = "write", **more: str) -> Any:
    """Sends the form as a browser does."""
    fields = {"required": "", "optional": "", "fallback_locale": "", **more}
    fields |= {"texts-TOTAL_FORMS": str(len(texts)), "texts-INITIAL_FORMS": "0"}
    for number, text in enumerate(texts):
        whole = {"locale": "en", "format": "markdown", "text": "", **text}
        fields |= {f"texts-{number}-{name}": value for name, value in whole.items()}
    return person.post(f"content/templates/welcome/{path}/", **fields)


@pytest.fixture
def welcome(anna: Person) -> str:
    created = anna.post("content/new-template/", name="Welcome", key="welcome")
    assert created.headers["Location"].endswith("/content/templates/welcome/write/")
    return "content/templates/welcome/"


def text(subject: str = "Hello {{ city }}", body: str = "Dear {{ name }} of {{ city }}") -> Any:
    return {"subject": subject, "body": body}


def test_a_template_is_created_written_and_listed(anna: Person, welcome: str) -> None:
    saved = write(anna, text(), {**text("Olá"), "locale": "português"}, required="city")

    assert saved.status_code == 302
    assert saved.headers["Location"].endswith(f"/{welcome}versions/1/")
    version = templates.find_version(anna.workspace_id, key="welcome", number=None)
    assert version.required == ("city",)
    assert version.locales() == ["en", "pt"]
    assert "Welcome</a>" in anna.read("content/templates/")
    shown = anna.read(welcome)
    assert "?locale=pt" in shown
    assert re.search(r'data-label="Required variables">city<', shown)
    write(anna, {**text("Olá", "Caro {{ name }}"), "locale": "pt"}, base="1")
    alone = templates.find_version(anna.workspace_id, key="welcome", number=2)
    assert alone.fallback_locale == "pt", "the only one is for everybody"


def test_a_wrong_version_is_refused_beside_its_fields_and_keeps_what_was_typed(
    anna: Person, welcome: str
) -> None:
    wrong = {**text("", "Dear {{ town }}"), "locale": "???"}
    refused = write(anna, wrong, text("x" * 151), {**text(), "preheader": "{% if name %}"})
    page = unescape(refused.content.decode())
    lacking = write(anna, text(), required="city", fallback_locale="ru")
    twice = write(anna, text(), text(), required="city")

    assert [answer.status_code for answer in (refused, lacking, twice)] == [422] * 3
    for told in (
        "Dear {{ town }}",
        "is not the code of a language: write one like en",
        "The texts use town, city, which were not declared.",
        "shorten it to 150",
        'id="id_texts-2-preheader_error">Preheader, line 1: ',
        'value="{% if name %}"',
    ):
        assert told in page
    assert "it has no text for its fallback locale ru" in lacking.content.decode()
    assert [list(form.errors) for form in twice.context["texts"].forms] == [[], ["locale"]]
    assert templates.list_versions(anna.workspace_id, key="welcome") == []


def test_a_language_is_added_without_losing_the_others_and_left_out_again(
    anna: Person, welcome: str
) -> None:
    added = write(anna, text(), required="city", add="1")
    page = added.content.decode()

    assert added.status_code == 200
    assert 'name="texts-1-body"' in page
    assert 'value="2" id="id_texts-TOTAL_FORMS"' in page
    assert "Dear {{ name }} of {{ city }}" in unescape(page)

    left_out = {**text(), "locale": "pt", "DELETE": "on"}
    assert write(anna, text(), left_out, required="city").status_code == 302
    assert templates.find_version(anna.workspace_id, key="welcome", number=1).locales() == ["en"]


def test_a_built_in_template_is_shown_below_the_own_ones_and_neither_changed_nor_offered(
    anna: Person, welcome: str
) -> None:
    write(anna, text(), required="city")
    own, _head, built_in = anna.read("content/templates/").partition('id="h-builtin"')
    cast.sender("acme")
    created = anna.post("campaigns/new/", name="News")
    editor = anna.client.get(created.headers["Location"]).content.decode()

    assert "Welcome</a>" in own
    assert "Open seat</a>" not in own
    assert "Open seat</a>" in built_in
    assert "<iframe" in anna.read("content/templates/open-seat/versions/1/")
    assert anna.get("content/templates/open-seat/write/").status_code == 404
    assert '<option value="welcome">' in editor
    assert "open-seat" not in editor


def test_a_text_is_tried_before_it_is_saved_unless_it_is_deleted_or_none(
    anna: Person, welcome: str
) -> None:
    tried = write(anna, text(), path="try", required="city", **{"try": "0"})
    undeclared = write(anna, text(), path="try", **{"try": "0"})
    faulty = write(anna, text(body="{% if city %}"), path="try", **{"try": "0"})

    for answer in (tried, undeclared):
        assert "Dear [name] of [city]" in answer.content.decode()
    for answer in (tried, faulty):
        assert answer.headers["Content-Security-Policy"].startswith("sandbox;")
    assert "Dear" not in faulty.content.decode()
    deleted = {**text(), "format": "bogus", "DELETE": "on"}
    for number in ("0", "1", "2", "", "-1", "9" * 30):
        more = {"required": "city", "try": number, "texts-1-DELETE": "on"}
        answer = write(anna, deleted, text(), path="try", **more)
        assert answer.status_code < 500, number
        assert "Dear" not in answer.content.decode(), number
    assert templates.list_versions(anna.workspace_id, key="welcome") == []


def test_a_text_of_which_a_part_did_not_arrive_is_refused(anna: Person, welcome: str) -> None:
    answers = [
        anna.post(f"{welcome}{path}/", **{**fields, "texts-INITIAL_FORMS": "0", "try": "0"})
        for path in ("write", "try")
        for fields in (
            {"texts-TOTAL_FORMS": "3", "texts-0-format": "markdown", "texts-0-locale": "en"},
            {"texts-TOTAL_FORMS": "1"},
        )
    ]

    assert [answer.status_code for answer in answers[:2]] == [422, 422]
    assert all(answer.status_code < 500 for answer in answers)
    assert "This field is required." in answers[0].content.decode()
    assert templates.list_versions(anna.workspace_id, key="welcome") == []


def test_a_version_is_rendered_with_samples_or_as_a_contact(
    anna: Person, alice: Caller, welcome: str
) -> None:
    loop = text(body="{% for item in items %}[{{ item }}]{% endfor %} in {{ city }}")
    assert write(anna, loop, required="city", optional="items").status_code == 302
    alice.post("/v1/contacts", {"address": "c@example.com", "attributes": {"city": "Faro"}})
    alice.post("/v1/contacts", {"address": "nowhere@example.com"})
    url, lacking = f"{welcome}versions/1/", {"as": "nowhere@example.com"}

    typed = anna.read(url, show="text", **{"value.items": '["a", "b"]', "value.city": EVIL})
    frame = anna.read(f"{url}letter/", **{"value.city": EVIL})

    assert "in [city]" in anna.read(url, show="text")
    assert "[a][b] in &lt;script&gt;" in typed
    assert "in Faro" in anna.read(url, show="text", **{"as": "C@example.com"})
    assert "No contact has the address x@example.com" in anna.read(url, **{"as": "x@example.com"})
    assert EVIL not in frame + typed
    assert "<iframe" not in anna.read(url, **lacking)
    assert anna.get(f"{url}letter/", **lacking).status_code == 404


def test_the_page_of_two_versions_shows_what_changed_with_signs(anna: Person, welcome: str) -> None:
    write(anna, text("Old", f"same\n{EVIL}"))
    write(
        anna,
        text("New {{ city }}", "same\nnew"),
        {**text("Oi", "Oi"), "locale": "pt"},
        required="city",
    )

    shown = anna.read(f"{welcome}compare/")

    assert '<del><span class="sign">−</span>&lt;script&gt;' in shown  # noqa: RUF001  a minus sign
    assert '<ins><span class="sign">+</span>New {{ city }}</ins>' in shown
    assert "New language" in shown
    assert anna.read(f"{welcome}compare/", **{"from": "2", "to": "2"}).count("<ins>") == 0
    assert anna.get(f"{welcome}compare/", to="9").status_code == 404


def test_an_archived_template_is_not_written_until_it_is_restored(
    anna: Person, welcome: str
) -> None:
    write(anna, text("Hello", "Hello"))

    anna.post(f"{welcome}archive/")
    assert "Archived" in anna.read(welcome)
    assert anna.get(f"{welcome}write/").status_code == 404
    anna.post(f"{welcome}restore/")
    assert anna.get(f"{welcome}write/").status_code == 200


def test_a_long_change_is_shown_and_an_endless_one_is_cut() -> None:
    long, other = ("\n".join(f"{word} {n}" for n in range(950)) for word in ("old", "new"))
    endless = "\n" * 200_000

    lines = compare_lines(f"head\n{long}\ntail", f"head\n{other}\ntail")
    cut = compare_lines("", endless)

    assert sum(line.change is Change.REMOVED for line in lines) == 950
    assert sum(line.change is Change.ADDED for line in lines) == 950
    assert (lines[0].text, lines[-1].text) == ("head", "tail")
    assert len(cut) == MOST_SHOWN + 1
    assert cut[-1].change is Change.LEFT_OUT


def test_all_parts_of_a_diff_together_stay_short() -> None:
    def make_version(number: int, word: str) -> Version:
        body = f"{word}\n" * 9_000
        texts = [Source("Hi", body, Format.HTML, "", locale) for locale in ("de", "en", "fr")]
        return Version((), (), "", tuple(texts), number)

    diff = compare_versions(make_version(1, "a"), make_version(2, "b"))

    lengths = [len(part.lines) for text in diff.texts for part in text.parts]
    assert lengths == [MOST_SHOWN + 1, 1, 1]


def test_versions_differ_by_variables_fallback_and_locales() -> None:
    english = Source("Hi", "Hi", Format.MARKDOWN)
    old = Version(("city",), (), "", (english,), 1)
    new = Version((), ("city",), "en", (english, Source("Oi", "Oi", Format.HTML, "", "pt")), 2)

    diff = compare_versions(old, new)

    assert [part.name for part in diff.declarations] == ["required", "optional", "fallback_locale"]
    assert [(one.locale, one.change, len(one.parts)) for one in diff.texts] == [
        ("en", None, 0),
        ("pt", Change.ADDED, 3),
    ]
    assert compare_versions(old, old).is_empty
