"""What one round reads: the mails that wait, their contents, and who may be mailed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from postledger.contacts import links
from postledger.contacts import queries as contacts
from postledger.contacts.queries import Standings
from postledger.contacts.states import Purpose
from postledger.contacts.unsubscribe import Leaving
from postledger.content import letters
from postledger.content.letter import Letter
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Body, Kind, Recipient, Window
from postledger.deliveries.queries import StreamFacts
from postledger.lib.errors import RefusedError


@dataclass(frozen=True, slots=True)
class RoundInput:
    """Everything composing needs, read after the claim; only consent is asked for once more."""

    recipients: Sequence[Recipient]
    bodies: Mapping[int, Body]  # by position; what many share is where `ledger.shared` says
    standings: Standings
    # What mails are filled in from, or why they are not, by the place of the body that names it.
    letters: Mapping[int, Letter | RefusedError] = MappingProxyType({})
    unsubscribe: Leaving | None = None  # how recipients unsubscribe, where the content offers it
    list_key: str = ""  # of the list they may unsubscribe from


def read(stream: StreamFacts, windows: Sequence[Window], shared: Mapping[int, Body]) -> RoundInput:
    """Reads one round; `shared` are the stream's common bodies that are known already."""
    recipients = queries.waiting(windows)
    bodies = _find_bodies(stream, recipients, shared)
    common = {place: body for place, body in bodies.items() if place < 0}
    # A newsletter of slices has hundreds; of those only a few are needed in one round.
    used = {ledger.shared(recipient.letter) for recipient in recipients}
    list_key = next((body.list_key for body in common.values()), "")
    return RoundInput(
        recipients,
        bodies,
        read_standings(stream, recipients, list_key=list_key),
        letters={
            place: _find_letter(stream.workspace_id, body.letter)
            for place, body in common.items()
            if body.letter and place in used
        },
        unsubscribe=links.leaving(stream.workspace_id) if list_key else None,
        list_key=list_key,
    )


def read_standings(
    stream: StreamFacts, recipients: Sequence[Recipient], *, list_key: str
) -> Standings:
    """Whether a round's recipients may be mailed, as the books of consent say at this moment."""
    is_service = stream.kind is Kind.TRANSACTIONAL
    return contacts.standings(
        stream.workspace_id,
        [recipient.address for recipient in recipients],
        [recipient.contact_id for recipient in recipients if recipient.contact_id is not None],
        list_key=list_key or None,
        purpose=Purpose.SERVICE if is_service else Purpose.NEWS,
    )


def _find_letter(workspace_id: int, digest: str) -> Letter | RefusedError:
    try:
        found = letters.find(workspace_id, digest=digest)
    except RefusedError as refused:
        return refused
    return found or LetterGoneError("The letter that it is made from is not there any more.")


class LetterGoneError(RefusedError):
    code = "letter_gone"


def _find_bodies(
    stream: StreamFacts, recipients: Sequence[Recipient], known: Mapping[int, Body]
) -> Mapping[int, Body]:
    """A stream's lines share bodies, or each has its own."""
    own = [recipient.position for recipient in recipients]
    if stream.kind is Kind.TRANSACTIONAL:
        return queries.bodies(stream.id, own)
    wanted = {ledger.shared(recipient.letter) for recipient in recipients}
    missing = wanted - known.keys()
    found = {**known, **queries.bodies(stream.id, sorted(missing))} if missing else known
    return queries.bodies(stream.id, own) if wanted and not wanted & found.keys() else found
