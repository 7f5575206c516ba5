"""The text of an HTML document says what it says, line by line, with Liquid in it."""

from postledger.content.rendering import plaintext
from postledger.content.rendering.liquid import liquid_markers, liquid_placement
from postledger.content.rendering.liquid.liquid_markers import MarkedText


def text(html: str) -> str:
    marked = liquid_markers.mark_liquid(html, place="body")
    assert isinstance(marked, MarkedText), marked
    return marked.put_back(plaintext.from_html(liquid_placement.comment_out(marked), marked=marked))


def test_a_document_is_read_aloud() -> None:
    for html, expected in [
        ("<p>a</p><p>b</p>", "a\n\nb"),
        ("<div>a</div><div>b<br>c</div>", "a\nb\nc"),
        ("<h1>a</h1>b <b>c</b>d\n\n e", "a\n\nb cd e"),
        ("<section>a</section><center>b</center>", "a\nb"),
        ("a&nbsp;&amp; &lt;b&gt; < 5 &copy;", "a & <b> < 5 ©"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("a<hr>b", f"a\n\n{'-' * 40}\n\nb"),
        ("<blockquote><p>a</p></blockquote>b", "    a\n\nb"),
        ("a<ul><li>b</li><li>c<ul><li>d</li></ul></li></ul>e", "a\n\n* b\n* c\n  + d\n\ne"),
        ("<ol><li>a</li><li>b</li></ol>", "1. a\n2. b"),
        ('<a href="https://a.b/?c=1&amp;d=2">e</a>', "e (https://a.b/?c=1&d=2)"),
        ('<a href="https://a.b/">https://a.b</a>', "https://a.b"),
        ('<a href="mailto:a@b.c">a@b.c</a>', "a@b.c"),
        ('<a href=" https://a.b ">c</a>', "c (https://a.b)"),
        ('<a href="https://a.b"> https://a.b </a>', "https://a.b"),
        ('<a href="#a">b</a><a name="c">d</a><a href="">e</a>', "bde"),
        ('<img src="a" alt=" b  c "><img src="d" alt=""><img>', "[b c]"),
        ('<a href="https://a.b"><img alt="c"></a>', "[c] (https://a.b)"),
        ('<a href="https://a.b"><img></a>c', "c"),
        (
            "a<table><tr><th>b</th><th>c</th></tr><tr><td>d</td><td>e</td></tr></table>f",
            "a\n\nb | c\nd | e\n\nf",
        ),
        (
            '<table role="presentation"><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>',
            "a\nb\n\nc",
        ),
        ("<table><tr><td><p>a</p></td><td><p>b</p></td></tr></table>", "a\n\nb"),
        ("<table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td></tr></table>", "a | b"),
        ('a<div style="color:red; DISPLAY : none">b</div>c', "ac"),
        ('a<span style="display:none">b</span>c', "ac"),
        ('<table style="display:none"><tr><td>a</td></tr></table>b', "b"),
        ("<head><title>a</title><style>b{c:d}</style></head><body>e</body>", "e"),
        ("<style>a{}</style><script>b</script><textarea>c</textarea>d", "d"),
        ("<!--[if mso]>a<![endif]--><![if mso]>b<!-- c --><?d?>", "b"),
        ('<p style="style:style:style:a;display:block">b</p>', "b"),
        ("", ""),
        ("<p></p><div> </div>", ""),
    ]:
        assert text(html) == expected, html


def test_liquid_stays_in_its_line() -> None:
    for html, expected in [
        (
            "<p>{{ a }}</p>{% if b < c %}<p>d</p>{% endif %}<p>e</p>",
            "{{ a }}\n\n{% if b < c %}d\n\n{% endif %}e",
        ),
        (
            "<p>a {% if b %}c{% else %}<b>d</b>{% endif %} e</p>",
            "a {% if b %}c{% else %}d{% endif %} e",
        ),
        (
            "<ul>{% for a in b %}<li>{{ a }}</li>{% endfor %}</ul><p>c</p>",
            "{% for a in b %}* {{ a }}\n{% endfor %}\nc",
        ),
        (
            "<table><tr><th>a</th></tr>{% for b in c %}<tr><td>d</td></tr>{% endfor %}</table>",
            "a\n{% for b in c %}d\n{% endfor %}",
        ),
        (
            "<table><tr><td>a</td>{% for b in c %}<td>{{ b }}</td>{% endfor %}</tr></table>",
            "a{% for b in c %} | {{ b }}{% endfor %}",
        ),
        ('<a href="{{ a }}">b</a> <a href="{{ c }}">{{ c }}</a>', "b ({{ a }}) {{ c }} ({{ c }})"),
        ('<img alt="{{ a }}">', "[{{ a }}]"),
        ("<head>{% assign a = 1 %}<title>{{ b }}</title></head>c", "{% assign a = 1 %}c"),
        ('<div style="display:none">{% if a %}b{% endif %}</div>c', "c"),
        ("<!--{{ a }}-->b", "b"),
    ]:
        assert text(html) == expected, html


def test_what_is_nested_as_deep_as_is_taken_is_not_lost() -> None:
    html = "<table><tbody><tr><td>" * 74 + "a" + "</td></tr></tbody></table>" * 74

    assert text(html) == "a"
