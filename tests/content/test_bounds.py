"""Markup that would keep a parser busy, or kill it, is found before it is parsed."""

import pytest

from postledger.content import aside, bounds
from postledger.content.aside import Aside


def codes(html: str) -> list[str]:
    put_aside = aside.take(html, place="body")
    assert isinstance(put_aside, Aside), put_aside
    return [found.code for found in bounds.findings(put_aside.marked, put_aside=put_aside)]


@pytest.mark.parametrize(
    "html",
    [
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
    ],
)
def test_what_people_write_is_taken(html: str) -> None:
    assert codes(html) == []


@pytest.mark.parametrize(
    "html",
    [
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
    ],
)
def test_what_nobody_writes_is_not(html: str) -> None:
    assert codes(html) == ["markup_too_complex"]


def test_the_line_is_told() -> None:
    put_aside = aside.take("{{ a\n}}\n" + "<div>\n" * 80, place="body")
    assert isinstance(put_aside, Aside)

    [found] = bounds.findings(put_aside.marked, put_aside=put_aside)

    assert found.place == "body, line 78"
