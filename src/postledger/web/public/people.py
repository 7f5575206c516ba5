"""Who is at the public pages: the contact of an address, and what its owner may choose from."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Value
from django.db.models.functions import Collate, Lower
from django.db.models.lookups import Exact

from postledger.accounts import queries as accounts
from postledger.accounts.models import Workspace
from postledger.accounts.queries import Organisation
from postledger.contacts import actions, lists, queries
from postledger.contacts.details import Details
from postledger.contacts.models import Contact, List, Subscription
from postledger.contacts.states import SubscriptionState

# In these a person counts as subscribed, though not every one of them is mailed.
_THERE = frozenset({SubscriptionState.PENDING, SubscriptionState.ACTIVE, SubscriptionState.PAUSED})


def organisation(workspace_id: int) -> Organisation:
    """Who sends, with the workspace's own name where nobody gave another."""
    found = accounts.organisation(workspace_id)
    if found.name.strip():
        return found
    name = Workspace.objects.values_list("name", flat=True).get(pk=workspace_id)
    return Organisation(name, found.address, found.unsubscribe_base_url, found.is_default)


def contact_id(workspace_id: int, *, address: str) -> int | None:
    """Served by contacts_contact_once."""
    same: Exact[object] = Exact(Collate(Lower("address"), "C"), Collate(Lower(Value(address)), "C"))
    there = Contact.objects.filter(same, workspace_id=workspace_id, deleted_at=None)
    return there.values_list("pk", flat=True).first()


def known_or_new(
    workspace_id: int,
    *,
    address: str,
    details: Details | None = None,
    is_unconfirmed: bool = False,
) -> int:
    """The contact of an address. What is known of it stays: anybody can fill in a form."""
    known = contact_id(workspace_id, address=address)
    if known is not None:
        return known
    try:
        return actions.create_contact(
            workspace_id,
            address=address,
            details=details or Details(),
            is_unconfirmed=is_unconfirmed,
            actor="recipient",
        )
    except actions.ContactExistsError:
        # The same form was sent twice at once.
        return known_or_new(
            workspace_id, address=address, details=details, is_unconfirmed=is_unconfirmed
        )


def list_name(workspace_id: int, *, key: str) -> str:
    """A list's name for people; its key where nobody made it."""
    there = List.objects.filter(workspace_id=workspace_id, key=key)
    return there.values_list("name", flat=True).first() or key


def has_left(workspace_id: int, *, address: str, list_key: str | None = None) -> bool:
    """Whether the owner of an address left a list, or without one everything.

    It is asked of the address alone, so it is told the same whether somebody is known by it.
    """
    list_id = None
    if list_key is not None:
        there = List.objects.filter(workspace_id=workspace_id, key=list_key)
        list_id = there.values_list("pk", flat=True).first()
        if list_id is None:
            return False
    return queries.suppression(workspace_id, address=address, list_id=list_id).has_left


@dataclass(frozen=True, slots=True)
class Choice:
    """A list that somebody may tick, and how it stands."""

    key: str
    name: str
    state: SubscriptionState | None
    snooze_until: datetime | None

    @property
    def is_on(self) -> bool:
        return self.state in _THERE

    @property
    def is_pending(self) -> bool:
        return self.state is SubscriptionState.PENDING


def choices(workspace_id: int, *, contact_id: int | None) -> list[Choice]:
    """The lists that everybody may find, and those that this contact has already."""
    found = {
        one.key: Choice(one.key, one.name, None, None)
        for one in lists.shown(workspace_id, only_public=True)
    }
    for own in [] if contact_id is None else _own(workspace_id, contact_id):
        # A list that is not public is shown to who has it, and not to who was on it once.
        if own.key in found or own.is_on:
            found[own.key] = own
    offered = (one for one in found.values() if one.state is not SubscriptionState.SUPPRESSED)
    return sorted(offered, key=lambda one: (one.name.casefold(), one.key))


def _own(workspace_id: int, contact_id: int) -> list[Choice]:
    there = Subscription.objects.filter(
        contact_id=contact_id, list__workspace_id=workspace_id, list__archived_at=None
    )
    return [
        Choice(key, name, SubscriptionState(state), until)
        for key, name, state, until in there.values_list(
            "list__key", "list__name", "state", "snooze_until"
        )
    ]
