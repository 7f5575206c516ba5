"""What one round of work reads: the mails that wait, their contents, and who may be mailed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from postledger.contacts import links
from postledger.contacts import queries as contacts
from postledger.contacts.queries import Standings
from postledger.contacts.unsubscribe import Leaving
from postledger.content import letters
from postledger.content.letter import Letter
from postledger.deliveries import queries
from postledger.deliveries.entries import Body, Kind, Recipient, Window
from postledger.deliveries.ledger import SHARED
from postledger.deliveries.queries import StreamFacts
from postledger.lib.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Page:
    """Everything composing needs, read after the claim: nothing is looked up later."""

    recipients: Sequence[Recipient]
    bodies: Mapping[int, Body]  # by position; what all share is at SHARED
    standings: Standings
    letter: Letter | RefusedError | None = None  # what all are filled in from, or why nobody is
    leaving: Leaving | None = None  # how recipients leave, where the content says they may


def read(stream: StreamFacts, windows: Sequence[Window], shared: Body | None) -> Page:
    """Reads a round's page; `shared` is the stream's common body where it is known already."""
    recipients = queries.waiting(windows)
    standings = contacts.standings(
        stream.workspace_id,
        [recipient.address for recipient in recipients],
        [recipient.contact_id for recipient in recipients if recipient.contact_id is not None],
    )
    bodies = _bodies(stream, recipients, shared)
    common = bodies.get(SHARED, _NOTHING)
    return Page(
        recipients,
        bodies,
        standings,
        letter=_letter(stream.workspace_id, common.letter),
        leaving=links.leaving(stream.workspace_id) if common.list_key else None,
    )


_NOTHING = Body()


def _letter(workspace_id: int, digest: str) -> Letter | RefusedError | None:
    if not digest:
        return None
    try:
        found = letters.find(workspace_id, digest=digest)
    except RefusedError as refused:
        return refused
    return found or LetterGoneError("The letter that it is made from is not there any more.")


class LetterGoneError(RefusedError):
    code = "letter_gone"


def _bodies(
    stream: StreamFacts, recipients: Sequence[Recipient], shared: Body | None
) -> Mapping[int, Body]:
    """A stream's lines share one body, or each has its own."""
    if shared is not None:
        return {SHARED: shared}
    if stream.kind is not Kind.TRANSACTIONAL:
        found = queries.bodies(stream.id, [SHARED])
        if found:
            return found
    return queries.bodies(stream.id, [recipient.position for recipient in recipients])
