"""People of the tests: workspaces acme and globex, their contacts and lists, and what they did."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from postledger.accounts import workspaces
from postledger.contacts import consent, lists, suppressions
from postledger.contacts.actions import (
    apply_feedback,
    contacts,
    restoration,
    subscriptions,
    suppression,
)
from postledger.contacts.consent import Origin, StateReport
from postledger.contacts.details import Changes, Details
from postledger.contacts.models import ConsentEvent, Contact, Subscription
from postledger.contacts.states import (
    ContactState,
    SubscriptionState,
    SuppressionReason,
    SuppressionStatus,
)
from postledger.contacts.unsubscribe_links import GENERAL, UnsubscribeRequest

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
FORM = Origin("form /join", "r1@example.com", text_version="2026-01", ip="192.0.2.7")
LINK = Origin("unsubscribe link", "recipient")
FEEDBACK = Origin("ses", "provider")
IMPORT = Origin("people.csv", "alice")
R1 = "r1@example.com"


def workspace(name: str = "acme") -> int:
    return workspaces.create_workspace(name, actor="alice")


def contact(workspace_id: int, address: str = R1, details: Details | None = None) -> int:
    return contacts.create_contact(
        workspace_id, address=address, details=details or Details(), actor="alice"
    )


def unconfirmed(workspace_id: int, address: str = R1) -> int:
    """A contact that is known by a form alone."""
    return contacts.create_contact(
        workspace_id, address=address, is_unconfirmed=True, actor="recipient"
    )


def change(workspace_id: int, contact_id: int, changes: Changes) -> None:
    contacts.update_contact(
        workspace_id, contact_id=contact_id, changes=changes, actor="bob", now=NOW
    )


def delete(workspace_id: int, contact_id: int) -> None:
    contacts.delete_contact(workspace_id, contact_id=contact_id, actor="alice", now=NOW)


def suppress(workspace_id: int, address: str = R1, key: str | None = None) -> bool:
    """As a member does by hand."""
    by_hand = SuppressionReason.BY_HAND
    return suppression.suppress(
        workspace_id, address=address, reason=by_hand, actor="bob", list_key=key
    )


def snooze(workspace_id: int, contact_id: int, until: datetime, key: str = "news") -> bool:
    return subscriptions.snooze(
        workspace_id, contact_id=contact_id, list_key=key, until=until, origin=FORM, now=NOW
    )


def ask(workspace_id: int, contact_id: int, key: str = "news") -> SubscriptionState:
    """Asks for a list, as anybody can do by a form."""
    return subscriptions.subscribe(
        workspace_id, contact_id=contact_id, list_key=key, origin=FORM, now=NOW
    )


def is_unconfirmed(contact_id: int) -> bool:
    return Contact.objects.get(pk=contact_id).is_unconfirmed


def news(workspace_id: int, key: str = "news") -> str:
    lists.create_list(workspace_id, key=key, name="News", actor="alice")
    return key


def member(workspace_id: int, address: str = R1, key: str = "news") -> int:
    """A contact with an active subscription to a list that is there."""
    contact_id = contact(workspace_id, address)
    subscribe(workspace_id, contact_id, key)
    return contact_id


def subscribe(workspace_id: int, contact_id: int, key: str = "news") -> SubscriptionState:
    """Subscribes a contact whose confirmation is known."""
    return subscriptions.subscribe(
        workspace_id,
        contact_id=contact_id,
        list_key=key,
        is_confirmed=True,
        origin=IMPORT,
        now=NOW,
    )


def act(verb: Callable[..., bool], workspace_id: int, contact_id: int, key: str = "news") -> bool:
    """Confirms, pauses or resumes a subscription."""
    return verb(workspace_id, contact_id=contact_id, list_key=key, origin=FORM, now=LATER)


def leave(workspace_id: int, address: str = R1, key: str = GENERAL) -> bool:
    request = UnsubscribeRequest(address, key)
    return suppression.unsubscribe(workspace_id, request=request, origin=LINK, now=NOW)


def undo(workspace_id: int, address: str = R1, key: str = GENERAL) -> bool:
    return restoration.undo(
        workspace_id, request=UnsubscribeRequest(address, key), origin=LINK, now=LATER
    )


def restore(
    workspace_id: int, address: str = R1, key: str = GENERAL, reason: str = "wrote to us"
) -> bool:
    return restoration.restore(
        workspace_id, address=address, list_key=key, reason=reason, actor="bob", now=LATER
    )


def apply(workspace_id: int, *reports: StateReport) -> list[consent.StateChange]:
    return apply_feedback.apply_reports(workspace_id, reports, origin=FEEDBACK)


def bounce(
    workspace_id: int, address: str = R1, kind: str = "Permanent", subtype: str = "General"
) -> list[consent.StateChange]:
    report = consent.bounce_report(address, bounce_type=kind, bounce_subtype=subtype, at=NOW)
    return apply(workspace_id, report)


def complain(workspace_id: int, address: str = R1) -> list[consent.StateChange]:
    return apply(workspace_id, consent.complaint_report(address, at=NOW))


def state(contact_id: int) -> ContactState:
    return ContactState(Contact.objects.get(pk=contact_id).state)


def find_suppression(
    workspace_id: int, address: str = R1, list_id: int | None = None
) -> SuppressionStatus:
    return suppressions.find_status(workspace_id, address=address, list_id=list_id)


def subscription(contact_id: int, key: str = "news") -> SubscriptionState:
    row = Subscription.objects.get(contact_id=contact_id, list__key=key)
    return SubscriptionState(row.state)


def read_history(workspace_id: int) -> list[tuple[str, str | None, str | None, str | None]]:
    """The history of a workspace as (action, list, before, after), oldest first."""
    events = ConsentEvent.objects.filter(workspace_id=workspace_id).order_by("pk")
    return list(events.values_list("action", "list__key", "before", "after"))
