"""Our own layout: one column, one place for the footer, and nothing from elsewhere."""

import re

from postledger.content.rendering import styles
from postledger.content.rendering.liquid import liquid_markers
from postledger.content.rendering.liquid.liquid_markers import MarkedText


def inlined(content: str = "<p>a</p>", locale: str = "en") -> str:
    marked = liquid_markers.mark_liquid("", place="body")
    assert isinstance(marked, MarkedText)
    return styles.inline(styles.wrap_in_layout(content, locale=locale), marked=marked)


def test_it_has_one_place_for_the_footer_below_the_content() -> None:
    html = inlined("<p>the content</p>")

    assert html.count("<!--footer-->") == 1
    assert html.index("the content") < html.index("<!--footer-->") < html.index("</table>")


def test_nothing_in_it_comes_from_elsewhere() -> None:
    html = inlined("")

    assert not re.search(r"https?:|//|url\(|@import|<link|<script|src=", html)


def test_the_locale_decides_the_language_and_its_direction() -> None:
    for locale, attributes, side in [
        ("en", 'lang="en" dir="ltr"', "left"),
        ("pt_BR", 'lang="pt-BR" dir="ltr"', "left"),
        ("ar", 'lang="ar" dir="rtl"', "right"),
        ("he-IL", 'lang="he-IL" dir="rtl"', "right"),
        ("FA", 'lang="FA" dir="rtl"', "right"),
        ("ur", 'lang="ur" dir="rtl"', "right"),
        ("arn", 'lang="arn" dir="ltr"', "left"),
        ('"><b>', 'lang="&quot;&gt;&lt;b&gt;" dir="ltr"', "left"),
    ]:
        html = styles.wrap_in_layout("", locale=locale)

        assert f"<html {attributes}>" in html, locale
        assert f"text-align: {side}" in html, locale


def test_a_cell_keeps_its_own_alignment() -> None:
    html = inlined(
        '<table><tr><th align="right">a</th><th>b</th><td align="right">c</td></tr></table>'
    )

    cells = re.findall(r"<t[hd][^>]*>(?=[abc]<)", html)
    assert ["text-align" in cell for cell in cells] == [False, True, False]


def test_a_dollar_in_the_content_is_a_dollar() -> None:
    assert "<p>$lang costs $5</p>" in styles.wrap_in_layout("<p>$lang costs $5</p>", locale="en")


def test_content_with_colours_of_its_own_is_shown_on_paper_by_night_too() -> None:
    for own in ['<p style="color:#333">a</p>', '<td bgcolor="#fff">a</td>']:
        assert "prefers-color-scheme" not in styles.wrap_in_layout(own, locale="en"), own
        assert "prefers-color-scheme" in styles.wrap_in_layout("<p>Colour: red</p>", locale="en"), (
            own
        )
