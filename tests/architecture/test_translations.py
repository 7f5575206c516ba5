"""No translation loses what its sentence has; what is missing is filled in before a release."""

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from django.conf import settings

from tools import translations

WEB = Path(__file__).parents[2] / "src" / "postledger" / "web"
# Its reader writes programs, and reads English.
ENGLISH = WEB / "api" / "docs"
NAMES = {"Postledger"}


@pytest.fixture(scope="module")
def messages() -> Catalog:
    return translations.extract_messages()


def test_the_translated_languages_are_those_on_offer() -> None:
    assert {"en", *translations.MEMBER_LANGUAGES} == {code for code, _ in settings.LANGUAGES}
    assert {"en", *translations.READER_LANGUAGES} == {code for code, _ in settings.READER_LANGUAGES}


def test_a_language_of_readers_has_to_have_what_readers_see_and_has_nothing_else() -> None:
    code, page = Catalog(), "src/postledger/web/dashboard/pages/overview.py"
    code.add("For members", locations=[(page, 1)])
    code.add("For both", locations=[(page, 2), ("src/postledger/web/public/pages.py", 3)])

    missing = {
        language: {message.id for message in translations.list_missing(merged)}
        for language in ("de", "pt")
        for merged in [translations.merge(language, code, Catalog())]
    }

    assert missing == {"de": {"For both"}, "pt": {"For members", "For both"}}


def test_pages_of_readers_say_no_sentence_of_a_lower_package() -> None:
    """A language of readers would lack it."""
    modules = (WEB / "public").rglob("*.py")
    assert [path.name for path in modules if "sentences" in path.read_text("utf-8")] == []


def test_no_translation_loses_a_place_or_a_tag_of_its_sentence(messages: Catalog) -> None:
    for language in translations.READER_LANGUAGES:
        assert translations.examine(language, messages).faults == [], language


def catalogue(
    po: str, *, language: str = "ru", ids: tuple[str | tuple[str, str], ...] = ()
) -> Catalog:
    """What a .po file says of sentences in the code; of its own, where none are given."""
    parsed = translations.parse_catalogue(language, po.encode())
    code = Catalog()
    for message in ids or [message.id for message in parsed if message.id]:
        code.add(message, locations=[("page.py", 7)])
    return translations.merge(language, code, parsed)


def test_a_sentence_without_all_its_forms_or_in_question_is_missing() -> None:
    for po in (
        'msgid "Save"\nmsgstr ""\n',
        '#, fuzzy\nmsgid "Save"\nmsgstr "Сохранить"\n',
        'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "один"\nmsgstr[1] "два"\nmsgstr[2] ""\n',
        'msgid "%(n)s mail"\nmsgid_plural "%(n)s mails"\nmsgstr[0] "%(n)s письмо"\n',
    ):
        assert len(translations.list_missing(catalogue(po))) == 1, po


def test_a_translation_that_would_lose_something_is_wrong_in_any_plural_form() -> None:
    for sentence, translated in (
        ("%(n)s mails to %(who)s", "%(n)s писем"),
        ("%(n)s mails", "%(count)s писем"),
        ("{n} mails", "писем"),
        ("%(n)s %% of them", "%(n)s % из них"),
        ("a <b>bold</b> word", "слово"),
        (" since then", "после этого"),
    ):
        found = translations.list_faults(catalogue(f'msgid "{sentence}"\nmsgstr "{translated}"\n'))
        assert [translated in fault for fault in found] == [True], sentence

    plural = (
        'msgid "one mail"\nmsgid_plural "%(n)s mails"\n'
        'msgstr[0] "%(n)s письмо"\nmsgstr[1] "%(n)s письма"\nmsgstr[2] "писем"\n'
    )
    assert len(translations.list_faults(catalogue(plural))) == 1


def test_an_update_keeps_translations_adds_what_is_new_and_drops_what_nobody_says() -> None:
    old = '# of a button\nmsgid "Save"\nmsgstr "Сохранить"\n\nmsgid "Gone"\nmsgstr "Нет"\n'

    merged = catalogue(old, ids=("Save", "New"))
    po = translations.format_po(merged).decode()

    assert '# of a button\n#: page.py\nmsgid "Save"\nmsgstr "Сохранить"' in po
    assert 'msgid "New"\nmsgstr ""' in po
    assert "Gone" not in po
    assert po.index("New") < po.index("Save")


def templates() -> list[Path]:
    return [path for path in WEB.rglob("templates/**/*.html") if ENGLISH not in path.parents]


def find_bare_words(template: str) -> list[str]:
    """Words that a reader sees and no tag translates."""
    for marked in (
        r"{#.*?#}",
        r"{% comment .*?{% endcomment %}",
        r"{% blocktrans(?:late)?\b.*?{% endblocktrans(?:late)? %}",
        r"{%.*?%}|{{.*?}}",
        r"<(code|kbd|pre|script|style)\b.*?</\1>",
    ):
        template = re.sub(marked, "", template, flags=re.DOTALL)
    shown = [
        *re.findall(r'\s(?:alt|aria-label|placeholder|title)="([^"]*)"', template),
        *re.split(r"<[^>]*>", template),
    ]
    words = (
        word for text in shown for word in re.findall(r"[^\W\d_]{2,}", _without_entities(text))
    )
    return [word for word in words if word not in NAMES]


def _without_entities(text: str) -> str:
    return re.sub(r"&\w+;", "", text)


def test_no_word_of_a_page_escapes_translation() -> None:
    bare = {str(path): find_bare_words(path.read_text("utf-8")) for path in templates()}

    assert {name: words for name, words in bare.items() if words} == {}


def test_a_bare_word_is_found() -> None:
    for template, words in (
        ("<p>Save</p>", ["Save"]),
        ('<a title="More of it">{% translate "More" %}</a>', ["More", "of", "it"]),
        ("{% blocktranslate %}Save {{ it }}{% endblocktranslate %}", []),
        ('<b class="note">{{ it }}</b> &nbsp;· Postledger <code>why</code>', []),
    ):
        assert find_bare_words(template) == words, template
