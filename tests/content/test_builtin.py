"""The templates that come with the product hold their contract in every language."""

import re
from collections.abc import Mapping

import pytest

from postledger.content import versions
from postledger.content.locales import MissingLocaleError
from postledger.content.rendering.compiled_template import CompiledTemplate, MissingVariableError
from postledger.content.rendering.letter import Letter
from postledger.content.rendering.source import Format, Source, make_script

LOCALES = ("en", "pt", "ru")
REQUIRED = {
    "courseTitle": "Data Structures",
    "courseString": "01:198:112",
    "sectionIndex": "09214",
    "sectionNumber": "05",
    "meetingSummary": "Mon 10:20, Hill 114",
    "manageUrl": "https://courses.example/manage/7",
}
OPTIONAL = {
    "campus": "Busch",
    "eventDetectedAt": "2026-11-15T12:30:00Z",
    "unsubscribeUrl": "https://courses.example/stop/7",
    "notes": "Permission of the department is needed.",
}


def open_seat(locale: str) -> Source:
    return versions.builtin_templates()["open-seat"].versions[0].text(locale)


def write_mail(locale: str, values: Mapping[str, str | None]) -> tuple[str, str]:
    """The HTML and the text of the mail that somebody gets."""
    version = versions.builtin_templates()["open-seat"].versions[0]
    script = make_script(version.text(locale), required=version.required, optional=version.optional)
    letter = Letter(script)
    return letter.join(letter.fill(values))


def test_open_seat_declares_the_variables_of_the_notification_contract() -> None:
    template = versions.builtin_templates()["open-seat"]
    version = template.versions[0]

    assert template.name == "Open seat"
    assert version.required == tuple(REQUIRED)
    assert version.optional == tuple(OPTIONAL)
    assert version.locales() == ["en", "pt", "ru"]
    for locale in LOCALES:
        source = open_seat(locale)
        parts = (source.subject, source.body)
        used = [CompiledTemplate(part, is_html=False).names for part in parts]

        assert source.format is Format.MARKDOWN, locale
        assert used[0] | used[1] == {*REQUIRED, *OPTIONAL}, locale


def test_a_language_open_seat_does_not_speak_is_missing() -> None:
    with pytest.raises(MissingLocaleError, match="'de'; it has en, pt, ru"):
        open_seat("de")


@pytest.mark.slow
def test_what_is_not_given_is_not_spoken_of() -> None:
    nothings: list[dict[str, str | None]] = [
        {},
        dict.fromkeys(OPTIONAL, ""),
        dict.fromkeys(OPTIONAL),
    ]
    for locale in LOCALES:
        for nothing in nothings:
            html, text = write_mail(locale, {**REQUIRED, **nothing})

            assert html.count("<a ") == 1, locale
            assert "<p></p>" not in re.sub(" style=[^>]*", "", html), locale
            assert text.rstrip().endswith("(https://courses.example/manage/7)"), locale
            assert "()" not in text, locale


@pytest.mark.slow
def test_without_a_required_variable_nothing_is_written() -> None:
    for locale in LOCALES:
        for name in REQUIRED:
            others = {other: value for other, value in REQUIRED.items() if other != name}
            with pytest.raises(MissingVariableError, match=name):
                write_mail(locale, others)
