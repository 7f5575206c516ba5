"""How single blocks are written, where a whole page would hide the rule."""

from postledger.content.notion import as_html, as_text, pages
from postledger.content.notion.blocks import (
    Block,
    Bullet,
    Callout,
    Code,
    Divider,
    Equation,
    Group,
    Heading,
    HostedFile,
    Image,
    Link,
    Numbered,
    Numbering,
    Paragraph,
    Quote,
    Row,
    Table,
    Toggle,
    Unknown,
)
from postledger.content.notion.rich_text import RichText, Span


def words(text: str) -> RichText:
    return (Span(text),)


PRE = '<pre style="white-space:pre-wrap;padding:12px;background-color:#f7f6f3">'
IMG = '<img src="https://mail.example/1.png" alt="{}" style="max-width:100%;height:auto;border:0">'


def html(*blocks: Block) -> str:
    return as_html.render(blocks, pictures={"kept": "https://mail.example/1.png"})


def codes(*blocks: Block) -> list[tuple[str, str]]:
    return [(each.code, each.place) for each in pages.inspect(blocks)]


def test_what_shows_nothing_is_nothing() -> None:
    cases: list[Block] = [
        *(Paragraph("1", ()), Paragraph("1", words(" \n\u00a0")), Heading("1", (), level=1)),
        *(Toggle("1", ()), Quote("1", words("\n")), Callout("1", (), icon="")),
        *(Unknown("1", "hologram", None), Unknown("1", "hologram", ()), Group("1", ())),
        *(Code("1", " \n", "python", ()), Equation("1", " "), Link("1", "bookmark", "", "")),
        *(Image("1", "", is_hosted=True, caption=()), HostedFile("1", "file", "")),
        Table("1", (), has_column_header=True, has_row_header=True),
        Row("1", (words("alone"),)),
    ]
    for block in cases:
        assert html(block) == "", block
        assert as_text.render([block]) == "", block


def test_a_block_is_written() -> None:
    cases: list[tuple[Block, str | None, str | None]] = [
        (Divider("1"), "<hr>", "--------------------"),
        (Heading("1", words("Four"), level=4), "<h4>Four</h4>", "Four"),
        (Heading("1", words("Zwei"), level=2), "<h2>Zwei</h2>", "Zwei\n----"),
        (Heading("1", words("x" * 80), level=1), f"<h1>{'x' * 80}</h1>", f"{'x' * 80}\n{'=' * 72}"),
        (Equation("1", "a<b"), "<p><code>a&lt;b</code></p>", "a<b"),
        (Bullet("1", ()), "<ul>\n<li></li>\n</ul>", "-"),
        (
            Bullet("1", words("a\nb")),
            "<ul>\n<li>a<br>b</li>\n</ul>",
            "- a\n  b",
        ),
        (
            Bullet("1", (), children=(Code("2", "x", "", ()),)),
            f"<ul>\n<li>\n{PRE}<code>x</code></pre>\n</li>\n</ul>",
            "-     x",
        ),
        (
            Paragraph("1", words("red"), color="red_background"),
            '<p style="background-color:#fdebec;color:#1f2937">red</p>',
            "red",
        ),
        (Paragraph("1", words("x"), color='"><script>'), "<p>x</p>", "x"),
        (Paragraph("1", words("x"), color='">_background'), "<p>x</p>", "x"),
        (
            Code("1", "1", 'c" onclick="x', ()),
            f'{PRE}<code class="language-c&quot;-onclick=&quot;x">1</code></pre>',
            "    1",
        ),
        (Callout("1", (), icon="💡"), None, "💡"),
        (
            Image("kept", "", is_hosted=True, caption=words('a "b"\n<c')),
            f'<p>{IMG.format("a &quot;b&quot; &lt;c")}</p>\n<p><small>a "b"<br>&lt;c</small></p>',
            '[a "b"\n<c]',
        ),
        (
            Image("kept", "", is_hosted=True, caption=()),
            f"<p>{IMG.format('')}</p>",
            "",
        ),
        (
            Link("1", "embed", "https://a.b", "a&b"),
            '<p><a href="https://a.b">a&amp;b</a></p>',
            None,
        ),
        (Link("1", "embed", "file:///etc", "x"), "<p>x</p>", "x"),
    ]
    for block, written, text in cases:
        assert written is None or html(block) == written, block
        assert text is None or as_text.render([block]) == text, block


def test_a_list_is_numbered_as_its_first_item_says() -> None:
    for start, numbering, first, third in [
        (None, Numbering.NUMBERS, "1.", "3."),
        (9, Numbering.NUMBERS, "9.", "11."),
        (-4, Numbering.NUMBERS, "1.", "3."),
        (25, Numbering.LETTERS, "y.", "aa."),
        (1988, Numbering.ROMAN, "mcmlxxxviii.", "mcmxc."),
        (3998, Numbering.ROMAN, "mmmcmxcviii.", "4000."),
    ]:
        items = [Numbered("1", (), start=start, numbering=numbering), *[Numbered("2", ())] * 2]

        marks = list(as_text.list_marks(items))

        assert (marks[0], marks[2]) == (first, third), start


def test_what_is_found_comes_in_the_order_of_the_page_with_its_block() -> None:
    bad = (Span("x", link="data:text/html,1"),)

    findings = codes(
        Group("1", (Unknown("2", "hologram", None),)),
        Table("3", (Row("4", (bad,)),), has_column_header=False, has_row_header=False),
        Code("5", "x", "", bad),
        HostedFile("6", "pdf", "a"),
        Link("7", "embed", "ftp://a", "a"),
        Paragraph("8", (Span("x", link="https://example.com"),), children=(Bullet("9", bad),)),
    )

    assert findings == [
        ("content_block_unsupported", "block 2 (hologram)"),
        ("link_unsupported", "block 4"),
        ("link_unsupported", "block 5"),
        ("file_link_expires", "block 6 (pdf)"),
        ("link_unsupported", "block 7 (embed)"),
        ("link_unsupported", "block 9"),
    ]


def test_an_unknown_block_with_text_is_a_paragraph_and_one_without_is_left_out() -> None:
    with_text = Unknown("1", "hologram", words("<kept>"), (Paragraph("2", words("inside")),))
    empty = Unknown("3", "hologram", None)

    findings = list(pages.inspect([with_text, empty]))

    assert html(with_text, empty).startswith("<p>&lt;kept&gt;</p>\n<div")
    assert as_text.render([with_text, empty]) == "<kept>\n\n  inside"
    assert [each.remedy.partition(".")[0] for each in findings] == [
        "Its text is shown as a plain paragraph",
        "It was left out, because it has no text",
    ]
