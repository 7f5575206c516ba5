"""A mail that has only a text gets HTML that reads the same."""

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from postledger.content.rendering.html import checks
from postledger.content.rendering.html.text_to_html import from_text


def test_paragraphs_lines_and_spaces_stay() -> None:
    for text, html in [
        ("Hello", '<p dir="auto">Hello</p>'),
        ("One\nTwo", '<p dir="auto">One<br>\nTwo</p>'),
        ("One\r\nTwo\rThree", '<p dir="auto">One<br>\nTwo<br>\nThree</p>'),
        ("One\n\n \n\nTwo\n", '<p dir="auto">One</p>\n<p dir="auto">Two</p>'),
        ("a < b & c > d", '<p dir="auto">a &lt; b &amp; c &gt; d</p>'),
        ("<script>x</script>", '<p dir="auto">&lt;script&gt;x&lt;/script&gt;</p>'),
        ("  two  in", '<p dir="auto">&nbsp;&nbsp;two &nbsp;in</p>'),
        ("\tindented", '<p dir="auto">&nbsp;&nbsp;&nbsp;&nbsp;indented</p>'),
        ("", ""),
        (" \n\t\n", ""),
    ]:
        assert from_text(text) == html, text


def test_a_url_is_a_link_without_the_punctuation_around_it_and_nothing_else_is() -> None:
    for text, url in [
        ("See https://example.com/a?b=1&c=2 now", "https://example.com/a?b=1&c=2"),
        ("See http://example.com.", "http://example.com"),
        ("(https://example.com/a)", "https://example.com/a"),
        ("https://example.com/a_(b)", "https://example.com/a_(b)"),
        ("<https://example.com/>", "https://example.com/"),
        ("\"https://example.com/'x'\"", "https://example.com/'x"),
        ("Is it https://example.com/a, or https://example.com/b?", "https://example.com/b"),
    ]:
        links = re.findall(r'<a href="([^"]*)">([^<]*)</a>', from_text(text))

        address, shown = links[-1]
        assert unescape(address) == unescape(shown) == url, text
    for text in ["javascript:x", "ftp://example.com", "example.com", "https:/x"]:
        assert "<a " not in from_text(text), text


# Not NUL and surrogates, which no mail may have.
TEXTS = st.text(
    st.one_of(
        st.sampled_from("<>&\"' \t\n:/()=!-"),
        st.characters(exclude_characters="\x00", exclude_categories=["Cs"]),
    )
)
WORDS = st.sampled_from(
    ["https://a.example", "<script>", " onload=", "javascript:", "<!--", "</p>"]
)


@given(st.lists(st.one_of(TEXTS, WORDS)).map("".join))
def test_any_text_becomes_html_that_may_be_sent_and_says_the_same(text: str) -> None:
    html = from_text(text)

    assert [finding for finding in checks.check_html(html) if html] == []
    shown = unescape(re.sub(r"<[^>]*>", "", html))
    assert "".join(shown.split()) == "".join(text.split())
