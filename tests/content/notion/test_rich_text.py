"""Rich text: what it looks like, and that no text of it can become markup."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from postledger.content.notion import (
    as_html,
    as_text,
    fields,
    pages,
    parsing,
    rich_text,
)
from postledger.content.notion.album import UnavailableError
from postledger.content.notion.rich_text import Span, Style
from postledger.content.rendering.html import checks
from tests.fakes import notion_pages

PAGE = "/" + "0123456789abcdef" * 2


def test_only_some_addresses_are_followed() -> None:
    for url, followed in [
        *((url, url) for url in ("https://a", "http://a.b/c?d=e&f#g", "HTTPS://A", "tel:+49")),
        *((url, url) for url in ("mailto:a@b.c", "https://a/?id={{ contact.id }}")),
        (" https://a\n", "https://a"),
        (PAGE, f"https://www.notion.so{PAGE}"),
        (f"{PAGE}#x", f"https://www.notion.so{PAGE}#x"),
        *((url, None) for url in ("", "#", "/", "a", "//a", "https:", "https://", "http:///a")),
        *((url, None) for url in ("javascript:alert(1)", "JavaScript:1", "vbscript:1", "data:,1")),
        *((url, None) for url in ("java\nscript:1", "\x01javascript:1", "https://a\n/", "ftp://a")),
        *((url, None) for url in ("{{ url }}", "mailto:", "tel: ", "https://a\tb", "file:///a")),
    ]:
        assert rich_text.followable(url) == followed, url


def test_liquid_stays_what_it_is_and_the_rest_is_escaped() -> None:
    for text, html in [
        ('{{ name | default: "friend" }}', '{{ name | default: "friend" }}'),
        ("{% if a > 1 %}x{% endif %}", "{% if a > 1 %}x{% endif %}"),
        ("{% if a < 1 %}", "{% if a &lt; 1 %}"),
        ("a > {{ b }} > c", "a &gt; {{ b }} &gt; c"),
        ("{{ '<b>' }}", "{{ '&lt;b>' }}"),
        ("{{ > ", "{{ &gt; "),
        ("&amp; 'x' \"y\"", "&amp;amp; 'x' \"y\""),
        ("a\nb", "a<br>b"),
    ]:
        assert rich_text.as_html((Span(text),)) == html, text
        assert rich_text.as_text((Span(text),)) == text, text


def test_styles_are_nested_in_one_order_whatever_the_order_of_the_json() -> None:
    names = [style.value for style in Style]
    forwards = {"plain_text": "x", "annotations": dict.fromkeys(names, True)}
    backwards = {"plain_text": "x", "annotations": dict.fromkeys(reversed(names), True)}

    renderings = {rich_text.as_html(rich_text.parse([item])) for item in (forwards, backwards)}

    assert renderings == {"<strong><em><s><u><code>x</code></u></s></em></strong>"}


def test_a_link_stands_behind_its_text_unless_it_says_the_same() -> None:
    for text, link, shown in [
        ("here", "https://a.b/c", "here (https://a.b/c)"),
        ("here ", "https://a.b/c", "here (https://a.b/c) "),
        ("https://a.b/c", "https://a.b/c", "https://a.b/c"),
        ("a.b/c", "https://a.b/c/", "a.b/c"),
        ("a@b.c", "mailto:a@b.c", "a@b.c"),
        (" ", "https://a.b", "https://a.b"),
        ("here", "javascript:1", "here"),
    ]:
        assert rich_text.as_text((Span(text, link=link),)) == shown, text


def test_text_holds_nothing_a_mail_cannot_carry() -> None:
    for written, cleaned in [
        ("a\x00b", "ab"),
        ("\ud800x", "\ufffdx"),
        ("\ud83d\ude00", "😀"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("\ufeffx", "\ufeffx"),
    ]:
        assert fields.clean(written) == cleaned, written


PIECES = st.sampled_from(
    [
        *("<", ">", '"', "'", "&", "{{", "}}", "{%", "%}", "<script>", "</p>", "javascript:", "\n"),
        *("https://", "mailto:", "data:", "&lt;", "&#106;", "\x00", "\ud800", "a", " ", "\\", "`"),
    ]
)
TEXTS = st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=20)
STYLES = st.fixed_dictionaries({style.value: st.booleans() for style in Style})
RUNS = st.builds(
    lambda text, link, color, styles: notion_pages.run(text, link=link, color=color, **styles),
    TEXTS,
    st.none() | TEXTS,
    st.sampled_from(["default", "red", "blue_background"]) | TEXTS,
    STYLES,
)
ELEMENTS = (
    *("p", "strong", "em", "s", "u", "code", "span", "br", "a", "pre", "h[1-4]", "ul", "ol", "li"),
    *("div", "blockquote", "hr", "img", "small", "table", "tbody", "tr", "td"),
)
TAG = re.compile(
    rf'</?(?:{"|".join(ELEMENTS)})(?: (?:href|style|class|src|alt|type|start)="[^"<>]*")*>'
)
BLOCKS = [*parsing._PARSERS, "hologram"]


@given(st.lists(RUNS, max_size=4))
@example([notion_pages.run("x", link="javascript:alert(1)")])
@example([notion_pages.run("x", link='https://a"onclick="x')])
@example([notion_pages.run("{{ '<script>' }}")])
def test_no_rich_text_becomes_markup_or_a_program(runs: list[dict[str, object]]) -> None:
    spans = rich_text.parse(runs)

    html = rich_text.as_html(spans)

    assert "<" not in TAG.sub("", html)
    addresses = re.findall(r'href="([^"]*)"', html)
    assert all(re.match(r"(?i)(https?://|mailto:|tel:)", each) for each in addresses)
    assert checks.findings(subject="x", html=f"<p>{html}</p>") == []
    rich_text.plain(spans).encode()


def gone(_url: str) -> str:
    raise UnavailableError("It is gone.")


@given(st.sampled_from(BLOCKS), st.lists(RUNS, max_size=3), TEXTS)
@example("bookmark", [], 'https://a"onclick="x')
@example("image", [], 'https://a"onclick="x')
@example("callout", [], "<script>")
def test_no_block_lets_its_texts_become_markup(
    kind: str, runs: list[dict[str, object]], word: str
) -> None:
    content = {
        "rich_text": runs,
        "caption": runs,
        "cells": [runs],
        "checked": True,
        **dict.fromkeys(("color", "language", "expression", "title", "name", "url"), word),
        "icon": {"emoji": word},
        "type": "external",
        "external": {"url": word},
    }
    row = parsing.parse_block({"id": "2", "type": "table_row", "table_row": content})
    block = parsing.parse_block({"id": "1", "type": kind, kind: content}, children=(row,))

    addresses, _ = pages.gather_pictures([block], keep=gone)
    html = as_html.render([block], pictures=addresses)

    assert "<" not in TAG.sub("", html)
    assert checks.findings(subject="x", html=f"{html}<p>.</p>") == []
    as_text.render([block]).encode()
