"""Lifts suppressions: a recipient undoes an unsubscribe, or an operator restores an address."""

from datetime import datetime

from django.db import transaction

from postledger.accounts import trail
from postledger.contacts import form_blocks, lists, queries, sql, states, suppressions
from postledger.contacts.actions import contact_state
from postledger.contacts.consent import ConsentChange, Origin
from postledger.contacts.models import ConsentEvent, List
from postledger.contacts.states import (
    NOT_SUPPRESSED,
    ConsentAction,
    ContactState,
    SubscriptionState,
    SuppressionStatus,
)
from postledger.contacts.unsubscribe_links import GENERAL, UnsubscribeRequest
from postledger.lib.errors import ConflictError, RefusedError
from postledger.lib.sentences import say
from postledger.observability import masking
from postledger.providers import addresses

_ENDED = (SubscriptionState.UNSUBSCRIBED, SubscriptionState.SUPPRESSED)


class RestoreReasonMissingError(RefusedError):
    code = "restore_reason_missing"


class SuppressionChangedError(ConflictError):
    code = "suppression_changed"


def undo(workspace_id: int, *, request: UnsubscribeRequest, origin: Origin, now: datetime) -> bool:
    """Takes a recipient's own unsubscribe back; False when there was none to take back.

    Reports of a provider and suppressions by hand stay: only an operator lifts those. Like the
    unsubscribe, it counts for a contact that has another address by now.
    """
    change = ConsentChange(ConsentAction.UNDONE, origin, now)
    address = addresses.canonical(request.email)
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        lifted = [_lift(workspace_id, address, request.list_key, change)]
        # Once that is lifted, what is left of the former addresses came from another one.
        lifted += [
            _lift(workspace_id, present, request.list_key, change)
            for present in _list_followers(workspace_id, address, request.list_key)
        ]
    return any(lifted)


def _list_followers(workspace_id: int, address: str, list_key: str) -> list[str]:
    """The present addresses of contacts that the unsubscribe of this former one has ended.

    Not where they had left before, or left under another former address, too: whoever has the
    mailbox of a former address can take back no more than what came from there.
    """
    present = queries.find_new_addresses(workspace_id, [address]).get(address, ())
    if not present:
        return []
    list_id = _find_list_id(workspace_id, list_key)
    left_at = {
        event.at
        for event in queries.list_address_history(workspace_id, address=address)
        if (event.action, event.list_id) == (ConsentAction.UNSUBSCRIBED, list_id)
    }
    return [
        owner.address
        for owner in queries.find_contacts(workspace_id, present).values()
        if _find_last_leaving(owner.pk, list_id) in left_at
        and not suppressions.is_any_wish(
            workspace_id, owner.former_addresses or (), list_id=list_id
        )
    ]


def _find_last_leaving(contact_id: int, list_id: int | None) -> datetime | None:
    """Served by contacts_consent_newest."""
    leaving = ConsentEvent.objects.filter(
        contact_id=contact_id, list=list_id, action=ConsentAction.UNSUBSCRIBED.value
    )
    return leaving.order_by("-pk").values_list("at", flat=True).first()


def restore(  # noqa: PLR0913  each part by its name
    workspace_id: int,
    *,
    address: str,
    list_key: str = GENERAL,
    reason: str,
    actor: str,
    now: datetime,
    expected: SuppressionStatus | None = None,
) -> bool:
    """Lets an address be mailed again; False when nothing kept mail from it.

    A bounce, a complaint or a suppression by hand is lifted first. If its owner had unsubscribed
    as well, the address is unsubscribed then, and a second call lifts that. Where neither is left,
    subscribe forms may mail it again.

    Refuses if the reason is another than that of `expected`, if one is: who repeats a call, or has
    seen an older reason, lifts nothing that they did not mean.
    """
    if not reason.strip():
        raise RestoreReasonMissingError(say("Give a reason for restoring; the history keeps it."))
    change = ConsentChange(
        ConsentAction.RESTORED, Origin("operator", actor), now, detail=reason.strip()
    )
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        if expected is not None:
            _check_reason(workspace_id, address, list_key, expected)
        has_changed = _lift(workspace_id, address, list_key, change) or form_blocks.lift(
            workspace_id, address=addresses.canonical(address)
        )
        if has_changed:
            trail.note(
                workspace_id,
                actor=actor,
                action="address.restored",
                subject=masking.mask_text(addresses.canonical(address)),
                data={"list": list_key},
            )
    return has_changed


def _check_reason(
    workspace_id: int, address: str, list_key: str, expected: SuppressionStatus
) -> None:
    status = NOT_SUPPRESSED
    list_id = _find_list_id(workspace_id, list_key)
    if list_id is not None or not lists.is_key(list_key):
        address = addresses.canonical(address)
        status = suppressions.find_status(workspace_id, address=address, list_id=list_id)
    if status.reason is not expected.reason:
        raise SuppressionChangedError(
            say(
                "What keeps email from this address has changed meanwhile, so nothing was lifted."
                " Look at its suppression, and decide again."
            )
        )


