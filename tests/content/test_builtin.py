"""The templates that come with the product hold their contract in every language."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from postledger.content import versions
from postledger.content.locales import MissingLocaleError
from postledger.content.rendering.compiled_template import CompiledTemplate, MissingVariableError
from postledger.content.rendering.letter import Letter
from postledger.content.rendering.source import Format, Source, make_script

FILES = Path(versions.__file__).parent / "builtin"
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

each_locale = pytest.mark.parametrize("locale", ["en", "pt", "ru"])


def open_seat(locale: str) -> Source:
    return versions.builtin_templates()["open-seat"].versions[0].text(locale)


def write_mail(locale: str, values: Mapping[str, str | None]) -> tuple[str, str, str]:
    """The subject, the HTML and the text of the mail that somebody gets."""
    version = versions.builtin_templates()["open-seat"].versions[0]
    script = make_script(version.text(locale), required=version.required, optional=version.optional)
    letter = Letter(script)
    filled = letter.fill(values)
    return filled.subject, *letter.join(filled)


def test_open_seat_declares_the_variables_of_the_notification_contract() -> None:
    template = versions.builtin_templates()["open-seat"]
    version = template.versions[0]

    assert template.name == "Open seat"
    assert version.required == tuple(REQUIRED)
    assert version.optional == tuple(OPTIONAL)
    assert version.locales() == ["en", "pt", "ru"]


def test_a_language_open_seat_does_not_speak_is_missing() -> None:
    with pytest.raises(MissingLocaleError, match="'de'; it has en, pt, ru"):
        open_seat("de")


@each_locale
def test_every_declared_variable_is_used_and_no_other(locale: str) -> None:
    source = open_seat(locale)

    used = (
        CompiledTemplate(source.subject, is_html=False).names
        | CompiledTemplate(source.body, is_html=False).names
    )

    assert source.format is Format.MARKDOWN
    assert used == {*REQUIRED, *OPTIONAL}


@each_locale
def test_the_subject_says_which_course_and_which_section(locale: str) -> None:
    subject, _, _ = write_mail(locale, REQUIRED)

    assert "01:198:112" in subject
    assert "05" in subject
    assert len(subject) < 100


@each_locale
def test_the_mail_says_everything_and_leads_to_the_page(locale: str) -> None:
    values = REQUIRED | OPTIONAL

    _, html, text = write_mail(locale, values)

    values["eventDetectedAt"] = "12:30 UTC"
    assert [name for name, value in values.items() if value not in html] == []
    assert [name for name, value in values.items() if value not in text] == []
    assert html.count('<a href="https://courses.example/manage/7"') == 1
    assert html.count('<a href="https://courses.example/stop/7"') == 1


@pytest.mark.slow
@each_locale
@pytest.mark.parametrize("nothing", [{}, dict.fromkeys(OPTIONAL, ""), dict.fromkeys(OPTIONAL)])
def test_what_is_not_given_is_not_spoken_of(locale: str, nothing: Mapping[str, str | None]) -> None:
    _, html, text = write_mail(locale, {**REQUIRED, **nothing})

    assert html.count("<a ") == 1
    assert "<p></p>" not in re.sub(" style=[^>]*", "", html)
    assert text.rstrip().endswith("(https://courses.example/manage/7)")
    assert "()" not in text


@pytest.mark.slow
@each_locale
@pytest.mark.parametrize("name", REQUIRED)
def test_without_a_required_variable_nothing_is_written(locale: str, name: str) -> None:
    others = {other: value for other, value in REQUIRED.items() if other != name}

    with pytest.raises(MissingVariableError, match=name):
        write_mail(locale, others)


@each_locale
def test_a_value_is_never_more_than_a_value(locale: str) -> None:
    hostile = dict.fromkeys({*REQUIRED, *OPTIONAL}, "**<b>{{ email }}</b>")
    links = {"manageUrl": REQUIRED["manageUrl"], "unsubscribeUrl": OPTIONAL["unsubscribeUrl"]}

    _, html, _ = write_mail(locale, hostile | links)

    assert "<b>" not in html
    assert "**&lt;b&gt;{{ email }}&lt;/b&gt;" in html


def test_every_file_belongs_to_a_template() -> None:
    names = {"version.toml", *(f"{locale}.md" for locale in ("en", "pt", "ru"))}

    files = [path for path in FILES.rglob("*") if path.is_file()]

    assert {str(path.parent.relative_to(FILES)) for path in files} == {"open-seat/v1"}
    assert {path.name for path in files} == names


def test_they_are_read_once() -> None:
    assert versions.builtin_templates() is versions.builtin_templates()
