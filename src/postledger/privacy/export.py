"""Everything that is known of one person, as one document that they may be given."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime

from postledger.contacts import profiles, suppressions
from postledger.contacts.profiles import Event, Profile
from postledger.deliveries import mailed
from postledger.privacy import words
from postledger.providers import addresses


def export(workspace_id: int, *, address: str, now: datetime) -> str:
    """JSON: every contact of the address, deleted ones too, with its subscriptions and consents;
    what happened to the address without one, what keeps it back, and every mail to it, or to
    another address that its contacts had then.
    """
    canonical = addresses.canonical(address)
    contact_ids = profiles.ids_of(workspace_id, address=canonical)
    document = {
        "address": canonical,
        "exported_at": now,
        "contacts": [
            asdict(replace(profile, history=list(_history(workspace_id, profile.id))))
            for profile in _profiles(workspace_id, contact_ids)
        ],
        "history": [
            asdict(event) for event in profiles.history_of(workspace_id, address=canonical)
        ],
        "suppressions": list(_suppressions(workspace_id, canonical)),
        "mails": list(_mails(workspace_id, canonical, contact_ids)),
    }
    return json.dumps(document, default=str, ensure_ascii=False, indent=2)


def _profiles(workspace_id: int, contact_ids: Sequence[int]) -> Iterator[Profile]:
    for contact_id in contact_ids:
        profile = profiles.find(workspace_id, contact_id=contact_id, is_deleted_shown=True)
        if profile is not None:
            yield profile


def _history(workspace_id: int, contact_id: int) -> Iterator[Event]:
    """All of it: a profile has the newest lines only."""
    page = profiles.history(workspace_id, contact_id=contact_id)
    while page:
        yield from page
        page = profiles.history(workspace_id, contact_id=contact_id, before=page[-1].id)


def _suppressions(workspace_id: int, address: str) -> Iterator[dict[str, object]]:
    """Without a list, it is about all mail."""
    for kept in suppressions.of_address(workspace_id, address=address):
        yield {
            "list_key": kept.list_key,
            "reason": kept.reason,
            "has_left": kept.has_left,
            "created_at": kept.created_at,
        }


def _mails(
    workspace_id: int, address: str, contact_ids: Sequence[int]
) -> Iterator[dict[str, object]]:
    """With their words, whether they were written for one or for many."""
    said = words.Reader(workspace_id)
    for mail in mailed.to_person(workspace_id, address=address, contact_ids=contact_ids):
        told = asdict(said.words(mail))
        del told["letter"], told["list_key"]  # where the words came from tells nobody anything
        yield told
