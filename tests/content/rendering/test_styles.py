"""Rules go to their elements, what authors wrote there wins, and nothing is fetched."""

import socket
from pathlib import Path

import pytest

from postledger.content.rendering import styles
from postledger.content.rendering.liquid import liquid_markers, liquid_placement
from postledger.content.rendering.liquid.liquid_markers import MarkedText


def inlined(html: str) -> str:
    marked = liquid_markers.mark_liquid(html, place="body")
    assert isinstance(marked, MarkedText), marked
    made = styles.inline(liquid_placement.comment_out(marked), marked=marked)
    return marked.put_back(marked.unhide(made))


def test_rules_are_inlined() -> None:
    for html, kept in [
        ("<style>p{color:red}</style><p>a", '<p style="color: red;">a</p>'),
        ("<style>p{color:red}</style><p style='top:0'>a", '<p style="color: red;top:0">a</p>'),
        (
            "<style>p{color:red}</style><p style='color:blue'>a",
            '<p style="color: red;color:blue">a</p>',
        ),
        ("<style>p{color:red!important}</style><p>a", '<p style="color: red!important;">a</p>'),
        ("<p style=color:red>a", '<p style="color:red">a</p>'),
        ("<p style=''>a", '<p style="">a</p>'),
        ("<style>p{a:b}</style><p style='*zoom:1;color'>a", '<p style="a: b;*zoom:1;color">a</p>'),
        ("<p style='font-family:\"A\"'>a", '<p style="font-family:&quot;A&quot;">a</p>'),
        ("<style>@media (max-width:9px){p{a:b}}</style><p>c", "@media (max-width:9px){p{a:b}}"),
        ("<style>@font-face{font-family:a}</style>", "@font-face{font-family:a}"),
    ]:
        assert kept in inlined(html), html


def test_what_cannot_be_inlined_stays_as_it_is() -> None:
    for head, body in [
        ("<!--[if mso]><style>p{a:b}</style><![endif]-->", "<p>c</p>"),
        ("", "<!--[if !mso]><!--><b>a</b><!--<![endif]-->"),
        ("", "<![if !mso]><b>a</b><![endif]>"),
        ('<style data-css-inline="keep">a:hover{b:c}</style>', "<a>d</a>"),
        ("<style>{% if a %}p{b:c}{% endif %}</style>", "<p>d</p>"),
        ("<style>p{a:{% if b %}c{% else %}d{% endif %}}</style>", "<p>e</p>"),
        ("<style>.{{ a }} p{b:c}</style>", '<b class="{{ a }}"><p>d</p></b>'),
        ("{% if a %}<style>p{b:c}</style>{% endif %}", "<p>d</p>"),
    ]:
        html = f"<html><head>{head}</head><body>{body}</body></html>"

        assert inlined(html) == html, head


def test_liquid_in_styles_is_kept() -> None:
    for html, kept in [
        ("<style>p{color:{{ a }}}</style><p>b", '<p style="color: {{ a }};">b</p>'),
        ("<style>p{width:{{ a }}px}</style><p>b", '<p style="width: {{ a }}px;">b</p>'),
        ('<style>p{a:b}</style><p style="{{ c }}">', '<p style="a: b;{{ c }}"></p>'),
        (
            '<style>p{a:b}</style><p style="{% if c == "d" %}e:f{% endif %};g:h">',
            '<p style="a: b;{% if c == "d" %}e:f{% endif %};g:h"></p>',
        ),
        (
            "<!--[if mso]>{% if a %}b{% endif %}<![endif]--><style>p{c:d}</style><p>",
            '<p style="c: d;"></p>',
        ),
        ("<style>@media x{p{a:{{ b }}}}</style>", "@media x{p{a:{{ b }}}}"),
    ]:
        assert kept in inlined(html), html


def test_no_style_sheet_is_fetched_from_a_network_or_a_disk(tmp_path: Path) -> None:
    sheet = tmp_path / "a.css"
    sheet.write_text("p{color:red}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.3)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/a.css"

        html = inlined(
            f'<base href="{address}"><link rel="stylesheet" href="{address}">'
            f'<link rel="stylesheet" href="{sheet}"><link rel="stylesheet" href="file://{sheet}">'
            f'<link rel="stylesheet" href="b.css"><style>@import url("{address}");</style><p>c'
        )

        assert "<p>c</p>" in html
        with pytest.raises(TimeoutError):
            server.accept()


def test_rules_that_would_take_very_long_are_refused_and_those_of_a_large_mail_taken() -> None:
    for html in [
        "<style>" + "".join(f"*{{a{number}:b}}" for number in range(201)) + "</style><p>",
        "<style>" + "p{a:b}" * 1_001 + "</style>" + "<p>" * 2_000,
    ]:
        assert [finding.code for finding in styles.findings(html)] == ["css_too_complex"], html
    assert styles.findings("<style>" + "p{a:b;c:d}" * 500 + "</style>" + "<p>" * 3_000) == []
