"""Templates on the dashboard: written, tried, compared, archived, by people alone."""

import re
from html import unescape
from typing import Any

import pytest

from postledger.accounts.people.roles import Role
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
from tests.web.dashboard import visitors
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
    saved = write(anna, text(), {**text("Olá"), "locale": "pt_br"}, required="city")

    assert saved.status_code == 302
    assert saved.headers["Location"].endswith(f"/{welcome}versions/1/")
    version = templates.find_version(anna.workspace_id, key="welcome", number=None)
    assert version.required == ("city",)
    assert version.locales() == ["en", "pt-BR"]
    assert "Welcome</a>" in anna.read("content/templates/")
    shown = anna.read(welcome)
    assert "?locale=pt-BR" in shown
    assert re.search(r'data-label="Required variables">city<', shown)


def test_the_language_of_a_text_is_read_by_its_name_and_the_only_one_is_for_everybody(
    anna: Person, welcome: str
) -> None:
    write(anna, {**text("Olá", "Caro {{ name }}"), "locale": "pt"})
    alone = templates.find_version(anna.workspace_id, key="welcome", number=1)
    texts = [{**text("Hallo"), "locale": "German"}, {**text("Olá"), "locale": "português"}]
    write(anna, *texts, required="city", fallback_locale="deutsch", base="1")

    version = templates.find_version(anna.workspace_id, key="welcome", number=2)
    assert alone.fallback_locale == "pt"
    assert version.locales() == ["de", "pt"]
    assert version.fallback_locale == "de"


def test_a_key_is_made_from_the_name_and_a_taken_or_wrong_one_is_refused(
    anna: Person, welcome: str
) -> None:
    made = anna.post("content/new-template/", name="Spring news", key="")

    assert made.headers["Location"].endswith("/content/templates/spring-news/write/")
    for name, key, words in (
        ("Новости", "", "Write a key"),
        ("Again", "welcome", "A template has this key already"),
        ("Again", "Not A Key", "Use up to 64 lowercase letters"),
    ):
        refused = anna.post("content/new-template/", name=name, key=key)
        assert refused.status_code == 422, key
        assert words in refused.content.decode()
        assert f'value="{name}"' in refused.content.decode()


def test_a_wrong_version_is_refused_beside_its_fields_and_keeps_what_was_typed(
    anna: Person, welcome: str
) -> None:
    wrong = {**text("", "Dear {{ town }}"), "locale": "???"}
    refused = write(anna, wrong, text("x" * 151), {**text(), "preheader": "{% if name %}"})
    page = unescape(refused.content.decode())

    assert refused.status_code == 422
    assert "Dear {{ town }}" in page
    assert "is not the code of a language: write one like en" in page
    assert "The texts use town, city, which were not declared." in page
    assert "shorten it to 150" in page
    assert 'id="id_texts-2-preheader_error">Preheader, line 1: ' in page
    assert 'value="{% if name %}"' in page
    assert templates.list_versions(anna.workspace_id, key="welcome") == []


def test_what_only_the_whole_version_shows_is_refused(anna: Person, welcome: str) -> None:
    lacking = write(anna, text(), required="city", fallback_locale="ru")
    twice = write(anna, text(), text(), required="city")

    assert (lacking.status_code, twice.status_code) == (422, 422)
    assert "it has no text for its fallback locale ru" in lacking.content.decode()
    assert [list(form.errors) for form in twice.context["texts"].forms] == [[], ["locale"]]


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


def test_a_text_is_tried_before_it_is_saved(anna: Person, welcome: str) -> None:
    tried = write(anna, text(), path="try", required="city", **{"try": "0"})
    undeclared = write(anna, text(), path="try", **{"try": "0"})
    faulty = write(anna, text(body="{% if city %}"), path="try", **{"try": "0"})

    assert "Dear [name] of [city]" in tried.content.decode()
    assert tried.headers["Content-Security-Policy"].startswith("sandbox;")
    assert "Dear [name] of [city]" in undeclared.content.decode()
    assert "Dear" not in faulty.content.decode()
    assert faulty.headers["Content-Security-Policy"].startswith("sandbox;")
    assert templates.list_versions(anna.workspace_id, key="welcome") == []


