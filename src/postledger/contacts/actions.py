"""Makes and deletes contacts, and says which addresses must not be mailed."""

from datetime import datetime
from enum import StrEnum

from django.db import connection, transaction

from postledger.accounts import constraints, trail
from postledger.contacts.models import Contact
from postledger.lib.errors import RefusedError
from postledger.observability import masking
from postledger.providers import addresses


class SuppressionReason(StrEnum):
    """Why an address must not be mailed."""

    BOUNCED = "bounced"  # the provider reported that it takes no mail, for good
    COMPLAINED = "complained"  # its owner called our mail spam
    UNSUBSCRIBED = "unsubscribed"  # its owner wants no mail from the workspace at all
    BY_HAND = "by_hand"  # a member of the workspace said so


class ContactExistsError(RefusedError):
    code = "contact_exists"


class ContactUnknownError(RefusedError):
    code = "contact_unknown"


def create_contact(
    workspace_id: int,
    *,
    address: str,
    external_id: str | None = None,
    name: str = "",
    actor: str,
) -> int:
    address = addresses.canonical(address)
    known = ContactExistsError(
        "A contact of this workspace has this address already: change that one, or delete it first."
    )
    named = ContactExistsError(
        "A contact of this workspace has this external id already: change that one,"
        " or delete it first."
    )
    with constraints.kept(contacts_contact_once=known, contacts_contact_external_once=named):
        contact = Contact.objects.create(
            workspace_id=workspace_id, address=address, external_id=external_id, name=name
        )
        _note(workspace_id, "contact.created", contact.pk, actor=actor)
    return contact.pk


def delete_contact(workspace_id: int, *, contact_id: int, actor: str, now: datetime) -> None:
    """Keeps the row and mails it no more; address and external id become free for another."""
    there = Contact.objects.filter(pk=contact_id, workspace_id=workspace_id, deleted_at=None)
    with transaction.atomic():
        if not there.update(deleted_at=now):
            raise ContactUnknownError(
                f"This workspace has no contact {contact_id}, or it was deleted before."
            )
        _note(workspace_id, "contact.deleted", contact_id, actor=actor)


_SUPPRESS = """
INSERT INTO contacts_suppression (workspace_id, address, reason)
VALUES (%(workspace)s, %(address)s, %(reason)s)
ON CONFLICT (workspace_id, lower(address)) DO NOTHING
"""


def suppress(workspace_id: int, *, address: str, reason: SuppressionReason, actor: str) -> bool:
    """Mails an address no more; False when that was so already, whatever the reason."""
    return _change(_SUPPRESS, workspace_id, address=address, reason=reason.value, actor=actor)


_UNSUPPRESS = """
DELETE FROM contacts_suppression
WHERE workspace_id = %(workspace)s AND lower(address) = lower(%(address)s)
"""


def unsuppress(workspace_id: int, *, address: str, actor: str) -> bool:
    """Lets an address be mailed again; False when nothing kept it back."""
    return _change(_UNSUPPRESS, workspace_id, address=address, reason=None, actor=actor)


def _change(
    statement: str, workspace_id: int, *, address: str, reason: str | None, actor: str
) -> bool:
    canonical = addresses.canonical(address)
    params: dict[str, int | str | None] = {
        "workspace": workspace_id,
        "address": canonical,
        "reason": reason,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, params)
        if not cursor.rowcount:
            return False
        trail.note(
            workspace_id,
            actor=actor,
            action="address.suppressed" if reason else "address.unsuppressed",
            # Masked: an entry is never changed, and a person may ask to be forgotten.
            subject=masking.mask_text(canonical),
            data={"reason": reason},
        )
    return True


def _note(workspace_id: int, action: str, contact_id: int, *, actor: str) -> None:
    trail.note(workspace_id, actor=actor, action=action, subject=f"contact {contact_id}")