def _lift(workspace_id: int, address: str, list_key: str, change: ConsentChange) -> bool:
    address = addresses.canonical(address)
    if not lists.is_key(list_key):
        return lift_for_all(workspace_id, address=address, change=change)
    list_id = _find_list_id(workspace_id, list_key)
    return list_id is not None and lift_for_list(
        workspace_id, address=address, list_id=list_id, change=change
    )


def _find_list_id(workspace_id: int, list_key: str) -> int | None:
    with_key = List.objects.filter(workspace_id=workspace_id, key=list_key)
    return with_key.values_list("pk", flat=True).first()


def lift_for_all(workspace_id: int, *, address: str, change: ConsentChange) -> bool:
    """Lifts for all mail what `change` may lift, and returns whether that was anything.

    The caller has taken the consent lock, and gives a canonical address.
    """
    owner = contact_state.lock_owner(workspace_id, address=address)
    has_lifted, remaining = _lift_suppression(workspace_id, address, None, change)
    after = states.implied_state(remaining)
    has_risen = owner.state is not None and _may_raise(owner.state, after, change)
    if has_risen and owner.contact_id is not None:
        contact_state.set_state(
            workspace_id, contact_id=owner.contact_id, state=after, at=change.at
        )
    if has_lifted or has_risen:
        contact_state.record(
            workspace_id,
            change,
            contact_id=owner.contact_id,
            address_hash=owner.address_hash,
            before=owner.state,
            after=after if has_risen else owner.state,
        )
    return has_lifted or has_risen


def _may_raise(before: ContactState, after: ContactState, change: ConsentChange) -> bool:
    """Only an operator ends `bounced`."""
    if before is ContactState.BOUNCED and change.action is not ConsentAction.RESTORED:
        return False
    return after.priority < before.priority


def lift_for_list(workspace_id: int, *, address: str, list_id: int, change: ConsentChange) -> bool:
    """The same for one list: the subscription becomes what it was before it ended."""
    owner = contact_state.lock_owner(workspace_id, address=address)
    has_lifted, remaining = _lift_suppression(workspace_id, address, list_id, change)
    before, after = None, None
    if owner.contact_id is not None:
        subscription = contact_state.lock_subscription(
            workspace_id, contact_id=owner.contact_id, list_id=list_id
        )
        if subscription is not None:
            before = SubscriptionState(subscription.state)
            after = _reopened(before, remaining, owner.contact_id, list_id, change)
            if after is not before:
                contact_state.set_subscription(subscription, state=after, at=change.at)
    if not has_lifted and after is before:
        return False
    contact_state.record(
        workspace_id,
        change,
        contact_id=owner.contact_id,
        address_hash=owner.address_hash,
        list_id=list_id,
        before=before,
        after=after,
    )
    return True


def _reopened(
    before: SubscriptionState,
    remaining: SuppressionStatus,
    contact_id: int,
    list_id: int,
    change: ConsentChange,
) -> SubscriptionState:
    is_operator = change.action is ConsentAction.RESTORED
    if before not in _ENDED or (before is SubscriptionState.SUPPRESSED and not is_operator):
        return before
    if remaining.reason is not None:
        return SubscriptionState.UNSUBSCRIBED if is_operator else before
    # Nobody becomes active who never was: without a known past, the recipient confirms anew.
    default = SubscriptionState.ACTIVE if is_operator else SubscriptionState.PENDING
    return _state_before_end(contact_id, list_id) or default


def _state_before_end(contact_id: int, list_id: int) -> SubscriptionState | None:
    """Served by contacts_consent_newest."""
    ended = ConsentEvent.objects.filter(
        contact_id=contact_id, list_id=list_id, after__in=_ENDED
    ).exclude(before__in=_ENDED)
    state = ended.order_by("-pk").values_list("before", flat=True).first()
    return SubscriptionState(state) if state else None


_DELETE = """
DELETE FROM contacts_suppression
WHERE workspace_id = %(workspace)s AND list_id IS NOT DISTINCT FROM %(list)s
  AND address_hash = contacts_fingerprint(%(hash_key)s::bytea, %(address)s)
"""
_WEAKEN = """
UPDATE contacts_suppression SET reason = %(reason)s, has_left = %(has_left)s
WHERE workspace_id = %(workspace)s AND list_id IS NOT DISTINCT FROM %(list)s
  AND address_hash = contacts_fingerprint(%(hash_key)s::bytea, %(address)s)
"""


def _lift_suppression(
    workspace_id: int, address: str, list_id: int | None, change: ConsentChange
) -> tuple[bool, SuppressionStatus]:
    """Whether anything was lifted, and the status that remains."""
    status = suppressions.find_status(workspace_id, address=address, list_id=list_id)
    is_operator = change.action is ConsentAction.RESTORED
    remaining = states.after_restore(status) if is_operator else states.after_undo(status)
    if remaining == status:
        return False, status
    params: dict[str, object] = {"workspace": workspace_id, "address": address, "list": list_id}
    if remaining.reason is None:
        sql.execute(_DELETE, params)
    else:
        params |= {"reason": remaining.reason.value, "has_left": remaining.has_left}
        sql.execute(_WEAKEN, params)
    return True, remaining
