"""Reads and creates the contacts of people who visit the public pages."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Value
from django.db.models.functions import Collate, Lower
from django.db.models.lookups import Exact

from postledger.accounts import queries as accounts
from postledger.accounts.models import Workspace
from postledger.accounts.queries import Organisation
from postledger.contacts import lists, suppressions
from postledger.contacts.actions import contacts
from postledger.contacts.details import Details
from postledger.contacts.models import Contact, List, Subscription
from postledger.contacts.states import SubscriptionState

# A person in one of these states is subscribed, though not every one of them gets mail.
_SUBSCRIBED = frozenset(
    {SubscriptionState.PENDING, SubscriptionState.ACTIVE, SubscriptionState.PAUSED}
)


def find_organisation(workspace_id: int) -> Organisation:
    """The sending organisation; its name is the workspace's by default."""
    organisation = accounts.organisation(workspace_id)
    if organisation.name.strip():
        return organisation
    name = Workspace.objects.values_list("name", flat=True).get(pk=workspace_id)
    return replace(organisation, name=name)


def find_contact_id(workspace_id: int, *, address: str) -> int | None:
    """Served by contacts_contact_once."""
    same: Exact[object] = Exact(Collate(Lower("address"), "C"), Collate(Lower(Value(address)), "C"))
    own = Contact.objects.filter(same, workspace_id=workspace_id, deleted_at=None)
    return own.values_list("pk", flat=True).first()


def find_or_create_contact(
    workspace_id: int,
    *,
    address: str,
    details: Details | None = None,
    is_unconfirmed: bool = False,
) -> int:
    """The contact of an address. An existing one does not change: anybody can submit a form."""
    contact_id = find_contact_id(workspace_id, address=address)
    if contact_id is not None:
        return contact_id
    try:
        return contacts.create_contact(
            workspace_id,
            address=address,
            details=details or Details(),
            is_unconfirmed=is_unconfirmed,
            actor="recipient",
        )
    except contacts.ContactExistsError:
        # The same form was submitted twice at once.
        return find_or_create_contact(
            workspace_id, address=address, details=details, is_unconfirmed=is_unconfirmed
        )


def find_list_name(workspace_id: int, *, key: str) -> str:
    """The name of a list; its key if there is no such list."""
    names = List.objects.filter(workspace_id=workspace_id, key=key).values_list("name", flat=True)
    return names.first() or key


def has_left(workspace_id: int, *, address: str, list_key: str | None = None) -> bool:
    """Whether the owner of an address unsubscribed from a list, or from everything without one.

    It depends on the address alone, so the answer does not tell whether there is a contact.
    """
    list_id = None
    if list_key is not None:
        ids = List.objects.filter(workspace_id=workspace_id, key=list_key)
        list_id = ids.values_list("pk", flat=True).first()
        if list_id is None:
            return False
    return suppressions.find_status(workspace_id, address=address, list_id=list_id).has_left


@dataclass(frozen=True, slots=True)
class ListChoice:
    """A list that a person may tick, and the state of the subscription."""

    key: str
    name: str
    state: SubscriptionState | None
    snooze_until: datetime | None

    @property
    def is_on(self) -> bool:
        return self.state in _SUBSCRIBED

    @property
    def is_pending(self) -> bool:
        return self.state is SubscriptionState.PENDING


def list_choices(workspace_id: int, *, contact_id: int | None) -> list[ListChoice]:
    """The public lists, and the lists to which this contact is subscribed."""
    choices = {
        public.key: ListChoice(public.key, public.name, None, None)
        for public in lists.list_public(workspace_id)
    }
    for own in [] if contact_id is None else _own_choices(workspace_id, contact_id):
        # Only its subscribers see a list that is not public, not its former ones.
        if own.key in choices or own.is_on:
            choices[own.key] = own
    offered = (
        choice for choice in choices.values() if choice.state is not SubscriptionState.SUPPRESSED
    )
    return sorted(offered, key=lambda choice: (choice.name.casefold(), choice.key))


def _own_choices(workspace_id: int, contact_id: int) -> list[ListChoice]:
    rows = Subscription.objects.filter(
        contact_id=contact_id, list__workspace_id=workspace_id, list__archived_at=None
    ).values_list("list__key", "list__name", "state", "snooze_until")
    return [
        ListChoice(key, name, SubscriptionState(state), snooze_until)
        for key, name, state, snooze_until in rows
    ]
