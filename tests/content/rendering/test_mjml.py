"""MJML is judged before it is rendered, and nothing is fetched while it is."""

from postledger.content.rendering import mjml, source
from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.liquid import liquid_markers
from postledger.content.rendering.liquid.liquid_markers import MarkedText
from postledger.content.rendering.source import Format, Source


def body(inside: str) -> str:
    return f"<mjml><mj-body>{inside}</mj-body></mjml>"


def mail(column: str) -> str:
    return body(f"\n<mj-section><mj-column>\n{column}\n</mj-column></mj-section>")


def mark_text(text: str) -> MarkedText:
    marked = liquid_markers.mark_liquid(text, place="body")
    assert isinstance(marked, MarkedText), marked
    return marked


def rendered(text: str, locale: str = "en") -> str:
    marked = mark_text(text)
    assert mjml.findings(marked) == []
    html = mjml.render(marked, locale=locale)
    assert isinstance(html, str), html
    assert list(mjml.find_lost(marked.unhide(html), marked=marked)) == []
    return marked.put_back(marked.unhide(html))


def test_what_stands_where_it_may_not_is_found() -> None:
    for column, line, remedy in [
        ("<mj-foo/>", 3, "There is no MJML tag <mj-foo>; correct its name."),
        ("<MJ-TEXT>a</MJ-TEXT>", 3, "Write <mj-text> in lowercase."),
        ("<mj-section></mj-section>", 3, "Put <mj-section> into <mj-body> or <mj-wrapper>."),
        ("<mj-all/>", 3, "Put <mj-all> into <mj-attributes>."),
        ("\n<div>a</div>", 4, "Put <div> into <mj-text> or <mj-raw>."),
        ("a", 2, "Put text into <mj-text>, <mj-button> or <mj-raw>."),
        ("<mj-text><mj-image/></mj-text>", 3, "Put <mj-image> into <mj-column> or <mj-hero>."),
        ("<mj-text>a <b>c</mj-text>", 3, "Close this <b> before </mj-text>."),
        ("<mj-text>a</b></mj-text>", 3, "Remove </b>: no such tag is open here."),
        ("<mj-text>a < b</mj-text>", 3, "Write &lt; for < here."),
        ('<mj-text color=red size="1">a</mj-text>', 3, None),
        ('<mj-text a="1"b="2">a</mj-text>', 3, None),
        ("<mj-text @a='1'>a</mj-text>", 3, None),
        ('<mj-include path="/etc/passwd"/>', 3, None),
        ("<mj-text><?php ?></mj-text>", 3, "Remove this: MJML has no declarations."),
        ("<mj-body></mj-body>", 3, "Write <mj-body> only once."),
    ]:
        findings = mjml.findings(mark_text(mail(column)))

        assert [(each.code, each.place) for each in findings] == [
            ("mjml_invalid", f"body, line {line}")
        ], column
        assert remedy in {None, findings[0].remedy}, column


def test_a_document_without_its_frame_is_found() -> None:
    for text, remedy in [
        ("<mjml></mjml>", "Write <mjml><mj-body>…</mj-body></mjml>."),
        ("", "Write <mjml><mj-body>…</mj-body></mjml>."),
        ("<mjml><mj-body>", "Close this <mjml>."),
        ("<mjml><mj-body><mj-carousel></mj-carousel></mj-body></mjml>", None),
        ("<mjml><mj-body></mj-body></mjml><mj-text>a</mj-text>", None),
        ("<mjml><mj-head><mj-title>a<b</mj-title></mj-head><mj-body></mj-body></mjml>", None),
    ]:
        findings = mjml.findings(mark_text(text))

        assert findings[0].code == "mjml_invalid", text
        assert remedy in {None, findings[0].remedy}, text


def test_liquid_where_mjml_would_lose_it_is_found() -> None:
    for text, line in [
        (mail("<mj-carousel>\n{% if a %}<mj-carousel-image src='b'/>{% endif %}</mj-carousel>"), 4),
        (mail("<mj-social>{{ a }}<mj-social-element name='github'/></mj-social>"), 3),
        (mail("<mj-text {% if a %}color='b'{% endif %}>c</mj-text>"), 3),
        ("<mjml>\n{% assign a = 1 %}<mj-body></mj-body></mjml>", 2),
        ("<mjml><mj-body></mj-body></mjml>{% assign a = 1 %}", 1),
        ("{{ a }}<mjml><mj-body></mj-body></mjml>", 1),
        (
            (
                "<mjml><mj-head><mj-style inline='inline'>{% if a %}p{b:c}{% endif %}</mj-style>"
                "</mj-head><mj-body></mj-body></mjml>"
            ),
            1,
        ),
    ]:
        findings = mjml.findings(mark_text(text))

        assert {(each.code, each.place) for each in findings} == {
            ("liquid_misplaced", f"body, line {line}")
        }, text


def test_notes_may_stand_anywhere() -> None:
    note = "{% comment %}a{% endcomment %}"

    html = rendered(f"{note}<mjml>{note}<mj-head>{note}</mj-head>{body(note)[6:-7]}{note}</mjml>")

    assert html.count(note) == 2


def test_a_value_that_mjml_reckons_with_is_found() -> None:
    marked = mark_text(mail("<mj-image src='a' width='{{ b }}px'/>{% comment %}c{% endcomment %}"))
    html = mjml.render(marked, locale="en")
    assert isinstance(html, str)

    findings = mjml.find_lost(html, marked=marked)

    assert [(each.code, each.place) for each in findings] == [("liquid_misplaced", "body, line 3")]


