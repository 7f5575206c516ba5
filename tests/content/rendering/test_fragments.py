"""Of somebody's HTML only what is good in a mail stays, and Liquid stays where it is."""

from postledger.content.rendering import fragments
from postledger.content.rendering.liquid import liquid_markers, liquid_placement
from postledger.content.rendering.liquid.liquid_markers import MarkedText


def cleaned(html: str) -> str:
    marked = liquid_markers.mark_liquid(html, place="body")
    assert isinstance(marked, MarkedText), marked
    return marked.put_back(fragments.clean(liquid_placement.comment_out(marked), marked=marked))


def test_what_is_good_in_a_mail_stays() -> None:
    for html in [
        "<h1>a</h1><p>b <strong>c</strong> <em>d</em> <code>e</code><br>f</p><hr>",
        '<ul><li>a</li></ul><ol start="3"><li>b</li></ol>',
        '<a href="https://a.b/?c=1&amp;d=2" title="e">f</a><a href="mailto:a@b.c">g</a>',
        '<a href="tel:+123">a</a><a href="#b">c</a>',
        '<img src="https://a.b/c.png" alt="d" width="10"><img src="cid:e">',
        '<table width="100%"><tbody><tr><td colspan="2" align="right">a</td></tr></tbody></table>',
        '<p style="color:red;text-align:center;padding:0 1px">a</p>',
        "<blockquote><p>a</p></blockquote><pre>b</pre>",
    ]:
        assert cleaned(html) == html, html


def test_what_is_not_is_left_out() -> None:
    for html, expected in [
        ("<script>alert(1)</script>a", "a"),
        ("<style>p{a:b}</style>a", "a"),
        ('<p onclick="a">b</p>', "<p>b</p>"),
        ('<p id="a" class="b" data-c="d">e</p>', "<p>e</p>"),
        ('<a href="javascript:alert(1)">a</a>', "<a>a</a>"),
        ('<a href=" JaVa\nScript:alert(1)">a</a>', "<a>a</a>"),
        ('<a href="&#106;avascript:alert(1)">a</a>', "<a>a</a>"),
        ('<a href="data:text/html,b">a</a>', "<a>a</a>"),
        ('<img src="data:image/png;base64,AA==">', "<img>"),
        ('<a href="vbscript:b">a</a>', "<a>a</a>"),
        ('<a href="{{ a }}javascript:b">c</a>', "<a>c</a>"),
        ('<a href="{{ a }}:b">c</a>', "<a>c</a>"),
        ("<form><input><button>a</button></form>", "a"),
        ("<iframe src=a></iframe><object></object><svg><p>b</p></svg>", "<p>b</p>"),
        ("a<!-- b --><!--[if mso]><p>c</p><![endif]--><![if mso]>d<![endif]>", "ad"),
        ('<p style="position:fixed;color:red;top:0">a</p>', '<p style="color:red">a</p>'),
        ('<p style="color:expression(a)">b</p>', "<p>b</p>"),
        ('<p style="background:url(https://a.b)">c</p>', "<p>c</p>"),
        ('<p style="color:\\75rl(a)">b</p>', "<p>b</p>"),
        (
            '<p style="{% if a %}position:fixed;{% endif %}color:red">b</p>',
            '<p style="{% if a %};{% endif %}color:red">b</p>',
        ),
    ]:
        assert cleaned(html) == expected, html


def test_liquid_stays_where_it_is() -> None:
    for html in [
        "{{ a }}<p>{% if b < c %}d{% endif %}</p>",
        "<ul>{% for a in b %}<li>{{ a }}</li>{% endfor %}</ul>",
        "<table><tbody>{% for a in b %}<tr><td>{{ a }}</td></tr>{% endfor %}</tbody></table>",
        "<table><tbody><tr>{% for a in b %}<td>c</td>{% endfor %}</tr></tbody></table>",
        "<table><tbody>{{ rows }}<tr><td>a</td></tr></tbody></table>",
        '<a href="{{ a }}">b</a><img src="{{ c }}" alt="{{ d | default: "e" }}">',
        '<a href="{% if a %}https://b{% else %}mailto:{{ c }}{% endif %}">d</a>',
        '<a href="{{ a }}{{ b }}https://c">d</a><a href="{{ a }}://b">c</a>',
        '<a href="https://a/{{ b }}?c={{ d | url_encode }}">e</a>',
        '<a href="https://{{ a }}b.c:8080/">d</a>',
        '<p style="color:{{ a }};{% if b %}margin:0;{% endif %}padding:0">c</p>',
        '<p style="{{ a }}">b</p>',
        '<p title="{% if a == "b" %}c{% endif %}">d</p>',
    ]:
        assert cleaned(html) == html, html
