"""A newsletter for many, made in our way and in others; `render` measures them."""

import statistics
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from functools import partial

from postledger.contacts.standings import Standings
from postledger.contacts.unsubscribe_links import UnsubscribeLinks
from postledger.content import slices
from postledger.content.rendering.footer import Footer
from postledger.content.rendering.letter import Letter, Script
from postledger.content.slices import Slice
from postledger.deliveries.entries import Batch, Body, Recipient, StreamKind, Window
from postledger.deliveries.ledger import shared_position
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch.rounds.compose import Composer
from postledger.dispatch.rounds.round_input import RoundInput
from postledger.lib import references
from postledger.providers.base import Mailbox

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
STREAM = 1_382_979_469_313
SENDER = Mailbox("news@acme.example", "Acme News")
SIGN = partial(references.write, epoch=1, key=references.derive_keys(["a secret"])[0])
LEAVING = UnsubscribeLinks(
    "https://mail.acme.example/unsubscribe", b"a secret of the measurement", 7
)
_SENTENCE = "The quick brown fox jumps over the lazy dog, and the café is open. "
_ARTICLE = (
    '<tr><td style="padding:12px 24px;font-family:sans-serif;font-size:16px;line-height:24px">'
    f"<h2>News</h2><p>{_SENTENCE * 4}</p></td></tr>\n"
)
_AT_ONCE = 200
_NAMES = ("first_name", "city", "plan", "points", "link")


def script(*, has_conditions: bool) -> Script:
    """About 30 KB of HTML, with six variables beside the link to leave."""
    greeting = "<p>Dear {{ first_name }} ({{ name }}) of {{ city }},</p>"
    closing = '<p>{{ plan }}: {{ points }} <a href="{{ link }}">points</a></p>'
    if has_conditions:
        closing = (
            "{% if points > 500 %}<p>Well done!</p>{% endif %}"
            "{% for n in (1..5) %}<p>{{ n }}. {{ city | upcase }}</p>{% endfor %}" + closing
        )
    html = f"<html><body><table>{greeting}{_ARTICLE * 72}{closing}</table></body></html>"
    text = "Dear {{ first_name }} of {{ city }},\n\n" + (_SENTENCE * 3 + "\n\n") * 15 + "{{ link }}"
    made = Script("{{ first_name }}, your news", html, text, required=_NAMES)
    return made.with_footer(Footer("Acme Ltd", "1 Main Street, Springfield"))


def recipients(count: int) -> list[Recipient]:
    return [
        Recipient(
            at,
            f"reader{at}@example.com",
            None,
            {
                "name": f"Alice Reader {at}",
                "first_name": "Alice",
                "city": "Springfield",
                "plan": "Gold",
                "points": at % 1000,
                "link": f"https://acme.example/account/{at}?source=newsletter",
            },
            0,
        )
        for at in range(count)
    ]


def composing(letter: Letter, to: Sequence[Recipient]) -> Callable[[], object]:
    facts = StreamFacts(
        id=STREAM,
        workspace_id=7,
        sender_id=2,
        kind=StreamKind.CAMPAIGN,
        title="News",
        is_test=False,
        created_at=NOW,
        cancelled_at=None,
        cancelled_by=None,
        holds=(),
    )
    # As a worker does it: as many at a time as one turn of a carrier arms.
    rounds = [to[first : first + _AT_ONCE] for first in range(0, len(to), _AT_ONCE)]
    body = Body(letter=letter.digest.hex(), list_key="news")

    def compose() -> None:
        for some in rounds:
            page = RoundInput(
                some,
                {shared_position(0): body},
                Standings({}, {}),
                letters={shared_position(0): letter},
                unsubscribe=LEAVING,
            )
            window = Window(Batch(1, STREAM, 0, len(to), 1, 0), len(to))
            draft = Composer(facts, SENDER, NOW, SIGN).compose([window], page)
            assert len(draft.mails) == len(some)

    return compose


def by_stdlib(letter: Letter, to: Sequence[Recipient]) -> Callable[[], object]:
    """The same mail as most programs make it: a message object for each recipient."""

    def compose() -> None:
        for recipient in to:
            values = dict(recipient.variables or {})
            values["unsubscribe_url"] = LEAVING.url(recipient.address, list_key="news")
            filled = letter.fill(values)
            html, text = letter.join(filled)
            message = EmailMessage(policy=SMTP)
            message["From"] = f"{SENDER.name} <{SENDER.address}>"
            message["To"] = recipient.address
            message["Subject"] = filled.subject
            message["Date"] = format_datetime(NOW)
            message["List-Unsubscribe"] = f"<{values['unsubscribe_url']}>"
            message.set_content(text)
            message.add_alternative(html, subtype="html")
            message.as_bytes()

    return compose


def by_join(to: Sequence[Recipient]) -> Callable[[], object]:
    """The least there is: bytes that are ready, joined."""
    pieces = [b"x" * 5_500] * 8
    values = [b"Alice"] * 8

    def compose() -> None:
        for _ in to:
            b"".join(piece for pair in zip(pieces, values, strict=True) for piece in pair)

    return compose


def microseconds(work: Callable[[], object], count: int, rounds: int) -> float:
    """Of the processor, for one recipient; the median of some rounds."""
    measured = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        measured.append((time.process_time() - began) / count * 1e6)
    return statistics.median(measured)


def assembling(people: int, sets: int) -> tuple[int, float]:
    """How often slices are assembled for recipients who share few sets of places."""
    pieces = [
        Slice(
            id=at,
            scope_ocd_id=f"ocd-division/country:us/place:{at}",
            section="",
            section_order=0,
            sort_index=at,
            is_headline=True,
            title=f"Place {at}",
            dek="",
            body_md="News.",
            published_from=None,
            published_until=None,
            is_published=True,
        )
        for at in range(sets)
    ]
    began = time.process_time()
    made: dict[frozenset[str], slices.Assembled] = {}
    scopes = slices.open_scopes(pieces, now=NOW)
    for person in range(people):
        places = frozenset({f"ocd-division/country:us/place:{person % sets}", "ocd-division/x"})
        matters = places & scopes
        if matters not in made:
            made[matters] = slices.assemble(pieces, ocd_ids=matters, now=NOW)
    return len(made), time.process_time() - began
