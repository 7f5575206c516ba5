"""Which links of a letter are asked before a launch: those that every reader gets alike."""

from postledger.content.rendering.links import list_links


def test_links_and_pictures_of_the_web_are_listed() -> None:
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
    ]
    for html, links in cases:
        assert list(list_links(html)) == links, html


def test_a_link_that_liquid_writes_is_nobodys_to_ask() -> None:
    for href in [
        "{{ unsubscribe_url }}",
        "https://acme.example/{{ name }}",
        "https://acme.example/{% if name %}a{% endif %}",
        "{% if name %}https://acme.example/a{% endif %}",
    ]:
        assert list_links(f'<a href="{href}">a</a>') == (), href


def test_each_link_is_listed_once_where_it_comes_first() -> None:
    one, two = "https://acme.example/1", "https://acme.example/2"
    html = "".join(f'<a href="{link}">a</a>' for link in (two, one, two))

    assert list_links(html) == (two, one)


def test_a_link_between_tags_of_liquid_is_the_same_for_all_who_see_it() -> None:
    html = '{% if name %}<a href="https://acme.example/1">a</a>{% endif %}'

    assert list_links(html) == ("https://acme.example/1",)