def test_a_text_that_is_deleted_or_none_is_not_tried(anna: Person, welcome: str) -> None:
    deleted = {**text(), "format": "bogus", "DELETE": "on"}

    for number in ("0", "1", "2", "", "-1", "9" * 30):
        more = {"required": "city", "try": number, "texts-1-DELETE": "on"}
        tried = write(anna, deleted, text(), path="try", **more)

        assert tried.status_code < 500, number
        assert "Dear" not in tried.content.decode(), number


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


GREETING = {
    "subject": "Hello {{ city }}",
    "body": "Dear {{ name }}{% for item in items %}, {{ item }}{% endfor %}:"
    " {{ plan | default: 'free' }}",
}


def read_fields(page: str) -> dict[str, str]:
    """What the fields of the variables contain."""
    found = re.findall(r'<input type="text" name="(required|optional)" value="([^"]*)"', page)
    return dict(found)


def test_undeclared_variables_are_filled_in_and_taken_by_the_next_submit(
    anna: Person, welcome: str
) -> None:
    refused = write(anna, GREETING, optional="items")
    page = unescape(refused.content.decode())
    proposed = read_fields(page)

    assert refused.status_code == 422
    assert "The texts use city, plan, which were not declared." in page
    assert proposed == {"required": "city", "optional": "items, plan"}
    assert templates.list_versions(anna.workspace_id, key="welcome") == []
    assert write(anna, GREETING, **proposed).status_code == 302
    version = templates.find_version(anna.workspace_id, key="welcome", number=1)
    assert (version.required, version.optional) == (("city",), ("items", "plan"))


def test_a_button_fills_in_the_variables_and_saves_nothing(anna: Person, welcome: str) -> None:
    filled = write(anna, GREETING, {**text("", "{{ team }}"), "locale": "pt"}, find="1")
    complete = write(anna, GREETING, required="city, items, plan", find="1")
    page = unescape(filled.content.decode())

    assert filled.status_code == complete.status_code == 200
    assert read_fields(page) == {"required": "city, items, team", "optional": "plan"}
    assert "{{ team }}" in page
    assert 'class="error"' not in page
    assert "None is missing." in complete.content.decode()
    assert templates.list_versions(anna.workspace_id, key="welcome") == []


def test_a_required_variable_that_the_texts_do_without_is_told(anna: Person, welcome: str) -> None:
    write(anna, GREETING, required="city, plan", optional="items")
    write(anna, GREETING, required="city", optional="items, plan", base="1")

    assert "plan is required, though the texts do without it" in anna.read(f"{welcome}versions/1/")
    assert "do without" not in anna.read(f"{welcome}versions/2/")


def test_a_default_of_one_text_counts_for_no_other(anna: Person, welcome: str) -> None:
    other = {**text("", "{{ plan }} {{ city | default: 'here' }}"), "locale": "pt"}

    filled = write(anna, {**GREETING, "subject": "Hello"}, other, optional="items", find="1")

    page = unescape(filled.content.decode())
    assert read_fields(page) == {"required": "plan", "optional": "items, city"}


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


def test_a_viewer_sees_templates_and_is_offered_no_change(
    anna: Person, alice: Caller, welcome: str
) -> None:
    write(anna, text("Hello", "Hello"))
    viewer = visitors.sign_in(alice.workspace_id, Role.VIEWER)

    for path in ("content/templates/", welcome, f"{welcome}versions/1/"):
        shown = viewer.read(path)
        for offered in ("New version", "New template", "Archive<"):
            assert offered not in shown, (path, offered)


def changes(old: str, new: str) -> list[tuple[Change, str]]:
    return [(line.change, line.text) for line in compare_lines(old, new)]


def test_lines_far_from_a_change_are_left_out() -> None:
    old = "\n".join(map(str, range(20)))
    new = old.replace("\n10\n", "\nten\n")

    lines = changes(old, new)

    assert lines[0] == (Change.LEFT_OUT, "")
    assert lines[-1] == (Change.LEFT_OUT, "")
    assert (Change.REMOVED, "10") in lines
    assert (Change.ADDED, "ten") in lines
    assert len(lines) == 2 + 6 + 2
    assert changes(old, old) == []


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
