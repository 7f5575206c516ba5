"""The letters that a program makes: of slices, a template, a page of Notion, very long texts."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from postledger.content import notion_pages, slices, versions
from postledger.content.rendering.source import Format, Source, make_script
from postledger.content.slices import Slice
from tests.content.golden import specimen
from tests.content.golden.specimen import Specimen, Way
from tests.content.notion import every_block, stage
from tests.fakes import notion

_OHIO = "ocd-division/country:us/state:oh"
_CLEVELAND = f"{_OHIO}/place:cleveland"
_COLUMBUS = f"{_OHIO}/place:columbus"


def _slice(
    number: int, scope: str | None, body: str, *, section: int, title: str = "", dek: str = ""
) -> Slice:
    return Slice(
        id=number,
        scope_ocd_id=scope,
        section="",
        section_order=section,
        sort_index=number,
        is_headline=bool(title),
        title=title,
        dek=dek,
        body_md=body,
        published_from=None,
        published_until=None,
        is_published=True,
    )


_ARTICLE = [
    _slice(
        1,
        None,
        "Libraries in every state lend tools this winter: drills, ladders, and *one* snow plough.",
        section=1,
        title="Borrow a ladder",
        dek="What your library has besides books.",
    ),
    _slice(
        2,
        _CLEVELAND,
        "## In Cleveland\n\nThe West Side branch lends **sewing machines**, and shows how.",
        section=2,
        title="Cleveland: {{ name }}, borrow a sewing machine",
        dek="The West Side branch (and its 12 machines) is open until 8 pm.",
    ),
    _slice(3, _COLUMBUS, "## In Columbus\n\n- Ladders at Main\n- Telescopes at Linden", section=2),
    _slice(4, _OHIO, "Ohio pays for the first month.", section=1),
    _slice(5, None, "[All branches](https://library.acme.example/branches)", section=3),
]


def cleveland() -> Specimen:
    return _of_slices("slices-tools.alice", frozenset({_OHIO, _CLEVELAND}), "Alice")


def columbus() -> Specimen:
    return _of_slices("slices-tools.bob", frozenset({_OHIO, _COLUMBUS}), "Bob")


def _of_slices(name: str, places: frozenset[str], reader: str) -> Specimen:
    assembled = slices.assemble(_ARTICLE, ocd_ids=places, now=specimen.NOON)
    source = assembled.source()
    return Specimen(
        name=name,
        way=Way.CAMPAIGN,
        script=make_script(source, footer=specimen.FOOTER),
        address=f"{reader.lower()}@example.com",
        values={"name": reader},
        list_key="tools",
    )


def open_seat_en() -> Specimen:
    seat = {
        "name": "Alice",
        "courseTitle": "Data Structures & Algorithms",
        "courseString": "01:198:112",
        "sectionIndex": "09214",
        "sectionNumber": "05",
        "meetingSummary": "Mon and Wed, 10:20 to 11:40, Hill 114",
        "manageUrl": "https://courses.example/alerts/7?section=09214&term=2027-1",
        "campus": "Busch",
        "eventDetectedAt": "2026-11-15T11:58:00Z",
        "notes": "Permission of the department is needed.",
        "unsubscribeUrl": "https://courses.example/alerts/7/stop",
    }
    return _open_seat("open-seat.en.alice", "en", seat, Way.NOTIFICATION)


def open_seat_ru() -> Specimen:
    seat = {
        "name": "Боб",
        "courseTitle": "Древние языки",
        "courseString": "ФИЛ-201",
        "sectionIndex": "31007",
        "sectionNumber": "2",
        "meetingSummary": "вт и чт, 18:30, ауд. 402",
        "manageUrl": "https://courses.example/ru/alerts/12",
        "eventDetectedAt": "2026-11-15T11:58:00+03:00",
    }
    return _open_seat("open-seat.ru.bob", "ru", seat, Way.TRANSACTIONAL)


def open_seat_pt() -> Specimen:
    seat = {
        "name": "Carlos",
        "courseTitle": "Introdução à Encadernação",
        "courseString": "ART-110",
        "sectionIndex": "20418",
        "sectionNumber": "B",
        "meetingSummary": "sábados, das 9h às 12h, na oficina",
        "manageUrl": "https://courses.example/pt/alerts/3",
        "campus": "Centro",
    }
    return _open_seat("open-seat.pt.charlie", "pt", seat, Way.NOTIFICATION)


def _open_seat(name: str, locale: str, values: Mapping[str, str], way: Way) -> Specimen:
    version = versions.builtin_templates()["open-seat"].versions[0]
    return Specimen(
        name=name,
        way=way,
        script=make_script(
            version.text(locale),
            required=version.required,
            optional=version.optional,
            footer=None if way is Way.TRANSACTIONAL else specimen.FOOTER,
        ),
        address=f"{name.rpartition('.')[2]}@example.com",
        values=values,
        locale=locale,
        list_key="open-seat",
    )


def notion_page() -> Specimen:
    with notion.running() as fake, tempfile.TemporaryDirectory() as folder:
        page = stage.read(fake, every_block.page(fake), folder=Path(folder))
    script = notion_pages.make_script(1, page, locale="en", footer=specimen.FOOTER)
    return Specimen(
        name="notion-every-block.alice",
        way=Way.CAMPAIGN,
        # A page of Notion declares nothing; whoever sends this one has more to say of its readers.
        script=replace(script, optional=("vip",)),
        address="alice@example.com",
        values={"name": "Alice", "vip": True},
    )


def long_word() -> Specimen:
    """A word of 5,000 letters, in the letter and as a value: nowhere may a line be broken."""
    source = Source(
        subject="The longest word we know",
        body=f"# The longest word\n\n{'Donaudampfschiff' * 312}fahrten.\n\n`{{{{ word }}}}`\n",
        format=Format.MARKDOWN,
    )
    return Specimen(
        name="long-word.en.alice",
        way=Way.CAMPAIGN,
        script=make_script(source, required=("word",), footer=specimen.FOOTER),
        address="alice@example.com",
        values={"name": "Alice", "word": "лингвистика" * 455},
    )


_CHAPTER = """\
## {number}. {title}

In the year {year} the library had **{books}** books, and [{readers} readers](https://library.acme.example/history/{year}).
Am Abend las man vor; вечером читали вслух; à noite, lia-se em voz alta.

- The warden was paid ${wage} a week.
- The lamps burned {oil} litres of oil.

> “{title}”, says the chronicle, “was the word of that year.”
"""
_TITLES = ("The lamps", "The flood", "A new roof", "The long winter", "The children's room")


def long_newsletter() -> Specimen:
    """A hundred kilobytes of Markdown: a chronicle of a hundred and some years."""
    chapters = (
        _CHAPTER.format(
            number=at + 1,
            title=_TITLES[at % len(_TITLES)],
            year=1711 + at,
            books=1_000 + 317 * at,
            readers=40 + 11 * at,
            wage=3 + at // 10,
            oil=200 + at % 37,
        )
        for at in range(290)
    )
    source = Source("A chronicle of 290 years", "\n".join(chapters), Format.MARKDOWN)
    return Specimen(
        name="long-newsletter.en.alice",
        way=Way.CAMPAIGN,
        script=make_script(source, footer=specimen.FOOTER),
        address="alice@example.com",
        values={"name": "Alice"},
    )
