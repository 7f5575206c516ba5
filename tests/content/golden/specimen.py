"""One letter of the corpus: what was written, for whom, and the bytes that become of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import assert_never

from postledger.contacts.standings import Standings
from postledger.contacts.unsubscribe_links import UnsubscribeLinks
from postledger.content.rendering.footer import Footer
from postledger.content.rendering.letter import Letter, Script
from postledger.deliveries.entries import Batch, Body, Recipient, StreamKind, Window
from postledger.deliveries.ledger import shared_position
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch.rounds.compose import ComposedRound, Composer
from postledger.dispatch.rounds.round_input import RoundInput
from postledger.providers.base import Mailbox

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
STREAM = 1_382_979_469_313
WORKSPACE = 7
SENDER = Mailbox("news@acme.example", "Acme Library")
FOOTER = Footer("Acme Library", "1 Main Street, Springfield 12345")
LEAVING = UnsubscribeLinks(
    "https://mail.acme.example/unsubscribe", b"a secret of the corpus", WORKSPACE
)


class Way(StrEnum):
    """How a letter goes out, which decides about its footer and its headers."""

    CAMPAIGN = "campaign"  # to a list
    NOTIFICATION = "notification"  # because something happened
    TRANSACTIONAL = "transactional"  # to one person, as it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    name: str
    way: Way
    script: Script
    address: str
    values: Mapping[str, object]
    locale: str = "en"
    list_key: str = "news"
    sender: Mailbox = SENDER
    reply_to: str = ""
    leaving: UnsubscribeLinks = LEAVING

    @property
    def recipient_name(self) -> str:
        name = self.values.get("name", "")
        assert isinstance(name, str)
        return name


@dataclass(frozen=True, slots=True)
class FilledLetter:
    """What a letter says to its recipient."""

    subject: str
    html: str
    text: str


@cache
def letter(script: Script) -> Letter:
    return Letter(script)


def fill_letter(specimen: Specimen) -> FilledLetter:
    values = {"name": "", **specimen.values, "email": specimen.address}
    if specimen.way is not Way.TRANSACTIONAL:
        values["unsubscribe_url"] = unsubscribe_url(specimen)
    if specimen.way is Way.NOTIFICATION:
        link, manage_link = specimen.leaving.urls(specimen.address, list_key=specimen.list_key)
        values = {"manageUrl": manage_link, "unsubscribeUrl": link, **values}
    made = letter(specimen.script)
    filled = made.fill(values)
    return FilledLetter(filled.subject, *made.join(filled))


def unsubscribe_url(specimen: Specimen) -> str:
    return specimen.leaving.url(specimen.address, list_key=specimen.list_key)


def wire(specimen: Specimen) -> bytes:
    [mail] = draft(specimen).mails
    assert isinstance(mail.message.content, bytes)
    return mail.message.content


def draft(specimen: Specimen) -> ComposedRound:
    """The letter as a worker composes it; raises RefusedError as the doors do before that."""
    match specimen.way:
        case Way.CAMPAIGN:
            return _to_many(specimen, StreamKind.CAMPAIGN)
        case Way.NOTIFICATION:
            return _to_many(specimen, StreamKind.TOPIC)
        case Way.TRANSACTIONAL:
            return _alone(specimen)
        case never:
            assert_never(never)


def _to_many(specimen: Specimen, kind: StreamKind) -> ComposedRound:
    made = letter(specimen.script)
    body = Body(letter=made.digest.hex(), list_key=specimen.list_key, reply_to=specimen.reply_to)
    page = RoundInput(
        [Recipient(0, specimen.address, None, specimen.values, 0)],
        {shared_position(0): body},
        Standings({}, {}),
        letters={shared_position(0): made},
        unsubscribe=specimen.leaving,
    )
    return _composed(specimen, kind, page)


def _alone(specimen: Specimen) -> ComposedRound:
    filled = fill_letter(specimen)
    body = Body(
        subject=filled.subject,
        html=filled.html,
        text=filled.text,
        to_name=specimen.recipient_name,
        reply_to=specimen.reply_to,
    )
    recipient = Recipient(0, specimen.address, None, None, 0)
    return _composed(
        specimen, StreamKind.TRANSACTIONAL, RoundInput([recipient], {0: body}, Standings({}, {}))
    )


def _composed(specimen: Specimen, kind: StreamKind, page: RoundInput) -> ComposedRound:
    facts = StreamFacts(
        id=STREAM,
        workspace_id=WORKSPACE,
        sender_id=2,
        kind=kind,
        title="Corpus",
        is_test=False,
        created_at=NOON,
        cancelled_at=None,
        cancelled_by=None,
        holds=(),
    )
    window = Window(Batch(1, STREAM, 0, 1, 1, 0), 1)
    return Composer(facts, specimen.sender, NOON, sign=str).compose([window], page)
