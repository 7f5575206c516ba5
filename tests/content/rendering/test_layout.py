"""Our own layout: one column, one place for the footer, and nothing from elsewhere."""

import re

from postledger.content.rendering import styles
from postledger.content.rendering.liquid import liquid_markers
from postledger.content.rendering.liquid.liquid_markers import MarkedText


def inlined(content: str = "<p>a</p>", locale: str = "en") -> str:
    marked = liquid_markers.mark_liquid("", place="body")
    assert isinstance(marked, MarkedText)
    return styles.inline(styles.wrap_in_layout(content, locale=locale), marked=marked)


def test_it_has_one_place_for_the_footer_below_the_content_and_nothing_from_elsewhere() -> None:
    html = inlined("<p>the content costs $lang 5</p>")

    assert html.count("<!--footer-->") == 1
    content, footer = html.index("the content costs $lang 5"), html.index("<!--footer-->")
    assert content < footer < html.index("</table>")
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
