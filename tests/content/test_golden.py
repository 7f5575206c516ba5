"""The corpus: every letter is, byte for byte, the mail that somebody has looked at.

`python -m tests.content.golden --write` writes the golden files anew.
"""

import json
import os
import re
import subprocess
import sys
from email import policy
from email.errors import NonASCIILocalPartDefect
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.parser import BytesParser, Parser
from hashlib import sha256
from html import escape
from pathlib import Path

import pytest

from postledger.content.rendering import styles
from postledger.lib.ids import DeliveryId
from postledger.providers import addresses
from tests.content.golden import corpus, files, markup, specimen
from tests.content.golden.specimen import Specimen, Way
from tests.providers import strict

ROOT = Path(__file__).parents[2]

each = pytest.mark.parametrize("name", corpus.NAMES)


def parsed(letter: Specimen) -> EmailMessage:
    """By a parser that takes nothing amiss; an address that is not ASCII is read as UTF-8."""
    wire = specimen.wire(letter)
    if letter.address.rpartition("@")[0].isascii():
        message = BytesParser(policy=policy.SMTP.clone(raise_on_defect=True)).parsebytes(wire)
    else:
        message = Parser(policy=policy.SMTPUTF8.clone(raise_on_defect=True)).parsestr(wire.decode())
    assert isinstance(message, EmailMessage)
    defects = [defect for value in message.values() for defect in getattr(value, "defects", ())]
    assert all(isinstance(defect, NonASCIILocalPartDefect) for defect in defects)
    return message


def name_in(message: EmailMessage, header: str) -> str:
    """The name beside an address.

    Python's own reading of it puts a space between two encoded words, against RFC 2047.
    """
    [box] = message[header].addresses
    raw = dict(message.raw_items())[header]
    if "=?" not in raw or raw.startswith('"'):
        return str(box.display_name)
    return str(make_header(decode_header(raw.rpartition("<")[0].strip())))


def test_the_corpus_is_large_and_varied() -> None:
    letters = [corpus.find(name) for name in corpus.NAMES]
    filled = [specimen.fill_letter(letter) for letter in letters]

    assert len(letters) >= 40
    assert {letter.way for letter in letters} == set(Way)
    assert {styles.direction(letter.locale) for letter in letters} == {"ltr", "rtl"}
    languages = {letter.locale.partition("-")[0] for letter in letters}
    assert languages >= {"en", "ru", "pt", "ar", "he", "zh", "ja"}
    assert 150 in {len(each.subject) for each in filled if not each.subject.isascii()}
    assert max(len(each.html.encode()) for each in filled) > 100_000


@each
def test_a_letter_gives_the_bytes_of_its_golden_file(name: str) -> None:
    file, content = files.pack_letter(name, specimen.wire(corpus.find(name)))

    assert content == (files.FOLDER / file).read_bytes()


def test_every_golden_file_is_of_a_letter() -> None:
    names = {path.stem for path in files.FOLDER.iterdir() if path.suffix in {".eml", ".sha256"}}

    assert names == set(corpus.NAMES)


def test_letters_that_are_made_again_give_the_same_bytes() -> None:
    once = [specimen.wire(corpus.find(name)) for name in corpus.NAMES]
    specimen.letter.cache_clear()

    again = [specimen.wire(corpus.make(name)) for name in corpus.NAMES]

    assert once == again


@pytest.mark.slow
@pytest.mark.parametrize(
    "surroundings",
    [
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "2", "TZ": "America/Sao_Paulo", "LC_ALL": "C.UTF-8"},
    ],
)
def test_another_process_gives_the_same_bytes(surroundings: dict[str, str]) -> None:
    made = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.content.golden"],
        env={**os.environ, **surroundings},
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout

    here = {name: specimen.wire(corpus.find(name)) for name in corpus.NAMES}
    assert json.loads(made) == {name: sha256(wire).hexdigest() for name, wire in here.items()}


@each
def test_a_mail_has_exactly_its_headers_and_in_their_order(name: str) -> None:
    letter = corpus.find(name)

    message = parsed(letter)

    expected = ["From", "To", "Subject", "Date", "Message-ID", "X-Postledger-Id"]
    if letter.reply_to:
        expected.insert(2, "Reply-To")
    if letter.way is not Way.TRANSACTIONAL:
        expected += ["List-Unsubscribe", "List-Unsubscribe-Post"]
    expected.append("MIME-Version")
    if letter.way is not Way.TRANSACTIONAL:
        expected += ["List-Id", "Feedback-ID"]
    if letter.way is Way.NOTIFICATION:
        expected.append("Auto-Submitted")
    assert list(message.keys()) == [*expected, "Content-Type"]


