"""Content that costs much to read is refused early, and what is said about it is said once."""

import pytest

from postledger.content.rendering import mail_preview
from postledger.content.rendering.html import checks
from postledger.content.rendering.letter import Letter, LetterError, Script
from postledger.content.rendering.source import Format, Source, SourceError, make_script

pytestmark = pytest.mark.slow

WIDE_TABLE = "|".join("a" * 700) + "\n" + "|".join("-" * 700) + "\n" + "x\n" * 700


def refusal(body: str, format_: Format) -> list[tuple[str, str]]:
    with pytest.raises(SourceError) as refused:
        make_script(Source("Hello", body, format_))
    return [(finding.code, finding.place) for finding in refused.value.findings]


def test_a_markdown_table_of_too_many_cells_is_refused_before_it_is_read() -> None:
    for prefix in ["", "> ", "- ", "1. "]:
        body = "\n".join(prefix + line for line in WIDE_TABLE.split("\n"))

        assert refusal(body, Format.MARKDOWN) == [("markup_too_complex", "body")], prefix


def test_mjml_that_becomes_too_much_html_is_refused() -> None:
    section = "<mj-section><mj-column></mj-column></mj-section>"

    body = f"<mjml><mj-body>{section * 1_300}</mj-body></mjml>"

    assert refusal(body, Format.MJML) == [("html_too_large", "body")]


def test_html_of_too_many_tags_and_attributes_is_refused() -> None:
    for html in ("<a>" * 30_000, ("<a " + "hidden " * 150 + ">") * 200):
        [finding] = checks.check_html("srcdoc" + html)

        assert finding.code == "markup_too_complex"


def test_of_faults_and_warnings_twenty_are_reported_and_faults_come_first() -> None:
    pictures = "<img src='https://a.example/b.png'>" * 100
    sound = Script("Hello", f"<p>{pictures}</p>", "Hello")
    broken = Script("Hello", f"<p>{{{{ nmae }}}}{pictures}</p>", "Hello")

    warnings = mail_preview.review(sound, has_footer=False).findings
    both = mail_preview.review(broken, has_footer=False).findings

    assert [finding.code for finding in warnings] == ["alt_missing"] * 20
    assert [finding.code for finding in both] == ["unknown_variable", *["alt_missing"] * 19]


def test_a_number_of_many_digits_hides_no_script_and_breaks_no_check() -> None:
    hidden = "".join(f"&#{'0' * 5_000}{ord(letter)};" for letter in "javascript:")
    endless = f"&#{'9' * 5_000};"

    for html in (f"<a href='{hidden}x'>a</a>", f"<a href='{endless}' onclick='x'>a</a>"):
        with pytest.raises(LetterError):
            Letter(Script("Hello", html, ""))
