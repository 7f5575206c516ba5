"""The letters that are pages of Notion, read from a server like Notion's."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from postledger.content import notion_pages
from postledger.content.notion.pages import Page
from tests.content.golden import specimen
from tests.content.golden.specimen import Specimen, Way
from tests.content.notion import every_block, stage
from tests.fakes import notion
from tests.fakes.notion import FakeNotion, File
from tests.fakes.notion_pages import (
    Node,
    bare,
    block,
    bookmark,
    bullet,
    callout,
    code,
    external,
    heading,
    hosted,
    numbered,
    paragraph,
    rich_text,
    run,
    table,
    title,
    to_do,
)

_NOVEMBER: list[Node] = [
    heading(1, "Ноябрьские новости"),
    paragraph('Здравствуйте, {{ name | default: "дорогой читатель" }}!'),
    paragraph(
        "Этой осенью мы открыли ",
        run("новый читальный зал", bold=True),
        ": сорок мест, тишина и ",
        run("хорошие лампы", italic=True),
        ". Подробности — ",
        run("на нашем сайте", link="https://library.acme.example/ru/hall"),
        ".",
    ),
    hosted("image", "hall.png", caption=["Читальный зал утром"]),
    callout(
        "Зал закрыт до 25 ноября: ",
        run("настилают пол", bold=True),
        ".",
        emoji="⚠️",
        color="yellow_background",
    ),
    heading(2, "Часы работы"),
    table(
        ["День", "Часы"],
        ["Будни", "9:00-20:00"],
        ["Суббота", "10:00-18:00"],
        columns=True,
    ),
    heading(2, "Что почитать"),
    numbered("Михаил Пришвин, «Фацелия»", inside=[bullet("есть в двух филиалах")]),
    numbered("Тове Янссон, «Летняя книга»"),
    block("quote", "Лучший подарок — это книга.", run("\n"), "Особенно та, которую ждали."),
    bare("divider"),
    paragraph("Спасибо, что читаете!"),
]

_MINUTES: list[Node] = [
    heading(2, "Ata da reunião de 12 de novembro"),
    paragraph("Presentes: Dana, Tom e {{ name }}.", color="gray"),
    to_do("Comprar cadeiras para a sala infantil", checked=True),
    to_do("Trocar as lâmpadas do corredor", checked=False, inside=[bullet("só no segundo andar")]),
    block("toggle", "Orçamento", inside=[table(["Cadeiras", "R$ 1.200"], ["Lâmpadas", "R$ 340"])]),
    code("catalogo --exportar --ano 2026 > acervo.csv", language="shell", caption=["Relatório"]),
    external("pdf", "https://library.acme.example/pt/ata.pdf", caption=["Ata assinada (PDF)"]),
    bookmark("https://library.acme.example/pt/agenda"),
    paragraph("Próxima reunião: 10 de dezembro, às 18h30."),
]


def every() -> Specimen:
    page = _read(every_block.page)
    plain = _specimen("notion-every-block.alice", page, locale="en", reader="Alice")
    # A page of Notion declares nothing; whoever sends this one has more to say of its readers.
    return replace(
        plain,
        script=replace(plain.script, optional=("vip",)),
        values={**plain.values, "vip": True},
    )


def november() -> Specimen:
    page = _read(lambda fake: _page(fake, _NOVEMBER, subject="Ноябрь: новый зал и новые часы"))
    return _specimen("notion-november.ru.alice", page, locale="ru", reader="Алиса")


def minutes() -> Specimen:
    page = _read(lambda fake: _page(fake, _MINUTES, subject="Ata da reunião e próximos passos"))
    return _specimen("notion-minutes.pt.bob", page, locale="pt-BR", reader="Bob")


def _page(fake: FakeNotion, blocks: list[Node], *, subject: str) -> str:
    fake.files["hall.png"] = File(stage.PNG)
    return fake.add_page(
        *blocks, properties={"Name": title("Mailout"), "Subject": rich_text(subject)}
    )


def _read(add: Callable[[FakeNotion], str]) -> Page:
    with notion.running() as fake, tempfile.TemporaryDirectory() as folder:
        return stage.read(fake, add(fake), folder=Path(folder))


def _specimen(name: str, page: Page, *, locale: str, reader: str) -> Specimen:
    return Specimen(
        name=name,
        way=Way.CAMPAIGN,
        script=notion_pages.make_script(1, page, locale=locale, footer=specimen.FOOTER),
        address=f"{name.rpartition('.')[2]}@example.com",
        values={"name": reader},
        locale=locale,
    )
