"""From what somebody wrote to a document and a text, with the Liquid as it was."""

import contextlib
import re
import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from liquid import Environment

from postledger.content.rendering import source
from postledger.content.rendering.html import checks
from postledger.content.rendering.liquid import liquid_markers
from postledger.content.rendering.liquid.liquid_markers import MarkedText
from postledger.content.rendering.markdown import Rendered
from postledger.content.rendering.source import Format, Source, SourceError

COLUMN = "<mjml><mj-body><mj-section><mj-column>{}</mj-column></mj-section></mj-body></mjml>"
ENVIRONMENT = Environment()


def prepared(body: str, written_as: Format = Format.HTML, locale: str = "en") -> Rendered:
    return source.prepare(Source("a", body, written_as, locale=locale))


def codes(body: str, written_as: Format = Format.HTML) -> list[tuple[str, str]]:
    with pytest.raises(SourceError) as refused:
        prepared(body, written_as)
    return [(finding.code, finding.place) for finding in refused.value.findings]


def test_a_whole_document_gets_no_layout_and_keeps_what_a_fragment_loses() -> None:
    for body in [
        "<!DOCTYPE html><p>a</p>",
        "<html><p>a</p></html>",
        "{% assign a = 1 %}<BODY><p>a",
    ]:
        html = prepared(body).html

        assert "<!--footer-->" not in html, body
        assert "<p>a</p>" in html, body
    document = '<html><body><p class="a" id="b">c</p><!-- d --><form></form></body></html>'
    assert prepared(document).html == document.replace("<body>", "<head></head><body>")


def test_a_fragment_is_cleaned_and_goes_into_the_layout() -> None:
    html = prepared('<p class="a" onclick="b">c</p><!--footer--><script>d</script>').html

    assert re.search(r'<p style="[^"]*">c</p>', html)
    assert html.count("<!--footer-->") == 1
    assert "<script" not in html


def test_html_of_our_own_goes_into_the_layout_as_it_is_and_is_judged() -> None:
    made = source.prepare_fragment('<p class="a">{{ b }}</p>', "b {{ b }}", locale="ar")

    assert re.search(r'<p class="a" style="[^"]*">\{\{ b \}\}</p>', made.html)
    assert '<html lang="ar" dir="rtl">' in made.html
    assert made.html.count("<!--footer-->") == 1
    assert made.text == "b {{ b }}"
    for html, text in [
        ("{{ a", ""),
        ("", "{{ a"),
        ("<div>" * 100, ""),
        ("<p>{% if a %}</p><p>{% endif %}</p>", ""),
    ]:
        with pytest.raises(SourceError):
            source.prepare_fragment(html, text, locale="en")


def test_lines_may_end_as_on_windows_and_an_own_text_version_is_taken_as_it_is() -> None:
    for written_as, body in {
        Format.MARKDOWN: "# a\r\n\r\n- b\r\n{% if c %}\r\n- d\r\n{% endif %}\r\n",
        Format.MJML: "<mjml><mj-body>\r\n{% if c %}\r\n{% endif %}</mj-body></mjml>\r\n",
        Format.HTML: "<p>a\r\nb</p>\r\n{% if c %}\r\n<p>d</p>{% endif %}",
    }.items():
        unix = prepared(body.replace("\r\n", "\n"), written_as)
        assert prepared(body, written_as).text == unix.text, written_as
    own = Source("a", "<p>b</p>", Format.HTML, text="c\n\n\n{{ d }} ")
    assert source.prepare(own).text == "c\n\n\n{{ d }} "


def test_a_byte_order_mark_is_no_text() -> None:
    assert prepared("\ufeff<mjml><mj-body></mj-body></mjml>", Format.MJML).text == ""
    assert prepared("\ufeff# a", Format.MARKDOWN).text == "a\n="


def test_a_mark_that_somebody_typed_is_text() -> None:
    stolen = liquid_markers.mark_liquid("{{ name }}", place="body")
    assert isinstance(stolen, MarkedText)
    mark = stolen.text
    split = f"{mark[:5]}<foo>{mark[5:]}</foo> &#{ord(mark[0])};{mark[1:]}"

    for body in (mark, f"{mark}: {mark}", split):
        made = prepared(f"<p>{body} {{{{ name }}}}</p>")
        assert made.html.count("{{ name }}") == 1
        assert mark in made.text


