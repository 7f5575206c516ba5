"""No word of a letter, of its reader or of who sends it adds a header, a part or a recipient."""

from collections.abc import Callable
from dataclasses import replace
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser

import pytest

from postledger.content import slices
from postledger.content.notion import mailouts
from postledger.content.rendering.footer import Footer
from postledger.content.rendering.letter import Script
from postledger.content.rendering.source import Format, Source, make_fragment_script, make_script
from postledger.content.slices import Slice
from postledger.lib.errors import RefusedError
from postledger.providers.base import Mailbox
from tests.content.golden import specimen
from tests.content.golden.specimen import LEAVING, Specimen, Way
from tests.fakes import notion_pages
from tests.providers import strict
from tests.providers.test_header_injection import BREAKS

pytestmark = pytest.mark.slow

LOAD = "Bcc: mallory@evil.example"
BETWEEN = "News{0}" + LOAD + "{0}more"
# Every line end in the middle of a value, and one of them wherever the line seems to end.
VALUES = [BETWEEN.format(ending) for ending in BREAKS.values()] + [
    f"\r\n{LOAD}",
    "News\r\n",
    "News\r\nBcc:mallory@evil.example",
]
LOOKS = {"percent", "encoded LF", "encoded CRLF"}  # like a line end, and are none
ENDS = sorted(BREAKS.keys() - LOOKS)
WORDS = Script(
    "News of {{ topic }}",
    '<p>Hello {{ name }}, <a href="{{ link }}">{{ topic }}</a>.</p>',
    "Hello {{ name }}, {{ topic }}: {{ link }}",
    required=("topic", "link"),
)
LETTER = Specimen(
    name="injection",
    way=Way.CAMPAIGN,
    script=WORDS.with_footer(specimen.FOOTER),
    address="alice@example.com",
    values={"name": "Alice", "topic": "spring", "link": "https://acme.example/spring"},
    reply_to="desk@acme.example",
)
ALONE = replace(LETTER, way=Way.TRANSACTIONAL, script=WORDS)


def of_notion(title: str) -> Specimen:
    page = {"id": "1", "properties": {"Name": notion_pages.title(title)}}
    script = make_fragment_script(
        mailouts.parse(page).subject,
        html="<p>a</p>",
        text="a",
        locale="en",
        footer=Footer("A", "B"),
    )
    return replace(LETTER, script=script)


def of_slice(title: str) -> Specimen:
    piece = Slice(id=1, is_headline=True, title=title, body_md="Body.", is_published=True)
    assembled = slices.assemble([piece], ocd_ids=frozenset(), now=specimen.NOON)
    source = assembled.source()
    return replace(LETTER, script=make_script(source, footer=specimen.FOOTER))


def of_source(subject: str) -> Specimen:
    source = Source(subject, "Hello.", Format.MARKDOWN)
    return replace(LETTER, script=make_script(source, footer=specimen.FOOTER))


def with_value(letter: Specimen, **values: str) -> Specimen:
    return replace(letter, values={**letter.values, **values})


def with_subject(subject: str) -> Specimen:
    return replace(LETTER, script=replace(LETTER.script, subject=subject))


def with_footer(**parts: str) -> Specimen:
    return replace(LETTER, script=WORDS.with_footer(replace(specimen.FOOTER, **parts)))


