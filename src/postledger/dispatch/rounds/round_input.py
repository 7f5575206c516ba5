"""The input of one round: the waiting mails, their contents, and the consent of recipients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from django.conf import settings
from django.utils.module_loading import import_string

from postledger.contacts import queries as contact_queries
from postledger.contacts import standings, unsubscribe_links
from postledger.contacts.standings import Standings
from postledger.contacts.states import Purpose
from postledger.contacts.unsubscribe_links import GENERAL, UnsubscribeLinks
from postledger.content import letters
from postledger.content.rendering.letter import Letter
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Batch, Body, Recipient, StreamKind, Window
from postledger.deliveries.queries import StreamFacts
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.mailing.terms import ReadTerms, Terms


@dataclass(frozen=True, slots=True)
class RoundInput:
    """Everything composing needs, read after the claim; consent and terms are read once more."""

    recipients: Sequence[Recipient]
    bodies: Mapping[int, Body]  # by position; shared ones at `ledger.shared_position`
    standings: Standings
    # By the position of the body that names the letter.
    letters: Mapping[int, Letter | RefusedError] = MappingProxyType({})
    # How recipients unsubscribe, where the content offers it.
    unsubscribe: UnsubscribeLinks | None = None
    list_key: str = ""  # of the list they may unsubscribe from
    # Of contacts with a zone of their own, where the stream has a delivery window.
    time_zones: Mapping[int, str] = MappingProxyType({})
    # Of notifications, by position.
    terms: Mapping[int, Terms] = MappingProxyType({})


def read(stream: StreamFacts, windows: Sequence[Window], shared: Mapping[int, Body]) -> RoundInput:
    """Reads one round; `shared` are the stream's shared bodies that were read before."""
    recipients = queries.read_waiting(windows)
    bodies = _find_bodies(stream, recipients, shared)
    common = {at: body for at, body in bodies.items() if at < 0}
    # A newsletter of slices has hundreds of letters; one round needs a few of them.
    used = {ledger.shared_position(recipient.letter) for recipient in recipients}
    list_key = next((body.list_key for body in common.values()), "")
    return RoundInput(
        recipients,
        bodies,
        read_standings(stream, recipients, list_key=list_key),
        letters={
            at: _find_letter(stream.workspace_id, body.letter)
            for at, body in common.items()
            if body.letter and at in used
        },
        unsubscribe=unsubscribe_links.workspace_links(stream.workspace_id) if list_key else None,
        list_key=list_key,
        time_zones=_find_time_zones(stream, recipients),
        terms=read_terms(stream, recipients),
    )


def read_terms(
    stream: StreamFacts, recipients: Sequence[Recipient], *, leave_out_clear: bool = False
) -> Mapping[int, Terms]:
    """What holds for the notifications of a round at this moment; other mail has no terms."""
    if stream.kind is not StreamKind.TOPIC or not recipients:
        return {}
    read_topic_terms: ReadTerms = import_string(settings.TOPIC_TERMS)
    return read_topic_terms(stream.id, recipients, leave_out_clear=leave_out_clear)


def _find_time_zones(stream: StreamFacts, recipients: Sequence[Recipient]) -> Mapping[int, str]:
    if stream.delivery_window is None:
        return {}
    ids = [item.contact_id for item in recipients if item.contact_id]
    return contact_queries.find_time_zones(stream.workspace_id, ids)


def cut_windows(
    windows: Sequence[Window], recipients: Sequence[Recipient], count: int
) -> tuple[list[Window], list[Batch]]:
    """The windows of the first so many recipients, and the batches that are left out."""
    if count >= len(recipients):
        return list(windows), []
    end = sorted(recipient.position for recipient in recipients)[count]
    kept = [replace(window, to=min(window.to, end)) for window in windows if window.batch.lo < end]
    return kept, [window.batch for window in windows if window.batch.lo >= end]


def keep_recipients(read: RoundInput, windows: Sequence[Window]) -> RoundInput:
    """The input of windows that were cut."""
    ranges = [(window.batch.lo, window.to) for window in windows]
    kept = [item for item in read.recipients if any(lo <= item.position < to for lo, to in ranges)]
    return read if len(kept) == len(read.recipients) else replace(read, recipients=kept)


def read_standings(
    stream: StreamFacts, recipients: Sequence[Recipient], *, list_key: str
) -> Standings:
    """The consent of a round's recipients at this moment.

    Nobody gets the mail of a test key, and its results must not tell who is suppressed: for it,
    everybody is as their mail says. A notification waits until a snooze ends: its terms see to it.
    """
    is_service = stream.kind is StreamKind.TRANSACTIONAL
    purpose = Purpose.SERVICE if is_service else Purpose.NEWS
    contacts = {item.contact_id: item.address.lower() for item in recipients if item.contact_id}
    if stream.is_test:
        return Standings({}, contacts, purpose=purpose)
    return standings.read_standings(
        stream.workspace_id,
        [recipient.address for recipient in recipients],
        list(contacts),
        list_key=list_key or None,
        is_to_all=list_key == GENERAL,
        purpose=purpose,
        is_snooze_pause=stream.kind is not StreamKind.TOPIC,
    )


def _find_letter(workspace_id: int, digest: str) -> Letter | RefusedError:
    try:
        letter = letters.find(workspace_id, digest=digest)
    except RefusedError as refused:
        return refused
    return letter or LetterGoneError("The letter that it is made from does not exist any more.")


class LetterGoneError(NotFoundError):
    code = "letter_gone"


def _find_bodies(
    stream: StreamFacts, recipients: Sequence[Recipient], shared: Mapping[int, Body]
) -> Mapping[int, Body]:
    """The mails of a stream share bodies, or each has its own."""
    own = [recipient.position for recipient in recipients]
    if stream.kind is StreamKind.TRANSACTIONAL:
        return queries.read_bodies(stream.id, own, with_secrets=True)
    needed = {ledger.shared_position(recipient.letter) for recipient in recipients}
    if missing := needed - shared.keys():
        shared = {**shared, **queries.read_bodies(stream.id, sorted(missing))}
    if needed & shared.keys() or not needed:
        return shared
    # A stream that was filled by `enqueue` has no shared bodies: each mail has its own.
    return queries.read_bodies(stream.id, own)
