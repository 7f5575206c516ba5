"""Looks again for the mail of people who were erased while some of it waited.

A worker may have had it in its hands, one person may have needed it, or it was being planned at
that very moment. Without this, it would keep the person's address until somebody erases again.
"""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from typing import LiteralString

from postledger.contacts import sql
from postledger.deliveries import ledger
from postledger.lib import work_leases
from postledger.lib.work_leases import Work
from postledger.privacy.models import Pending

# Longer than a chunk is planned, and than nearly all workers have a mail.
PAUSE = timedelta(minutes=10)
_SHIFT = 60.0  # seconds in which another look may begin

_KEEP: LiteralString = """
INSERT INTO privacy_pending (workspace_id, address_hash, contact_ids, look_at)
VALUES (
    %(workspace)s, contacts_fingerprint((SELECT salt FROM contacts_salt), %(address)s),
    %(contacts)s, statement_timestamp() + %(pause)s
)
"""


def keep(workspace_id: int, *, address: str, contact_ids: Sequence[int]) -> None:
    params = {
        "workspace": workspace_id,
        "address": address,
        "contacts": list(contact_ids),
        "pause": PAUSE,
    }
    sql.changed(_KEEP, params)


def look_again(now: datetime) -> int:
    """Forgets what has come up since; says how many of the erased have nothing left that waits.

    For some time, and never twice at once: with many lines a look takes long, and workers have
    other things to do.
    """
    due = Pending.objects.filter(look_at__lte=now).order_by("look_at")
    end = time.monotonic() + _SHIFT
    with work_leases.alone(Work.FORGETTING) as is_ours:
        in_time = takewhile(lambda _: time.monotonic() < end, due if is_ours else ())
        return sum(_is_done(one, now) for one in in_time)


def _is_done(one: Pending, now: datetime) -> bool:
    """Every look takes twice as long to come as the one before: it reads all lines."""
    there = Pending.objects.filter(pk=one.pk)
    there.update(look_at=max(now + PAUSE, now + (now - one.erased_at)))
    found = ledger.forget_again(
        one.workspace_id,
        fingerprint=bytes(one.address_hash),
        contact_ids=one.contact_ids,
        until=one.erased_at,
    )
    if found.waiting:
        return False
    there.delete()
    return True