# Every way by which somebody's words come near a header.
FIELDS: dict[str, Callable[[str], Specimen]] = {
    "value in a subject": lambda evil: with_value(LETTER, topic=evil),
    "value in a subject, filtered": lambda evil: with_value(
        with_subject("{{ topic | upcase }}"), topic=evil
    ),
    "value in a subject, in a loop": lambda evil: with_value(
        with_subject("{% for n in (1..2) %}{{ topic }}{% endfor %}"), topic=evil
    ),
    "value in the subject of one mail": lambda evil: with_value(ALONE, topic=evil),
    "subject": of_source,
    "title of a Notion page": of_notion,
    "title of a slice": of_slice,
    "recipient's name": lambda evil: with_value(LETTER, name=evil),
    "recipient's name in one mail": lambda evil: with_value(ALONE, name=evil),
    "recipient": lambda evil: replace(LETTER, address=f"{evil}@example.com"),
    "recipient's domain": lambda evil: replace(LETTER, address=f"alice@{evil}"),
    "list": lambda evil: replace(LETTER, list_key=evil),
    "list of a notification": lambda evil: replace(LETTER, way=Way.NOTIFICATION, list_key=evil),
    "organisation's name": lambda evil: with_footer(org_name=evil),
    "organisation's address": lambda evil: with_footer(org_address=evil),
    "unsubscribe page": lambda evil: replace(
        LETTER, leaving=replace(LEAVING, base_url=f"https://mail.acme.example/{evil}")
    ),
    "sender's name": lambda evil: replace(LETTER, sender=Mailbox("news@acme.example", evil)),
    "sender": lambda evil: replace(LETTER, sender=Mailbox(f"{evil}@acme.example", "Acme")),
    "reply address": lambda evil: replace(LETTER, reply_to=evil),
    "value in a link": lambda evil: with_value(LETTER, link=f"https://acme.example/{evil}"),
}
# Where a line end ends the mail.
STRICT_FIELDS = {
    *("recipient's name in one mail", "recipient", "recipient's domain", "list", "sender's name"),
    *("list of a notification", "unsubscribe page", "sender", "reply address"),
}


def compose_letter(field: str, evil: str) -> tuple[Specimen, bytes] | None:
    """The letter and its wire; None when it was refused, as it was made or by the worker."""
    try:
        letter = FIELDS[field](evil)
        draft = specimen.draft(letter)
    except RefusedError:
        return None
    assert len(draft.mails) + len(draft.verdicts) == 1
    return (letter, specimen.wire(letter)) if draft.mails else None


def parsed(wire: bytes) -> EmailMessage:
    parser = BytesParser(policy=policy.SMTP.clone(raise_on_defect=True))
    message = parser.parsebytes(wire)
    assert isinstance(message, EmailMessage)
    return message


HEADERS = {
    way: strict.names(specimen.wire(replace(letter, way=way)))
    for way, letter in {
        Way.CAMPAIGN: LETTER,
        Way.NOTIFICATION: LETTER,
        Way.TRANSACTIONAL: ALONE,
    }.items()
}


def test_a_letter_has_its_headers_and_no_others() -> None:
    for field in FIELDS:
        for evil in VALUES:
            composed = compose_letter(field, evil)
            if composed is None:
                continue
            letter, wire = composed
            assert strict.names(wire) == HEADERS[letter.way], evil
            message = parsed(wire)
            assert [part.get_content_type() for part in message.walk()] == [
                "multipart/alternative",
                "text/plain",
                "text/html",
            ], evil
            assert [box.addr_spec for box in message["To"].addresses] == [letter.address], evil
            assert [box.addr_spec for box in message["From"].addresses] == [
                letter.sender.address
            ], field
            for name, value in message.items():
                assert len(str(value).splitlines()) == 1, (name, evil)


def test_a_line_end_in_what_stands_in_a_header_ends_the_mail() -> None:
    for field in sorted(STRICT_FIELDS):
        for ending in ENDS:
            assert compose_letter(field, BETWEEN.format(BREAKS[ending])) is None, ending


def test_a_line_end_in_a_value_of_a_subject_and_in_the_name_of_one_of_many_is_a_space() -> None:
    for ending in sorted(set(ENDS) - {"NUL"}):
        words = BETWEEN.format(BREAKS[ending])

        for field in ("value in a subject", "value in the subject of one mail"):
            composed = compose_letter(field, words)
            assert composed, ending
            assert parsed(composed[1])["Subject"] == f"News of News {LOAD} more", ending
        composed = compose_letter("recipient's name", words)
        assert composed, ending
        [box] = parsed(composed[1])["To"].addresses
        assert box.display_name == f"News {LOAD} more", ending


def test_what_only_looks_like_a_line_end_arrives_as_it_was() -> None:
    for look in sorted(LOOKS):
        words = f"News{BREAKS[look]}Bcc:mallory@evil.example"

        subject = compose_letter("value in a subject", words)
        name = compose_letter("recipient's name", words)

        assert subject
        assert parsed(subject[1])["Subject"] == f"News of {words}"
        assert name
        assert parsed(name[1])["To"].addresses[0].display_name == words