@each
def test_the_headers_say_what_the_letter_says(name: str) -> None:
    letter = corpus.find(name)

    message = parsed(letter)

    assert name_in(message, "To") == letter.recipient_name
    assert name_in(message, "From") == letter.sender.name
    assert message["To"].addresses[0].addr_spec == addresses.canonical(letter.address)
    assert message["From"].addresses[0].addr_spec == letter.sender.address
    assert (message["Reply-To"] or "") == letter.reply_to
    assert message["Subject"] == specimen.fill_letter(letter).subject
    assert message["Date"].datetime == specimen.NOON
    delivery = DeliveryId(specimen.STREAM, 0)
    assert message["Message-ID"] == f"<{delivery.uuid()}@acme.example>"
    assert message["X-Postledger-Id"] == str(DeliveryId(specimen.STREAM, 0, 1).uuid())


@each
def test_the_headers_of_a_list_say_which_one_and_how_to_leave_it(name: str) -> None:
    letter = corpus.find(name)

    message = parsed(letter)

    kind = letter.way.value
    expected = {
        "List-Unsubscribe": f"<{specimen.unsubscribe_url(letter)}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "List-Id": f"<{letter.list_key}.{specimen.WORKSPACE}.acme.example>",
        "Feedback-ID": f"{specimen.STREAM}:{letter.list_key}:{kind}:{specimen.WORKSPACE}",
    }
    is_listed = letter.way is not Way.TRANSACTIONAL
    assert {header: message[header] for header in expected} == (
        expected if is_listed else dict.fromkeys(expected)
    )
    is_automatic = letter.way is Way.NOTIFICATION
    assert message["Auto-Submitted"] == ("auto-generated" if is_automatic else None)


@each
def test_a_mail_is_its_text_and_its_html_and_nothing_else(name: str) -> None:
    letter = corpus.find(name)
    filled = specimen.fill_letter(letter)

    message = parsed(letter)

    parts = list(message.walk())
    assert [part.get_content_type() for part in parts] == [
        "multipart/alternative",
        "text/plain",
        "text/html",
    ]
    for part, expected in zip(parts[1:], (filled.text, filled.html), strict=True):
        assert part.keys() == ["Content-Type", "Content-Transfer-Encoding"]
        assert part.get_content_charset() == "utf-8"
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        assert content.decode() == re.sub(r"\r\n|\r|\n", "\r\n", expected)


@each
def test_the_wire_is_short_lines_of_ascii(name: str) -> None:
    letter = corpus.find(name)

    wire = specimen.wire(letter)

    raw = strict.read(wire)
    assert max(map(len, raw.body.split(b"\r\n"))) <= 76
    other = [header for header, value in raw.headers if not value.isascii()]
    is_plain = letter.address.rpartition("@")[0].isascii()
    assert other == ([] if is_plain else ["To"])
    assert raw.body.isascii()


@each
def test_no_liquid_is_left(name: str) -> None:
    letter = corpus.find(name)
    filled = specimen.fill_letter(letter)

    for text in (filled.subject, filled.text, filled.html):
        for shown in letter.shows:
            assert shown in filled.text + filled.html
            text = text.replace(shown, "").replace(escape(shown), "")  # noqa: PLW2901
        assert not re.search(r"\{\{|\{%", text)


@each
def test_the_html_nests_and_its_links_lead_somewhere(name: str) -> None:
    html = specimen.fill_letter(corpus.find(name)).html

    document = markup.read(html)

    assert document.faults == []
    assert document.unreachable() == []
    assert all("alt" in picture for picture in document.pictures())


@each
def test_the_html_names_its_language_and_the_way_it_is_written(name: str) -> None:
    letter = corpus.find(name)

    root = markup.read(specimen.fill_letter(letter).html).root()

    assert root["lang"] == letter.locale
    assert root.get("dir", "ltr") == styles.direction(letter.locale)


WORDS = {"ru": "Отписаться", "pt": "Cancelar a subscrição"}


@each
def test_the_footer_ends_both_parts_of_what_people_may_leave(name: str) -> None:
    letter = corpus.find(name)
    filled = specimen.fill_letter(letter)

    link = specimen.unsubscribe_url(letter)

    word = WORDS.get(name.split(".")[1], "Unsubscribe")
    count = 0 if letter.way is Way.TRANSACTIONAL else 1
    assert filled.html.count(f'<p><a href="{link}">{word}</a></p>') == count
    assert filled.text.count(f"\n{word}: {link}") == count
    assert filled.text.endswith(f"\n{word}: {link}") == bool(count)
