"""Which links of a letter are asked before a launch: those that every reader gets alike."""

from postledger.content.rendering.links import list_links


def test_links_and_pictures_of_the_web_are_listed_once_unless_liquid_writes_them() -> None:
    cases: list[tuple[str, list[str]]] = [
        ('<a href="https://acme.example/a">a</a>', ["https://acme.example/a"]),
        ("<A HREF = https://acme.example/a >a</A>", ["https://acme.example/a"]),
        ('<img src="http://acme.example/a.png">', ["http://acme.example/a.png"]),
        ('<a href="https://acme.example/?a=1&amp;b=2">a</a>', ["https://acme.example/?a=1&b=2"]),
        ('<a href=" HTTPS://ACME.example/a ">a</a>', ["HTTPS://ACME.example/a"]),
        ('<a href="mailto:a@b.example">a</a><a href="#top">b</a><a>c</a>', []),
        ('<img src="data:image/png;base64,AAAA"><img src="cid:1">', []),
        ('<a title="https://acme.example">a</a>https://acme.example', []),
        ('<!-- <a href="https://acme.example/a">a</a> -->', ["https://acme.example/a"]),
        ('{% if a %}<a href="https://a.example/1">a</a>{% endif %}', ["https://a.example/1"]),
        ('<a href="{{ unsubscribe_url }}">a</a>', []),
        ('<a href="https://acme.example/{{ name }}">a</a>', []),
        ('<a href="https://acme.example/{% if name %}a{% endif %}">a</a>', []),
        ('<a href="{% if name %}https://acme.example/a{% endif %}">a</a>', []),
        (
            '<img src="http://b"><a href="http://a">a</a><img src="http://b">',
            ["http://b", "http://a"],
        ),
    ]
    for html, links in cases:
        assert list(list_links(html)) == links, html