def test_what_would_lose_its_liquid_is_refused() -> None:
    for body, expected in [
        ("<p>\n{{ a", ("liquid_unclosed", "body, line 2")),
        ("{% if a %}\n<p {% if b %}c='d'{% endif %}>", ("liquid_misplaced", "body, line 2")),
        ("<{{ a }}>b</{{ a }}>", ("liquid_misplaced", "body, line 1")),
        ("<p{{ a }}>b</p>", ("liquid_misplaced", "body, line 1")),
        ("<p>a\n{% if b %}</p><p>{% endif %}</p>", ("liquid_misplaced", "body, line 2")),
        ("{% if a %}<b>{% else %}<b>{% endif %}c</b>", ("liquid_misplaced", "body, line 1")),
        ("<ul>{% for a in b %}<li>c{% endfor %}</ul>", ("liquid_misplaced", "body, line 1")),
        ("<p>{% if a %}<div>b</div>{% endif %}</p>", ("liquid_misplaced", "body, line 1")),
        ("<table>\n{% if a %}b{% endif %}<tr></table>", ("liquid_misplaced", "body, line 1")),
        ('<p title="{% if a %}">b{% endif %}</p>', ("liquid_misplaced", "body, line 1")),
        ("\n<p title='a>", ("markup_unreadable", "body, line 2")),
        ("a<!-- b", ("markup_unreadable", "body, line 1")),
        ("<title>a", ("markup_unreadable", "body, line 1")),
    ]:
        assert codes(body)[0] == expected, body
    across = "- a\n  {% if b %}\n\nc\n{% endif %}"
    assert codes(across, Format.MARKDOWN) == [("liquid_misplaced", "body, line 2")]


def test_what_cannot_be_read_is_refused_with_its_place() -> None:
    for written, expected in [
        (Source("{{ a", "b", Format.HTML), ("liquid_unclosed", "subject, line 1")),
        (Source("a", "b", Format.HTML, text="\n{% c"), ("liquid_unclosed", "text, line 2")),
        (Source("a", "b\0", Format.HTML), ("text_unstorable", "body")),
        (Source("a", "b\ud800", Format.MARKDOWN), ("text_unstorable", "body")),
        (Source("a", "- b\n" * 20_000, Format.MARKDOWN), ("markup_too_complex", "body")),
        (Source("a", "é" * 262_145, Format.HTML), ("html_too_large", "body")),
        (Source("a", "é" * 262_145, Format.MARKDOWN), ("html_too_large", "body")),
        (Source("a", "b", Format.HTML, text="c" * 524_289), ("text_too_large", "text")),
    ]:
        with pytest.raises(SourceError) as refused:
            source.prepare(written)

        [finding] = refused.value.findings
        assert (finding.code, finding.place) == expected, written
        assert str(refused.value) == f"{finding.place}: {finding.remedy}", written
        assert refused.value.code == "invalid_source", written


def test_half_a_megabyte_of_prose_is_taken() -> None:
    prose = "It was the best of times. " * 20_164

    assert len(prepared(prose, Format.MARKDOWN).text) > 524_000
    assert len(prepared(f"<p>{prose[:524_000]}</p>").text) > 523_000


# Format, what comes around it, what is repeated.
# fmt: off
HOSTILE = [
    *((Format.MARKDOWN, "{}", unit) for unit in (
        "[", "*", "<", "> ", "- ", "![", "[a](", "`", "_a", "\n", "[a]: b\n", "&", "{{",
        "{% raw %}", "{% if a %}b{% endif %}", "{% comment %}",
    )),
    (Format.MARKDOWN, "|a|\n|-|\n{}", "|b|\n"),
    *((Format.HTML, "{}", unit) for unit in (
        "<div>", "<p>", "<table><b>", "<svg><td>", "<ul><li>", "<a><p>", "<", "<a b='<a b=",
        '<a b="', '<a b="> c="', '<a b="><a c=\'>"', "<!--", "</", "<?a>", "&#0",
        "&#106;&#x6a;", "<i id=a>b<p>", "{{", "<p style='display:none'>a</p>",
        "{% if a %}b{% endif %}", "<style>a{", "<style>\\65 ", "<style>url(", "<a href={{b}}>",
        '<img srcset="a,b">', '<p style="url( ">', "<p title='<p>'>", " onx  ", "java\n",
        "<iframe srcdoc='&lt;b&gt;'>",
    )),
    (Format.HTML, "<html><style>{}</style><body>", "*{a:b}"),
    (Format.MJML, "{}", "<mj-section>"),
    (Format.MJML, COLUMN, "<mj-text>a</mj-text>"),
    *((Format.MJML, COLUMN.format("<mj-text>{}</mj-text>"), unit) for unit in (
        "<div>", "<", "{{", "{% if a %}b{% endif %}", "]]>",
    )),
]
# fmt: on


