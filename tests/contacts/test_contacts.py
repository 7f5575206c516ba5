"""A contact is known once, a deleted one is gone, and a suppressed address stays so."""

from datetime import UTC, datetime

import pytest

from postledger.accounts import actions as accounts
from postledger.accounts.models import AuditEntry
from postledger.contacts import actions, queries
from postledger.contacts.actions import (
    ContactExistsError,
    ContactUnknownError,
    SuppressionReason,
)
from postledger.contacts.models import Contact, Suppression
from postledger.contacts.queries import Known

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture
def acme(db: None) -> int:
    return accounts.create_workspace("acme", actor="alice")


@pytest.fixture
def globex(db: None) -> int:
    return accounts.create_workspace("globex", actor="charlie")


def make(workspace_id: int, address: str = "r1@example.com", external_id: str | None = None) -> int:
    return actions.create_contact(
        workspace_id, address=address, external_id=external_id, name="R One", actor="alice"
    )


def test_a_contact_is_found_by_either_id(acme: int) -> None:
    contact_id = make(acme, "r1@Example.com", "u-1")
    known = Known(contact_id, acme, "r1@example.com", "u-1", "R One")

    assert queries.find(acme, contact_id=contact_id) == known
    assert queries.find(acme, external_id="u-1") == known
    assert queries.find(acme, contact_id=contact_id, external_id="u-1") == known


def test_two_ids_of_two_contacts_find_nobody(acme: int) -> None:
    one, _ = make(acme, external_id="u-1"), make(acme, "r2@example.com", "u-2")

    assert queries.find(acme, contact_id=one, external_id="u-2") is None


def test_no_id_finds_nobody(acme: int) -> None:
    make(acme)

    assert queries.find(acme) is None


def test_another_workspaces_contact_is_not_found(acme: int, globex: int) -> None:
    contact_id = make(acme, external_id="u-1")

    assert queries.find(globex, contact_id=contact_id) is None
    assert queries.find(globex, external_id="u-1") is None


def test_a_deleted_contact_is_kept_and_not_found(acme: int) -> None:
    contact_id = make(acme, external_id="u-1")

    actions.delete_contact(acme, contact_id=contact_id, actor="alice", now=NOW)

    assert queries.find(acme, contact_id=contact_id) is None
    assert queries.find(acme, external_id="u-1") is None
    assert Contact.objects.get(pk=contact_id).deleted_at == NOW


def test_a_deleted_contact_is_not_deleted_again(acme: int) -> None:
    contact_id = make(acme)
    actions.delete_contact(acme, contact_id=contact_id, actor="alice", now=NOW)

    with pytest.raises(ContactUnknownError, match=f"no contact {contact_id}, or it was deleted"):
        actions.delete_contact(acme, contact_id=contact_id, actor="alice", now=NOW)


def test_another_workspaces_contact_is_not_deleted(acme: int, globex: int) -> None:
    contact_id = make(acme)

    with pytest.raises(ContactUnknownError):
        actions.delete_contact(globex, contact_id=contact_id, actor="charlie", now=NOW)

    assert queries.find(acme, contact_id=contact_id)


def test_an_address_and_an_external_id_are_known_once(acme: int, globex: int) -> None:
    make(acme, external_id="u-1")
    make(globex, external_id="u-1")

    with pytest.raises(ContactExistsError, match="has this address already: change that one"):
        make(acme, "R1@EXAMPLE.com")
    with pytest.raises(ContactExistsError, match="has this external id already: change that one"):
        make(acme, "r2@example.com", "u-1")


def test_what_a_deleted_contact_had_is_free_again(acme: int) -> None:
    gone = make(acme, external_id="u-1")
    actions.delete_contact(acme, contact_id=gone, actor="alice", now=NOW)

    assert make(acme, external_id="u-1") != gone


def test_an_address_is_suppressed_once_and_the_first_reason_stays(acme: int) -> None:
    def suppress(address: str, reason: SuppressionReason) -> bool:
        return actions.suppress(acme, address=address, reason=reason, actor="alice")

    assert suppress("r1@example.com", SuppressionReason.BOUNCED)
    assert not suppress("R1@Example.com", SuppressionReason.BY_HAND)

    assert Suppression.objects.get().reason == "bounced"


def test_an_address_is_let_go_in_its_own_workspace_only(acme: int, globex: int) -> None:
    address = "r1@example.com"
    actions.suppress(acme, address=address, reason=SuppressionReason.BY_HAND, actor="alice")

    assert not actions.unsuppress(globex, address=address, actor="charlie")
    assert actions.unsuppress(acme, address="R1@example.com", actor="alice")
    assert not actions.unsuppress(acme, address=address, actor="alice")

    assert not Suppression.objects.exists()


def test_the_trail_does_not_remember_recipients(acme: int) -> None:
    contact_id = make(acme, external_id="u-1")
    actions.delete_contact(acme, contact_id=contact_id, actor="bob", now=NOW)
    actions.suppress(
        acme, address="r1@example.com", reason=SuppressionReason.COMPLAINED, actor="ses"
    )
    actions.unsuppress(acme, address="r1@example.com", actor="bob")

    entries = AuditEntry.objects.exclude(action="workspace.created").order_by("pk")

    assert [(entry.actor, entry.action, entry.subject, entry.data) for entry in entries] == [
        ("alice", "contact.created", f"contact {contact_id}", {}),
        ("bob", "contact.deleted", f"contact {contact_id}", {}),
        ("ses", "address.suppressed", "r***@example.com", {"reason": "complained"}),
        ("bob", "address.unsuppressed", "r***@example.com", {"reason": None}),
    ]
