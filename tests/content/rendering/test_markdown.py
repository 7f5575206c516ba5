"""Markdown becomes HTML and text from one reading, and Liquid stays between its blocks."""

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from liquid import Environment

from postledger.content.rendering import markdown
from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.liquid import liquid_markers
from postledger.content.rendering.liquid.liquid_markers import MarkedText
from postledger.content.rendering.markdown import Rendered


def rendered(text: str) -> Rendered:
    marked = liquid_markers.mark_liquid(text, place="body")
    assert isinstance(marked, MarkedText), marked
    parts = markdown.render(marked)
    assert isinstance(parts, Rendered), parts
    return Rendered(marked.put_back(parts.html), marked.put_back(parts.text))


def html(text: str) -> str:
    """Without the line ends between blocks."""
    return re.sub(r"(?<=[>}])\n|\n(?=[<{])", "", rendered(text).html)


def test_html_is_made_and_liquid_is_kept() -> None:
    for written, expected in [
        ("# A {{ b }}", "<h1>A {{ b }}</h1>"),
        ("**a** *b* ~~c~~ `d`", "<p><strong>a</strong> <em>b</em> <s>c</s> <code>d</code></p>"),
        ("<b>a</b> <!-- c -->", "<p>&lt;b&gt;a&lt;/b&gt; &lt;!-- c --&gt;</p>"),
        ("[a](https://b.c/?d=1&e)", '<p><a href="https://b.c/?d=1&amp;e">a</a></p>'),
        ("[a](https://b.c 'd')", '<p><a href="https://b.c" title="d">a</a></p>'),
        (
            '[*a* {{ b }}](https://b.c/?d=1&e "button")',
            (
                '<p><a class="button" href="https://b.c/?d=1&amp;e">'
                "<span><em>a</em> {{ b }}</span></a></p>"
            ),
        ),
        (
            '[a]({{ url }} "button") [b][c]\n\n[c]: https://d.e',
            '<p><a class="button" href="{{ url }}"><span>a</span></a> <a href="https://d.e">b</a></p>',
        ),
        ("[a]({{ url }}/x)", '<p><a href="{{ url }}/x">a</a></p>'),
        (
            '[a]({% if b == "c" %}https://d{% else %}{{ e }}{% endif %})',
            '<p><a href="{% if b == "c" %}https://d{% else %}{{ e }}{% endif %}">a</a></p>',
        ),
        ("<https://a.b>", '<p><a href="https://a.b">https://a.b</a></p>'),
        ("![a {{ b }}]({{ c }})", '<p><img src="{{ c }}" alt="a {{ b }}"></p>'),
        ("a\\\nb", "<p>a<br>b</p>"),
        ("**{{ a }}**{{ b }}", "<p><strong>{{ a }}</strong>{{ b }}</p>"),
        ('{{ a | default: "<*b*>" }}', '<p>{{ a | default: "<*b*>" }}</p>'),
        ("{% raw %}*{{ a }}*{% endraw %}", "<p>{% raw %}*{{ a }}*{% endraw %}</p>"),
        ("{% echo a %}", "<p>{% echo a %}</p>"),
        ("> {{ a }}", "<blockquote><p>{{ a }}</p></blockquote>"),
        ("    {{ a }}", "<pre><code>{{ a }}</code></pre>"),
    ]:
        assert html(written) == expected, written


def test_links_that_run_programs_stay_text() -> None:
    for address in [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "&#106;avascript:alert(1)",
        "vbscript:x",
        "data:text/html,x",
        "file:///etc/passwd",
    ]:
        assert "<a" not in html(f"[a]({address})"), address
        assert "<a" not in html(f'[a]({address} "button")'), address
        assert "<img" not in html(f"![a]({address})"), address


def test_a_line_of_tags_is_no_paragraph() -> None:
    for written, expected in [
        ("{% if a %}\nb\n{% endif %}", "{% if a %}<p>b</p>{% endif %}"),
        ("{% if a %}\n\nb\n\n{% endif %}", "{% if a %}<p>b</p>{% endif %}"),
        ("a\n{% if b %}\nc", "<p>a</p>{% if b %}<p>c</p>"),
        ("{% if a %}\n---\n{% endif %}", "{% if a %}<hr>{% endif %}"),
        ("    {% assign a = 1 %}", "{% assign a = 1 %}"),
        ("{% comment %}- a{% endcomment %}\nb", "{% comment %}- a{% endcomment %}<p>b</p>"),
        (
            "> a\n{% if b %}\n> c\n{% endif %}",
            (
                "<blockquote><p>a</p></blockquote>"
                "{% if b %}<blockquote><p>c</p></blockquote>{% endif %}"
            ),
        ),
        (
            "> a\n> {% if b %}\n> c\n> {% endif %}",
            "<blockquote><p>a</p>{% if b %}<p>c</p>{% endif %}</blockquote>",
        ),
    ]:
        assert html(written) == expected, written