@pytest.mark.slow
def test_hostile_input_ends_soon() -> None:
    for written_as, frame, unit in HOSTILE:
        body = frame.replace("{}", unit * ((524_200 - len(frame)) // len(unit)))

        started = time.process_time()
        with contextlib.suppress(SourceError):
            prepared(body, written_as)
        checks.check_html(f"{body} srcdoc")
        spent = time.process_time() - started

        # Some tenths of a second; without limits it would be minutes, or the end of the process.
        assert spent < 10, (written_as, unit)


def test_very_deep_input_is_refused_and_kills_nothing() -> None:
    for unit, written_as in (
        ("<div>", Format.HTML),
        ("<i>", Format.HTML),
        (">", Format.MARKDOWN),
        ("<div>", Format.MJML),
    ):
        for depth in (200, 100_000):
            findings = codes(unit * depth, written_as)

            assert findings[-1][0] in {"markup_too_complex", "mjml_invalid"}, (unit, depth)


WRAPS = [
    "{{% if yes %}}{0}{{% else %}}{1}{{% endif %}}",
    "{{% if no %}}{0}{{% else %}}{1}{{% endif %}}",
    "{{% for n in two %}}{0}{{% endfor %}}",
    "{{% for n in none %}}{0}{{% endfor %}}",
    "{{% assign n = 1 %}}{0}",
    "{0}",
]
INLINE = [
    *("a", "{{ url }}", "b < c &amp; d", "<b>e</b>", '<a href="{{ url }}">f</a>'),
    *("{% if yes %}g{% else %}h{% endif %}", "i{% if no %}<i>j</i>{% endif %}"),
    '<img src="{{ url }}" alt="{% if yes %}k{% endif %}">',
    '<span style="color:{% if no %}red{% else %}blue{% endif %}">l</span>',
    '<a href="{% if no %}https://{% else %}mailto:{% endif %}m@n.o">p</a>',
]
VALUES = {"yes": True, "no": False, "two": [1, 2], "none": [], "url": "https://a.b/1"}


def some(random: Random, depth: int = 0) -> str:
    """Some HTML with Liquid around whole elements."""

    def wrapped(element: str) -> str:
        inside = [element.format(random.choice(INLINE)) for _ in range(2)]
        return random.choice(WRAPS).format(*inside)

    def row() -> str:
        return "<tr>" + "".join(wrapped("<td>{0}</td>") for _ in many) + "</tr>"

    many = range(random.randint(1, 3))
    match random.randint(0, 4 if depth < 3 else 2):
        case 0:
            return f"<p>{random.choice(INLINE)}</p>"
        case 1:
            return "<ul>" + "".join(wrapped("<li>{0}</li>") for _ in many) + "</ul>"
        case 2:
            head = random.choice(["", "<thead><tr><th>q</th></tr></thead>", "<tbody>"])
            rows = [random.choice(WRAPS).format(row(), row()) for _ in many]
            return f"<table>{head}{''.join(rows)}</table>"
        case 3:
            inside = [some(random, depth + 1) for _ in range(2)]
            return "<div>" + random.choice(WRAPS).format(*inside) + "</div>"
        case _:
            return "".join(some(random, depth + 1) for _ in many)


def plain(text: str) -> str:
    """Without what may differ: blanks, what stands between cells, and how it looks at night.

    A part with colours of its own decides the latter even where it is not shown to everybody.
    """
    by_day = re.sub(r"@media \(prefers-color-scheme: dark\) \{.*?\n\}", "", text, flags=re.DOTALL)
    return re.sub(r"\s+|\||<tbody></tbody>", "", by_day.replace("light dark", "light"))


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(["{}", "<html><body>{}</body></html>"]))
def test_filling_liquid_before_or_after_gives_the_same(random: Random, frame: str) -> None:
    written = frame.format(some(random))

    before = prepared(ENVIRONMENT.from_string(written).render(**VALUES))
    after = prepared(written)

    assert plain(ENVIRONMENT.from_string(after.html).render(**VALUES)) == plain(before.html)
    assert plain(ENVIRONMENT.from_string(after.text).render(**VALUES)) == plain(before.text)
