"""Lets people leave a list or everything, take it back, and be restored by an operator."""

from datetime import datetime

from django.db import transaction

from postledger.accounts import trail
from postledger.contacts import consent, locks, sql
from postledger.contacts.actions import applying, ending, lists, returning
from postledger.contacts.actions.standing import Step
from postledger.contacts.consent import Origin
from postledger.contacts.models import List
from postledger.contacts.states import ConsentAction, SuppressionReason
from postledger.contacts.unsubscribe import GENERAL, Wish
from postledger.lib.errors import RefusedError
from postledger.observability import masking
from postledger.providers import addresses


class RestoreReasonMissingError(RefusedError):
    code = "restore_reason_missing"


def unsubscribe(workspace_id: int, *, wish: Wish, origin: Origin, now: datetime) -> bool:
    """Does what an unsubscribe link says; False when nothing was left to end. Idempotent.

    A link that once was in a mail always works: a list that was never made is made, and a key
    that no list can have is taken for all mail.
    """
    address = addresses.canonical(wish.email)
    with transaction.atomic():
        locks.leaving(workspace_id)
        list_id = _list_of(workspace_id, wish.list_key)
        if list_id is None:
            told = consent.suppressed(address, reason=SuppressionReason.UNSUBSCRIBED, at=now)
            return bool(applying.apply_state(workspace_id, [told], origin=origin))
        return ending.end(
            workspace_id,
            address=address,
            list_id=list_id,
            reason=SuppressionReason.UNSUBSCRIBED,
            step=Step(ConsentAction.UNSUBSCRIBED, origin, now),
        )


_MAKE_LIST = """
INSERT INTO contacts_list (workspace_id, key, name) VALUES (%(workspace)s, %(key)s, %(key)s)
ON CONFLICT DO NOTHING
"""


def _list_of(workspace_id: int, key: str) -> int | None:
    if not lists.is_key(key):
        return None
    sql.changed(_MAKE_LIST, {"workspace": workspace_id, "key": key})
    return List.objects.get(workspace_id=workspace_id, key=key).pk


def undo(workspace_id: int, *, wish: Wish, origin: Origin, now: datetime) -> bool:
    """Takes a recipient's own leaving back, and nothing else; False when there was none.

    What a provider or the workspace said of the address stays: only an operator lowers that.
    """
    step = Step(ConsentAction.UNDONE, origin, now)
    with transaction.atomic():
        locks.leaving(workspace_id)
        return _take_back(workspace_id, wish.email, wish.list_key, step)


def restore(  # noqa: PLR0913  each part of an operator's act by its name
    workspace_id: int,
    *,
    address: str,
    list_key: str = GENERAL,
    reason: str,
    actor: str,
    now: datetime,
) -> bool:
    """Lets an address be mailed again, whatever kept it back; False when nothing did.

    A bounce, a complaint or a word by hand is lifted first: whose owner had left as well is
    unsubscribed then, and a second restoring lifts that.
    """
    if not reason.strip():
        raise RestoreReasonMissingError(
            "An address is restored for a reason, which its history keeps: say it."
        )
    step = Step(ConsentAction.RESTORED, Origin("operator", actor), now, detail=reason.strip())
    with transaction.atomic():
        locks.leaving(workspace_id)
        has_changed = _take_back(workspace_id, address, list_key, step)
        if has_changed:
            trail.note(
                workspace_id,
                actor=actor,
                action="address.restored",
                subject=masking.mask_text(addresses.canonical(address)),
                data={"list": list_key},
            )
    return has_changed


def _take_back(workspace_id: int, address: str, list_key: str, step: Step) -> bool:
    address = addresses.canonical(address)
    if not lists.is_key(list_key):
        return returning.to_all(workspace_id, address=address, step=step)
    known = List.objects.filter(workspace_id=workspace_id, key=list_key)
    list_id = known.values_list("pk", flat=True).first()
    return list_id is not None and returning.to_list(
        workspace_id, address=address, list_id=list_id, step=step
    )
