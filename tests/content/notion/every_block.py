"""A page with every type of block; run as a program, it writes the golden files anew."""

import tempfile
from pathlib import Path

from postledger.content.notion.pages import Page
from tests.content.notion import stage
from tests.fakes import notion
from tests.fakes.notion import FakeNotion, File
from tests.fakes.notion_pages import (
    Node,
    bare,
    block,
    bookmark,
    bullet,
    callout,
    checkbox,
    code,
    date,
    equation_run,
    external,
    heading,
    hosted,
    mention,
    numbered,
    paragraph,
    run,
    state,
    synced,
    synced_copy,
    table,
    title,
    to_do,
)

GOLDEN = Path(__file__).parent / "golden"
TOP_LEVEL_COUNT = 250

ORIGINAL = "11111111-2222-4333-8444-555555555555"
LINKED = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
NOTION = "https://www.notion.so/aaaaaaaabbbb4ccc8dddeeeeeeeeeeee"


def _texts() -> list[Node]:
    return [
        heading(1, "News of ", run("November", italic=True)),
        paragraph(
            "Plain, ",
            run("bold", bold=True),
            ", ",
            run("italic", italic=True),
            ", ",
            run("struck", strikethrough=True),
            ", ",
            run("underlined", underline=True),
            ", ",
            run("code()", code=True),
            ", ",
            run("all at once", bold=True, italic=True, strikethrough=True, underline=True),
            ", ",
            run("red", color="red"),
            " and ",
            run("on yellow", color="yellow_background"),
            ".",
        ),
        paragraph('Dear {{ name | default: "friend" }}, {% if vip %}thank you{% endif %} & <all>!'),
        paragraph("Two\nlines, an emoji 🎉 and an equation ", equation_run("a < b^2"), "."),
        paragraph(
            "A ",
            run("link", link="https://example.com/?a=1&b=2"),
            ", ",
            run("half ", link="https://example.com/half"),
            run("bold", link="https://example.com/half", bold=True),
            ", ",
            run("https://example.com/bare", link="https://example.com/bare"),
            ", ",
            run("post@example.com", link="mailto:post@example.com"),
            ", ",
            run("call", link="tel:+4930123456"),
            ", ",
            run("a page", link="/aaaaaaaabbbb4ccc8dddeeeeeeeeeeee"),
            ", ",
            run("nowhere", link="javascript:alert(1)"),
            ".",
        ),
        paragraph(
            mention("user", {"object": "user", "id": LINKED}, text="@Alice"),
            " asks ",
            mention("page", {"id": LINKED}, text="Plans", link=NOTION),
            " and ",
            mention("database", {"id": LINKED}, text="Tasks", link=NOTION),
            " for ",
            mention("date", {"start": "2026-12-01", "end": None, "time_zone": None}, text="x"),
            " to ",
            mention(
                "date",
                {
                    "start": "2026-12-01T09:00:00.000+01:00",
                    "end": "2026-12-01T10:30:00.000+01:00",
                    "time_zone": "Europe/Paris",
                },
                text="x",
            ),
            " see ",
            mention(
                "link_preview",
                {"url": "https://example.com/pr/1"},
                text="https://example.com/pr/1",
                link="https://example.com/pr/1",
            ),
        ),
        paragraph(),
        paragraph("Blue as a whole", color="blue"),
    ]