def test_liquid_between_items_does_not_end_their_list() -> None:
    for written, expected in [
        (
            "- a\n{% for b in c %}\n- {{ b }}\n{% endfor %}\n- d",
            "<ul><li>a</li>{% for b in c %}<li>{{ b }}</li>{% endfor %}<li>d</li></ul>",
        ),
        (
            "{% for b in c %}\n- {{ b }}\n{% endfor %}",
            "<ul>{% for b in c %}<li>{{ b }}</li>{% endfor %}</ul>",
        ),
        ("{% if b %}\n- c\n{% endif %}", "{% if b %}<ul><li>c</li></ul>{% endif %}"),
        (
            "{% if b %}\n- c\n{% else %}\n- d\n{% endif %}",
            "{% if b %}<ul><li>c</li></ul>{% else %}<ul><li>d</li></ul>{% endif %}",
        ),
        (
            "- a\n{% if b %}\n- c\n{% else %}\n- d\n{% endif %}",
            "<ul><li>a</li>{% if b %}<li>c</li>{% else %}<li>d</li>{% endif %}</ul>",
        ),
        (
            "{% if b %}\n{% for c in d %}\n1. e\n{% endfor %}\n{% endif %}",
            "{% if b %}<ol>{% for c in d %}<li>e</li>{% endfor %}</ol>{% endif %}",
        ),
        (
            "- a\n{% if b %}\n- c\n\nd\n{% endif %}",
            "<ul><li>a</li></ul>{% if b %}<ul><li>c</li></ul><p>d</p>{% endif %}",
        ),
        (
            "- a\n{% if b %}\n1. c\n{% endif %}",
            "<ul><li>a</li></ul>{% if b %}<ol><li>c</li></ol>{% endif %}",
        ),
        (
            "- a\n  {% if b %}\n  - c\n  {% endif %}\n- d",
            "<ul><li>a{% if b %}<ul><li>c</li></ul>{% endif %}</li><li>d</li></ul>",
        ),
        (
            "- a\n{% assign b = 1 %}\n- c\n{% if d %}",
            "<ul><li>a</li>{% assign b = 1 %}<li>c</li></ul>{% if d %}",
        ),
    ]:
        assert html(written) == expected, written


TABLE = "<table><thead><tr><th>a</th></tr></thead><tbody>"


def test_liquid_between_rows_stays_in_the_table_it_belongs_to() -> None:
    for written, expected in [
        (
            "|a|\n|-|\n{% for b in c %}\n| {{ b }} |\n{% endfor %}",
            TABLE + "{% for b in c %}<tr><td>{{ b }}</td></tr>{% endfor %}</tbody></table>",
        ),
        (
            "{% if b %}\n|a|\n|-|\n|c|\n{% endif %}",
            "{% if b %}" + TABLE + "<tr><td>c</td></tr></tbody></table>{% endif %}",
        ),
        (
            "{% if b %}\n|a|\n|-|\n|c|\n{% else %}\nd\n{% endif %}",
            "{% if b %}"
            + TABLE
            + "<tr><td>c</td></tr></tbody></table>{% else %}<p>d</p>{% endif %}",
        ),
        (
            "|a|\n|-|\n|c|\n{% if b %}\n\nd\n{% endif %}",
            TABLE + "<tr><td>c</td></tr></tbody></table>{% if b %}<p>d</p>{% endif %}",
        ),
        (
            "|a|\n|-|\n{% if b %}\n|c|\n{% endif %}\n{% if d %}\n\ne\n{% endif %}",
            TABLE
            + "{% if b %}<tr><td>c</td></tr>{% endif %}</tbody></table>"
            + "{% if d %}<p>e</p>{% endif %}",
        ),
    ]:
        assert html(written) == expected, written


def test_text_is_made_from_the_same_reading() -> None:
    for written, expected in [
        ("# A\n\n## B {{ c }}\n\n### D", "A\n=\n\nB {{ c }}\n--------\n\nD"),
        ("a\nb\\\nc  \nd", "a b\nc\nd"),
        ("**a** *b* ~~c~~ `d`", "a b c d"),
        ("[a](https://b.c/?d=1&e)", "a (https://b.c/?d=1&e)"),
        ("[https://b.c](https://b.c) <https://d.e> <f@g.h>", "https://b.c https://d.e f@g.h"),
        ("[f@g.h](mailto:f@g.h) [a](#b)[ https://c.d ](https://c.d)", "f@g.h a https://c.d "),
        ("![a {{ b }}](c.png) ![](d.png)", "[a {{ b }}] "),
        ("[![a](b.png)](https://c.d)", "[a] (https://c.d)"),
        ("[a]({{ b }})", "a ({{ b }})"),
        ('[a](https://b.c "button")', "a (https://b.c)"),
        (
            "* a\n* b\n  * c\n    1. d\n    1. e\n       * f",
            "- a\n- b\n  - c\n    1. d\n    2. e\n       - f",
        ),
        ("3. a\n4. b\n\n   c", "3. a\n\n4. b\n\n   c"),
        ("- a\n\n- b", "- a\n\n- b"),
        ("> a\n>\n> > b\n> - c", "> a\n>\n> > b\n>\n> - c"),
        ("```\na\n\n\n  b\n```", "a\n\n\n  b"),
        ("---", "-" * 40),
        ("| a | bbb |\n|---|---|\n| cc | d\\|e |", "a  | bbb\n--------\ncc | d|e"),
        ("| a | b |\n|---|---|\n| {{ c }} | d |", "a | b\n-----\n{{ c }} | d"),
        ("<b>a</b> &amp; &lt;", "<b>a</b> & <"),
        ("", ""),
    ]:
        assert rendered(written).text == expected, written


