"""The preheader is hidden text at the start of the HTML, escaped, and nowhere else."""

import pytest

from postledger.content.rendering import preheader
from postledger.content.rendering.letter import Letter
from postledger.content.rendering.source import (
    Format,
    Source,
    SourceError,
    make_script,
)

MJML = "<mjml>{}<mj-body><mj-section><mj-column></mj-column></mj-section></mj-body></mjml>"
PREVIEW = "<mj-head><mj-preview>Own</mj-preview></mj-head>"
DOCUMENT = """<html><head><title>{{ '<body>' }}</title><!--<body>--></head>
<body style="margin:0"><p>Hi</p></body></html>"""
BODIES = [
    (Format.MARKDOWN, "Hi **you**"),
    (Format.MJML, MJML.format("")),
    (Format.HTML, "<p>Hi</p>"),
    (Format.HTML, DOCUMENT),
]


def render(body: str, written_as: Format, text: str, **values: object) -> tuple[str, str]:
    source = Source("Subject", body, written_as, preheader=text)
    letter = Letter(make_script(source, optional=tuple(values)))
    return letter.join(letter.fill(values))


def codes(body: str, written_as: Format, text: str) -> list[tuple[str, str]]:
    with pytest.raises(SourceError) as refused:
        render(body, written_as, text)
    return [(finding.code, finding.place) for finding in refused.value.findings]


def test_it_is_the_first_text_of_the_body_and_not_in_the_text() -> None:
    for written_as, body in BODIES:
        words = "1 < 2 & {{ city }}\n{% raw %}<i>{% endraw %}"

        html, text = render(body, written_as, words, city="<b>Oslo</b>")
        plain, plain_text = render(body, written_as, "")

        hidden = "1 &lt; 2 &amp; &lt;b&gt;Oslo&lt;/b&gt; &lt;i&gt;</div>"
        before, _, after = html.partition(hidden)
        assert before.endswith('overflow:hidden;">'), written_as
        start = before.rindex("<body")
        assert before[start:].count(">") == 2, written_as
        assert (html[:start], after) == (plain[:start], plain[plain.index(">", start) + 1 :]), (
            written_as
        )
        assert preheader.find(html) == "1 < 2 & <b>Oslo</b> <i>", written_as
        assert text == plain_text, written_as
        assert preheader.find(plain) == "", written_as


def test_one_of_an_mj_preview_is_found_and_two_are_refused() -> None:
    html, _text = render(MJML.format(PREVIEW), Format.MJML, " ")

    assert preheader.find(html) == "Own"
    assert codes(MJML.format(PREVIEW), Format.MJML, "Other") == [
        ("preheader_twice", "body, line 1")
    ]


def test_one_that_cannot_stand_alone_is_refused() -> None:
    for text, expected in [
        ("x" * 201, ("preheader_too_long", "preheader")),
        ("{{ name", ("liquid_unclosed", "preheader, line 1")),
        ("{% if name %}Hello", ("liquid_invalid", "preheader, line 1")),
        ("a\0", ("text_unstorable", "preheader")),
    ]:
        assert codes("Hi {% endif %}", Format.MARKDOWN, text) == [expected], text