def _structure() -> list[Node]:
    return [
        heading(2, "Structure", inside=[paragraph("Below a heading that opens")]),
        heading(3, "Third"),
        heading(4, "Fourth"),
        bullet(
            "level one",
            inside=[
                bullet(
                    "level two",
                    inside=[
                        numbered("level three", inside=[to_do("level four", checked=True)]),
                        numbered("level three again"),
                    ],
                ),
                paragraph("a paragraph inside"),
            ],
        ),
        bullet("next"),
        numbered("third", list_start_index=3),
        numbered("fourth"),
        bullet("between"),
        numbered("i", list_format="roman"),
        numbered("ii"),
        to_do("done", checked=True),
        to_do("open", checked=False, inside=[bullet("a part")]),
        block("toggle", "Toggle", inside=[paragraph("What it hides"), bullet("and more")]),
        block("quote", "Quoted\non two lines", inside=[paragraph("with more inside")]),
        callout("Mind the ", run("gap", bold=True), emoji="💡", inside=[bullet("and the step")]),
        callout("On grey", emoji="⚠️", color="gray_background"),
        paragraph("Above", inside=[paragraph("Indented", inside=[paragraph("Twice")])]),
        bare("column_list", *(bare("column", paragraph(f"Column {n}")) for n in (1, 2))),
        bare("tab", paragraph("Tab one", inside=[paragraph("shows this")]), paragraph("Tab two")),
        synced(paragraph("Said twice"), block_id=ORIGINAL),
        synced_copy(ORIGINAL),
        table(["Name", "Seats"], ["Hall", "120"], ["Room | B", "<8"], columns=True),
        table(["a", run("b", bold=True)], ["c", "d"], row_heads=True),
        table(["plain"]),
    ]


def _things() -> list[Node]:
    picture = "https://example.com/p.png?a=1&b=2"
    return [
        code("if a < b:\n    print(a)\n", language="python", caption=["An example"]),
        code("plain", language="plain text"),
        bare("equation", expression=r"\frac{a}{b} < 1"),
        bare("divider"),
        hosted("image", "kept.png", caption=['The "hall"']),
        hosted("image", "gone.png", caption=["A lost picture"]),
        external("image", picture, caption=["Outside"]),
        external("image", "data:image/png;base64,AAAA", caption=["Inline"]),
        external("video", "https://example.com/film"),
        external("pdf", "https://example.com/a.pdf", caption=["The report"]),
        external("file", "https://example.com/a.zip", name="a.zip"),
        external("audio", "https://example.com/a.mp3"),
        hosted("file", "minutes.docx", name="minutes.docx"),
        hosted("video", "film.mp4"),
        bookmark("https://example.com/b", caption=["A bookmark"]),
        bookmark("https://example.com/e", kind="embed"),
        bookmark("https://example.com/l", kind="link_preview"),
        bookmark("javascript:alert(2)"),
        bare("link_to_page", type="page_id", page_id=LINKED),
        bare("link_to_page", type="database_id", database_id=LINKED),
        bare("child_page", title="A page inside"),
        bare("child_database", title="A database inside"),
        bare("breadcrumb"),
        bare("table_of_contents", color="default"),
        block("template", "Add one", inside=[paragraph("never shown")]),
        bare("unsupported", block_type="form"),
        bare("meeting_notes", paragraph("never shown"), title=[], status="notes_ready"),
        block("hologram", "Its text is <kept>", inside=[paragraph("and what is inside")]),
    ]


def page(fake: FakeNotion) -> str:
    fake.files["kept.png"] = File(stage.PNG)
    shown = [*_texts(), *_structure(), *_things()]
    filling = (paragraph(f"Paragraph {n}") for n in range(len(shown) + 1, TOP_LEVEL_COUNT + 1))
    properties: dict[str, object] = {
        "Name": title("News & ", "more"),
        "status": state("Draft"),
        "is_test": checkbox(checked=True),
        "sent_at": date(None),
    }
    return fake.add_page(*shown, *filling, properties=properties)


def parts(rendered: Page) -> dict[str, str]:
    findings = (f"{each.code} | {each.place} | {each.remedy}\n" for each in rendered.findings)
    return {
        "every_block.html": f"{rendered.html}\n",
        "every_block.txt": f"{rendered.text}\n",
        "every_block.findings": "".join(findings),
    }


def main() -> None:
    with notion.running() as fake, tempfile.TemporaryDirectory() as folder:
        made = parts(stage.read(fake, page(fake), folder=Path(folder)))
    for name, content in made.items():
        (GOLDEN / name).write_text(content)


if __name__ == "__main__":
    main()
