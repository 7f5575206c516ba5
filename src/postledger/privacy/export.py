"""Everything that is known of one person, as one document that they may be given."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import datetime

from postledger.contacts import profiles
from postledger.contacts.models import Contact
from postledger.contacts.profiles import Event, Profile
from postledger.deliveries import mailed
from postledger.providers import addresses


def export(workspace_id: int, *, address: str, now: datetime) -> str:
    """JSON: the contact, its subscriptions and consents, and every mail that was sent to it."""
    canonical = addresses.canonical(address)
    document = {
        "address": canonical,
        "exported_at": now,
        "contacts": [
            asdict(replace(profile, history=list(_history(workspace_id, profile.id))))
            for profile in _profiles(workspace_id, canonical)
        ],
        "mails": list(_mails(workspace_id, canonical)),
    }
    return json.dumps(document, default=str, ensure_ascii=False, indent=2)


def _profiles(workspace_id: int, address: str) -> Iterator[Profile]:
    there = Contact.objects.filter(
        workspace_id=workspace_id, address__iexact=address, deleted_at=None
    )
    for contact_id in there.order_by("pk").values_list("pk", flat=True):
        profile = profiles.find(workspace_id, contact_id=contact_id)
        if profile is not None:
            yield profile


def _history(workspace_id: int, contact_id: int) -> Iterator[Event]:
    """All of it: a profile has the newest lines only."""
    page = profiles.history(workspace_id, contact_id=contact_id)
    while page:
        yield from page
        page = profiles.history(workspace_id, contact_id=contact_id, before=page[-1].id)


def _mails(workspace_id: int, address: str) -> Iterator[dict[str, object]]:
    for mail in mailed.to_address(workspace_id, address=address):
        yield asdict(mail)
