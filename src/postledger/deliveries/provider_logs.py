"""Finds our mails in a provider's log or events, or in Postfix's log."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from postledger.lib import references
from postledger.lib.ids import DeliveryId
from postledger.lib.references import Key

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_REFERENCE = re.compile(rf"{_UUID}_\d{{1,18}}_[a-z2-7]{{16}}")
# Postfix writes the Message-ID before it has taken the mail, and the queue id again when it has.
_QUEUED = re.compile(
    rf"\b([0-9A-Za-z]{{4,32}}): message-id=<({_UUID})@[^>\s]{{1,255}}>", re.IGNORECASE
)
_QUEUE_ID = re.compile(r"\b([0-9A-Za-z]{4,32}): ")
_TAKEN = re.compile(r"\(queue active\)|\bstatus=\w")
# SES's name for a mail that was refused before it was sent.
_NOT_TAKEN = re.compile(r"Rendering ?Failure", re.IGNORECASE)
_LONGEST_LINE = 1_000_000


@dataclass(frozen=True, slots=True)
class Mention:
    """One mail that the provider had; a Message-ID names no try and no epoch."""

    delivery_id: DeliveryId
    epoch: int | None


def mentions(lines: Iterable[str], keys: Sequence[Key]) -> Iterator[Mention]:
    """The mails that a log shows to have been taken; forged references are passed over.

    Of a Message-ID, Postfix's queue id has to come up again as active or with a status: what was
    refused at its end, or cut off, has none.
    """
    queued: dict[str, str] = {}
    for line in lines:
        if len(line) > _LONGEST_LINE or _NOT_TAKEN.search(line):
            continue
        for text in _REFERENCE.findall(line):
            reference = references.read(text, keys)
            if reference is not None:
                yield Mention(reference.delivery_id, reference.epoch)
        if match := _QUEUED.search(line):
            queued[match[1]] = match[2].lower()
        elif (queue_id := _find_taken(line)) in queued:
            delivery_id = DeliveryId.parse(queued.pop(queue_id))
            if delivery_id is not None:
                yield Mention(delivery_id, None)


def _find_taken(line: str) -> str:
    """The queue id that a line shows to be active or to have a status; empty without one."""
    match = _QUEUE_ID.search(line)
    return match[1] if match and _TAKEN.search(line, match.end()) else ""
