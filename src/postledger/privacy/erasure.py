"""Erases a person everywhere: the contact, the imports that name it, and its mail.

Some of the mail may be with a worker, in doubt, or being planned at that moment. A pending
erasure looks for it again later; otherwise it would keep the person's address.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import LiteralString

from django.db import transaction

from postledger.campaigns.models import Run
from postledger.campaigns.planning import exclusions
from postledger.contacts import queries, sql
from postledger.contacts.actions import erasing
from postledger.contacts.models import Contact
from postledger.deliveries import ledger
from postledger.imports import uploads
from postledger.imports.models import ImportProblem
from postledger.imports.problems import mask_value
from postledger.lib import work_leases
from postledger.lib.work_leases import Work
from postledger.notifications.subscriptions import personal_data
from postledger.privacy.models import Pending
from postledger.providers import addresses
from postledger.supabase import removals

# Longer than the planning of a chunk, and than nearly all workers hold a mail.
RETRY_AFTER = timedelta(minutes=10)
_MAX_SECONDS = 60.0  # after which a worker starts no further retry


@dataclass(frozen=True, slots=True)
class Erasure:
    """The counts of erased rows; waiting mails are emptied automatically after they ended."""

    contacts: int
    consents: int
    mails: int
    waiting: int
    uploads: int  # files that were waiting to be imported


_STORE_PENDING: LiteralString = """
INSERT INTO privacy_pending (workspace_id, address_hash, contact_ids, look_at)
VALUES (
    %(workspace)s, contacts_fingerprint(%(hash_key)s::bytea, %(address)s),
    %(contacts)s, statement_timestamp() + %(retry_after)s
)
"""


def erase(
    workspace_id: int, *, address: str, contact_id: int | None = None, actor: str, now: datetime
) -> Erasure:
    """Erases the contacts with this address, and the mail to any address they ever had.

    Idempotent. Uploads that name one of these addresses are abandoned. Not covered are the file of
    a running import, which is deleted at its end, and its problems. If a contact was meant, it must
    have the address at that moment; else nobody is erased: AddressChangedError.
    """
    canonical = addresses.canonical(address)
    if contact_id is not None:  # before anything is abandoned; again under the lock
        queries.check_address(workspace_id, contact_id=contact_id, address=canonical)
    contact_ids = queries.list_contact_ids(workspace_id, address=canonical)
    _clear_import_problems(workspace_id, contact_ids)
    known = _list_addresses(canonical, contact_ids)
    abandoned = uploads.abandon_uploads_naming(workspace_id, person_addresses=known, actor=actor)
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        if contact_id is not None:
            queries.check_address(workspace_id, contact_id=contact_id, address=canonical)
        # The contact before its mail: afterwards none is planned for it.
        contact_ids = queries.list_contact_ids(workspace_id, address=canonical)
        contact = erasing.erase(workspace_id, address=canonical, actor=actor, now=now)
        removals.erase_origins(contact_ids)
        exclusions.forget_contacts(contact_ids)
        personal_data.forget_contacts(contact_ids)
        params = {
            "workspace": workspace_id,
            "address": canonical,
            "contacts": list(contact_ids),
            "retry_after": RETRY_AFTER,
        }
        sql.execute(_STORE_PENDING, params)
    # Those that came while the first were read; an import of a later one refuses the person.
    abandoned += uploads.abandon_uploads_naming(workspace_id, person_addresses=known, actor=actor)
    _end_tests(contact_ids)
    mails = ledger.erase(workspace_id, address=canonical, contact_ids=contact_ids)
    return Erasure(contact.contacts, contact.consents, mails.emptied, mails.waiting, abandoned)


def _list_addresses(canonical: str, contact_ids: Sequence[int]) -> set[str]:
    """The address, and those that its contacts had before."""
    contacts = Contact.objects.filter(pk__in=contact_ids).exclude(former_addresses=None)
    former = contacts.values_list("former_addresses", flat=True)
    return {canonical, *(address for each in former for address in each or ())}


def _end_tests(contact_ids: Sequence[int]) -> None:
    """Cancels the tests that were filled with the values of these contacts, and empties them.

    They went to other people, so the mail of the person does not include them.
    """
    tests = Run.objects.filter(test_contact_id__in=contact_ids)
    stream_ids = list(tests.values_list("stream_id", flat=True))
    for stream_id in stream_ids:
        ledger.cancel(stream_id, actor="erasure")
    ledger.forget_values(stream_ids)


def _clear_import_problems(workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Empties the values that quote these contacts; their rows and row numbers stay.

    Values are matched by the contacts' names and ids, so this runs before those are erased.
    Addresses are masked in every problem.
    """
    contacts = Contact.objects.filter(pk__in=contact_ids)
    names = [name for pair in contacts.values_list("external_id", "name") for name in pair if name]
    values = [mask_value(name) for name in names]
    if values:
        problems = ImportProblem.objects.filter(of_import__workspace_id=workspace_id)
        problems.filter(value__in=values).update(value="")


def retry_pending(now: datetime) -> int:
    """Erases the mail that waited until now; returns how many erasures this completes.

    One worker at a time, and for a limited time: a retry reads all mail of a workspace.
    """
    completed = 0
    end = time.monotonic() + _MAX_SECONDS
    with work_leases.alone(Work.ERASING) as is_ours:
        due = Pending.objects.filter(look_at__lte=now).order_by("look_at") if is_ours else ()
        for pending in due:
            if time.monotonic() >= end:
                break
            completed += _retry(pending, now)
    return completed


def _retry(pending: Pending, now: datetime) -> bool:
    """Whether the erasure is complete; the interval between two retries doubles."""
    pending.look_at = max(now + RETRY_AFTER, now + (now - pending.erased_at))
    pending.save(update_fields=["look_at"])
    _end_tests(pending.contact_ids)
    mails = ledger.erase_again(
        pending.workspace_id,
        fingerprint=bytes(pending.address_hash),
        contact_ids=pending.contact_ids,
        until=pending.erased_at,
    )
    if mails.waiting:
        return False
    pending.delete()
    return True
