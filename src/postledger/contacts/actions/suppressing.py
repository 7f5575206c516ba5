"""Lets a workspace say which addresses it must not mail: nothing at all, or not one list."""

from django.db import transaction

from postledger.accounts import trail
from postledger.contacts import consent, lists, locks
from postledger.contacts.actions import applying, ending
from postledger.contacts.actions.standing import Step
from postledger.contacts.consent import Origin
from postledger.contacts.states import SuppressionReason
from postledger.observability import masking
from postledger.providers import addresses


def suppress(
    workspace_id: int,
    *,
    address: str,
    reason: SuppressionReason,
    actor: str,
    list_key: str | None = None,
) -> bool:
    """Mails an address no more, or no more of one list; False when that was so already.

    Of several reasons the strongest is kept. A bounce, a complaint and a leaving of everything
    are the contact's state from then on; a word by hand is not.
    """
    canonical = addresses.canonical(address)
    origin = Origin("suppression", actor)
    with transaction.atomic():
        locks.leaving(workspace_id)
        if list_key is None:
            told = consent.suppressed(canonical, reason=reason)
            has_changed = bool(applying.apply_state(workspace_id, [told], origin=origin))
        else:
            has_changed = ending.end(
                workspace_id,
                address=canonical,
                list_id=lists.named(workspace_id, list_key),
                reason=reason,
                step=Step(consent.ACTIONS[reason], origin),
            )
        if has_changed:
            trail.note(
                workspace_id,
                actor=actor,
                action="address.suppressed",
                # Masked: an entry is never changed, and a person may ask to be forgotten.
                subject=masking.mask_text(canonical),
                data={"reason": reason.value} | ({"list": list_key} if list_key else {}),
            )
    return has_changed
