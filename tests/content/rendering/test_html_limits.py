"""Markup that would keep a parser busy, or kill it, is found before it is parsed."""

from postledger.content.rendering import html_limits
from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.liquid import liquid_markers
from postledger.content.rendering.liquid.liquid_markers import MarkedText


def find(html: str) -> list[Finding]:
    marked = liquid_markers.mark_liquid(html, place="body")
    assert isinstance(marked, MarkedText), marked
    return list(html_limits.findings(marked.text, marked=marked))


def test_what_people_write_is_taken() -> None:
    for html in [
        "<div>" * 75 + "</div>" * 75,
        "<div></div>" * 10_000,
        "<p>a" * 10_000,
        "<table>" + "<tr><td>a<td>b" * 3_000 + "</table>",
        "<ul>" + "<li>a" * 9_000 + "</ul>",
        "<b>a</b>" * 9_000,
        "<br>" * 10_000,
        "<div><b>" + "<p>a</p>" * 2_000 + "</b></div>",
        "</p></div>" * 100,
        "<svg>" + "<path></path>" * 200 + "</svg>",
    ]:
        assert find(html) == [], html


def test_what_nobody_writes_is_not_and_its_line_is_told() -> None:
    for html in [
        "<div>" * 76,
        "<div></span>" * 76,
        "<a1>" * 76,
        "<br>" * 10_001,
        "<p>" * 10_001,
        "<div></div>" * 10_001,
        "</div>" * 40_001,
        "<div>" + "<b>" * 50 + "</div>" + "<p>a</p>" * 5_000,
        "<svg>" + "<td>" * 76,
        "<math>" + "<tr>" * 76,
    ]:
        assert [finding.code for finding in find(html)] == ["markup_too_complex"], html
    [finding] = find("{{ a\n}}\n" + "<div>\n" * 80)
    assert finding.place == "body, line 78"
