"""Findings name the lines that an author wrote, whatever the text becomes."""

from postledger.content.rendering.mail_preview import preview_source
from postledger.content.rendering.source import Format, Source

IN = {
    Format.MARKDOWN: "# News\n\n{}\n",
    Format.HTML: "<p>News</p>\n\n{}\n",
    Format.MJML: "<mjml><mj-body>\n<mj-section><mj-column>\n<mj-text>{}</mj-text>\n"
    "</mj-column></mj-section></mj-body></mjml>",
}


def places(source: Source) -> list[tuple[str, str]]:
    found = preview_source(source, values={}).findings
    return [(finding.code, finding.place) for finding in found]


def test_wrong_liquid_is_on_the_line_of_the_author() -> None:
    for written_as in Format:
        for liquid in [
            "{{ name | shout }}",
            "{{ name | }}",
            "{{ name. }}",
            "{% greet %}",
            "{% for x %}a{% endfor %}",
            "{% if name %}{{ name }}{% endif %}{% if name %}",
            "{% endif %}",
        ]:
            source = Source("Hi", IN[written_as].format(liquid), written_as)

            assert places(source) == [("liquid_invalid", "body, line 3")], (written_as, liquid)


def test_what_a_check_finds_in_the_html_is_where_the_author_wrote_it() -> None:
    for written_as, markup, expected in [
        (Format.MARKDOWN, "[all news](/news)", ("link_unreachable", "body, line 3")),
        (Format.MARKDOWN, "[all news][1]\n\n[1]: /news", ("link_unreachable", "body, line 5")),
        (Format.HTML, '<a href="/news">a</a>', ("link_unreachable", "body, line 3")),
        (Format.HTML, '<img src="https://a.example/b.png">', ("alt_missing", "body, line 3")),
        (Format.HTML, '<a href="/{{ name }}">a</a>', ("link_unreachable", "body")),
        (
            Format.MJML,
            "<form></form>",
            ("element_refused", "body, line 3"),
        ),
        (Format.MJML, "<p onclick='a'>b</p>", ("event_handler", "body, line 3")),
        (Format.MJML, "<script>1</script>", ("script_element", "body, line 3")),
    ]:
        source = Source("Hi", IN[written_as].format(markup), written_as)

        assert expected in places(source), written_as