def test_liquid_stays_where_it_was_written() -> None:
    for text, kept in [
        (
            body("{% for a in b %}<mj-section><mj-column/></mj-section>{% endfor %}"),
            [
                "<div ",
                "{% for a in b %}<!--[if mso | IE]><table ",
                "<![endif]-->{% endfor %}</div>",
            ],
        ),
        (
            body("<mj-section>{% if a < 1 %}<mj-column/>{% endif %}</mj-section>"),
            [
                "<tr><![endif]-->{% if a < 1 %}<!--[if mso",
                "</td><![endif]-->{% endif %}<!--[if mso",
            ],
        ),
        (
            mail("{% if a %}<mj-text>b</mj-text>{% endif %}"),
            ["<tbody>{% if a %}<tr>", "</tr>{% endif %}</tbody>"],
        ),
        (
            mail("<mj-table>{% for a in b %}<tr><td>{{ a }}</td></tr>{% endfor %}</mj-table>"),
            ["{% for a in b %}<tr><td>{{ a }}</td></tr>{% endfor %}"],
        ),
        (
            mail("<mj-button href='{% if a == \"b\" %}https://c{% endif %}'>{{ d }}</mj-button>"),
            ['<a href="{% if a == "b" %}https://c{% endif %}"', ">{{ d }}</a>"],
        ),
        (
            mail("<mj-text color='{{ a }}'><p style=\"color:{{ b }};*c:d\">e</p></mj-text>"),
            ["color:{{ a }};", '<p style="color:{{ b }};*c:d">e</p>'],
        ),
        (
            "{% assign a = 1 %}\n<!-- <mjml> --><mjml><mj-body></mj-body></mjml>",
            ["{% assign a = 1 %}<!doctype html>"],
        ),
        (
            (
                "<mjml><mj-head><mj-title>{{ a }}</mj-title><mj-style>{% if b %}p{c:d}{% endif %}"
                "</mj-style></mj-head><mj-body></mj-body></mjml>"
            ),
            ["<title>{{ a }}</title>", "{% if b %}p{c:d}{% endif %}"],
        ),
        (
            mail(
                "<mj-accordion><mj-accordion-element><mj-accordion-title>{% if a %}b{% endif %}"
                "</mj-accordion-title></mj-accordion-element></mj-accordion>"
            ),
            [">{% if a %}b{% endif %}</td>"],
        ),
    ]:
        html = rendered(text)

        assert [piece for piece in kept if piece not in html] == [], text


def test_what_the_renderer_would_break_is_kept() -> None:
    for column, kept in [
        ("<mj-image src='a' alt='say \"b\"'/>", 'alt="say &quot;b&quot;"'),
        ("<mj-raw><!--[if mso]><table><tr><![endif]--></mj-raw>", "<!--[if mso]><table><tr>"),
        ("<mj-text>a<!-- note --></mj-text>", "a<!-- note -->"),
        ("<mj-text>a[b[0]]></mj-text>", "a[b[0]]&gt;"),
        ("<mj-text>a && b &nbsp; <br> <img src='c'></mj-text>", "a && b &nbsp; <br />"),
    ]:
        assert kept in rendered(mail(column)), column
    for text in ["日>", "a > b", "日]]>", "—>"]:
        made = source.prepare(Source("a", mail(f"<mj-text>{text}</mj-text>"), Format.MJML))

        assert text.replace(">", "&gt;") in made.html, text
        assert text in made.text, text


def test_no_font_is_fetched_unless_the_author_says_so() -> None:
    own = "<mj-head><mj-font name='A' href='https://a.b/c.css'/></mj-head>"
    text = mail("<mj-text font-family='A'>d</mj-text>")

    assert "googleapis" not in rendered(text)
    assert "https://a.b/c.css" in rendered(text.replace("<mj-body>", f"{own}<mj-body>"))


def test_the_locale_goes_to_the_document_unless_it_has_one() -> None:
    for attributes, expected in [
        ("", 'lang="ar-EG" dir="rtl"'),
        (' lang="pt" dir="ltr"', 'lang="pt" dir="ltr"'),
    ]:
        html = rendered(f"<mjml{attributes}><mj-body></mj-body></mjml>", locale="ar_EG")

        assert f"<html {expected}" in html, attributes


def test_what_only_the_renderer_refuses_is_found() -> None:
    sheet = "<mj-head><mj-style inline='inline'>td { color: red }</mj-style></mj-head>"
    text = mail("<mj-text padding='1px;{2px'>a</mj-text>").replace("<mj-body>", f"{sheet}<mj-body>")
    marked = mark_text(text)
    assert mjml.findings(marked) == []

    finding = mjml.render(marked, locale="en")

    assert isinstance(finding, Finding)
    assert finding.code == "mjml_invalid"


def test_very_deep_and_very_many_tags_are_refused_before_they_are_rendered() -> None:
    deep = mjml.findings(mark_text(mail("<mj-text>" + "<div>" * 100_000)))
    many = mjml.findings(mark_text(mail("<mj-spacer/>" * 30_000)))

    assert [findings[-1].code for findings in (deep, many)] == ["markup_too_complex"] * 2
