"""Lifts what keeps an address back: a recipient's undo, an operator's restoring."""

from postledger.contacts import queries, sql, states
from postledger.contacts.actions import standing
from postledger.contacts.actions.standing import Step
from postledger.contacts.models import ConsentEvent
from postledger.contacts.states import ConsentAction, ContactState, Kept, SubscriptionState

_ENDED = (SubscriptionState.UNSUBSCRIBED, SubscriptionState.SUPPRESSED)


def to_all(workspace_id: int, *, address: str, step: Step) -> bool:
    """Lifts for all mail what `step` may lift, and says whether that was anything.

    The caller has taken the lock of those who leave, and gives a canonical address.
    """
    found = standing.whose(workspace_id, address=address)
    has_lifted, left = _lift(workspace_id, address, None, step)
    after = states.state_under(left)
    has_risen = found.state is not None and _may_lower(found.state, after, step)
    if has_risen and found.contact_id is not None:
        standing.set_state(workspace_id, contact_id=found.contact_id, state=after, at=step.at)
    if has_lifted or has_risen:
        standing.record(
            workspace_id,
            step,
            contact_id=found.contact_id,
            address_hash=found.address_hash,
            before=found.state,
            after=after if has_risen else found.state,
        )
    return has_lifted or has_risen


def _may_lower(before: ContactState, after: ContactState, step: Step) -> bool:
    """Only an operator lowers `bounced`."""
    if before is ContactState.BOUNCED and step.action is not ConsentAction.RESTORED:
        return False
    return after.priority < before.priority


def to_list(workspace_id: int, *, address: str, list_id: int, step: Step) -> bool:
    """The same for one list: the subscription becomes what it was before it ended."""
    found = standing.whose(workspace_id, address=address)
    has_lifted, left = _lift(workspace_id, address, list_id, step)
    before, after = None, None
    if found.contact_id is not None:
        known = standing.subscription(workspace_id, contact_id=found.contact_id, list_id=list_id)
        before = known and known[1]
        after = before and _reopened(before, left, found.contact_id, list_id, step)
        if known is not None and after is not None and after is not before:
            standing.set_subscription(known[0], state=after, at=step.at)
    if not has_lifted and after is before:
        return False
    standing.record(
        workspace_id,
        step,
        contact_id=found.contact_id,
        address_hash=found.address_hash,
        list_id=list_id,
        before=before,
        after=after,
    )
    return True


def _reopened(
    before: SubscriptionState, left: Kept, contact_id: int, list_id: int, step: Step
) -> SubscriptionState:
    is_operator = step.action is ConsentAction.RESTORED
    if before is SubscriptionState.SUPPRESSED and not is_operator:
        return before
    if before not in _ENDED:
        return before
    if left.reason is not None:
        return SubscriptionState.UNSUBSCRIBED if is_operator else before
    # Nobody is active who never was: without a known past, the recipient confirms anew.
    unknown = SubscriptionState.ACTIVE if is_operator else SubscriptionState.PENDING
    return _earlier(contact_id, list_id) or unknown


def _earlier(contact_id: int, list_id: int) -> SubscriptionState | None:
    """What the subscription was before it ended; served by contacts_consent_newest."""
    ended = ConsentEvent.objects.filter(
        contact_id=contact_id,
        list_id=list_id,
        after__in=[state.value for state in _ENDED],
    ).exclude(before__in=[state.value for state in _ENDED])
    state = ended.order_by("-pk").values_list("before", flat=True).first()
    return SubscriptionState(state) if state else None


_LIFT = """
DELETE FROM contacts_suppression
WHERE workspace_id = %(workspace)s AND list_id IS NOT DISTINCT FROM %(list)s
  AND address_hash = contacts_fingerprint((SELECT salt FROM contacts_salt), %(address)s)
"""
_WEAKEN = """
UPDATE contacts_suppression SET reason = %(reason)s, has_left = %(has_left)s
WHERE workspace_id = %(workspace)s AND list_id IS NOT DISTINCT FROM %(list)s
  AND address_hash = contacts_fingerprint((SELECT salt FROM contacts_salt), %(address)s)
"""


def _lift(workspace_id: int, address: str, list_id: int | None, step: Step) -> tuple[bool, Kept]:
    """Whether something was lifted, and what still keeps the address back."""
    kept = queries.suppression(workspace_id, address=address, list_id=list_id)
    is_operator = step.action is ConsentAction.RESTORED
    left = states.restored(kept) if is_operator else states.undone(kept)
    params: dict[str, object] = {"workspace": workspace_id, "address": address, "list": list_id}
    if left == kept:
        return False, kept
    if left.reason is None:
        sql.changed(_LIFT, params)
    else:
        words = {"reason": left.reason.value, "has_left": left.has_left}
        sql.changed(_WEAKEN, params | words)
    return True, left