def test_tags_leave_no_empty_lines_in_the_text() -> None:
    for written, expected in [
        ("a\n\n{% if b %}\n\nc\n\n{% endif %}\n\nd", "a\n\n{% if b %}c\n\n{% endif %}d"),
        (
            "- a\n{% for b in c %}\n- {{ b }}\n{% endfor %}\n- d",
            "- a\n{% for b in c %}- {{ b }}\n{% endfor %}- d",
        ),
        ("1. a\n{% if b %}\n2. c\n{% endif %}", "- a\n{% if b %}- c\n{% endif %}"),
        ("- a\n{% if b %}\n- c\n{% endif %}\n\nd", "- a\n{% if b %}- c\n{% endif %}\nd"),
        (
            "> a\n>\n> {% if b %}\n> c\n> {% endif %}\n> d",
            "> a\n>\n> {% if b %}c\n>\n> {% endif %}d",
        ),
        (
            "|a|\n|-|\n{% for b in c %}\n|{{ b }}|\n{% endfor %}\n\nd",
            "a\n-\n{% for b in c %}{{ b }}\n{% endfor %}\nd",
        ),
    ]:
        assert rendered(written).text == expected, written


def test_what_is_nested_too_deeply_is_refused_and_not_left_out() -> None:
    for nested in [">" * 60 + " a", "".join(" " * 2 * n + "- a\n" for n in range(40))]:
        marked = liquid_markers.mark_liquid(nested, place="body")
        assert isinstance(marked, MarkedText), nested

        finding = markdown.render(marked)

        assert isinstance(finding, Finding), nested
        assert finding.code == "markup_too_complex", nested
    as_anybody = "".join("  " * depth + f"- {depth}\n" for depth in range(15))
    assert rendered(as_anybody).text == as_anybody.rstrip("\n")


ENVIRONMENT = Environment()
VALUES = {"yes": True, "no": False, "two": [1, 2], "none": [], "url": "https://a.b/1"}
WRAPS = [
    "{{% if yes %}}\n{0}{{% else %}}\n{1}{{% endif %}}\n",
    "{{% if no %}}\n{0}{{% else %}}\n{1}{{% endif %}}\n",
    "{{% for n in two %}}\n{0}{{% endfor %}}\n",
    "{{% for n in none %}}\n{0}{{% endfor %}}\n",
    "{{% assign n = 1 %}}\n{0}",
    "{0}",
]
INLINE = [
    *("a", "{{ url }}", "**b**", "{% if yes %}c{% else %}d{% endif %}", "[e]({{ url }})"),
    *("f{% if no %}*g*{% endif %}", "![h](https://i/{{ url }})", "`j{{ url }}`"),
]


def some(random: Random, depth: int = 0) -> str:
    """Some blocks of Markdown with Liquid around them."""

    def wrapped(line: str) -> str:
        return random.choice(WRAPS).format(
            line.format(random.choice(INLINE)), line.format(random.choice(INLINE))
        )

    many = range(random.randint(1, 3))
    match random.randint(0, 4 if depth < 3 else 2):
        case 0:
            return random.choice(INLINE) + "\n\n"
        case 1:
            return "".join(wrapped("- {0}\n") for _ in many) + "\n"
        case 2:
            return "|k|l|\n|-|-|\n" + "".join(wrapped("|{0}|m|\n") for _ in many) + "\n"
        case 3:
            inside = [f"\n{some(random, depth + 1)}\n" for _ in range(2)]
            return random.choice(WRAPS).format(*inside) + "\n"
        case _:
            return "".join(some(random, depth + 1) for _ in many)


def plain(text: str) -> str:
    """Without what may differ: blanks, lists without items, and lists next to one another."""
    text = re.sub(r"\s+|</?p>|-{3,}", "", text)
    return re.sub("</ul><ul>", "", re.sub("<tbody></tbody>|<ul></ul>", "", text))


@pytest.mark.slow
@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_filling_liquid_before_or_after_gives_the_same(random: Random) -> None:
    written = some(random)
    filled = ENVIRONMENT.from_string(re.sub(r"(?m)^(\{%.*%\})\n", r"\1", written)).render(**VALUES)

    before, after = rendered(filled), rendered(written)

    assert plain(ENVIRONMENT.from_string(after.html).render(**VALUES)) == plain(before.html)
    assert plain(ENVIRONMENT.from_string(after.text).render(**VALUES)) == plain(before.text)
