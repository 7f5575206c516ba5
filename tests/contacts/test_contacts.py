"""A contact is known once, changed in part, and deleted; a suppressed address stays so."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection

from postledger.accounts.models import AuditEntry
from postledger.contacts import actions, migrations, profiles, queries
from postledger.contacts.actions import (
    ContactExistsError,
    ContactUnknownError,
    SuppressionReason,
    erasing,
)
from postledger.contacts.consent import Origin
from postledger.contacts.details import Changes, Details, InvalidContactError
from postledger.contacts.models import Contact, Suppression
from postledger.contacts.queries import Known
from postledger.contacts.states import ContactState
from postledger.providers import addresses
from tests.contacts import people

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def make(workspace_id: int, address: str = "r1@example.com", external_id: str | None = None) -> int:
    return actions.create_contact(
        workspace_id,
        address=address,
        external_id=external_id,
        details=Details(name="R One"),
        actor="alice",
    )


def test_a_contact_is_found_by_either_id(acme: int) -> None:
    contact_id = make(acme, "r1@Example.com", "u-1")
    known = Known(contact_id, acme, "r1@example.com", "u-1", "R One", ContactState.ACTIVE)

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


def test_an_address_is_restored_in_its_own_workspace_only(acme: int, globex: int) -> None:
    address = "r1@example.com"
    actions.suppress(acme, address=address, reason=SuppressionReason.BY_HAND, actor="alice")

    assert not people.restore(globex, address)
    assert people.restore(acme, "R1@example.com")
    assert not people.restore(acme, address)

    assert not Suppression.objects.exists()


def test_the_trail_does_not_remember_recipients(acme: int) -> None:
    contact_id = make(acme, external_id="u-1")
    actions.delete_contact(acme, contact_id=contact_id, actor="bob", now=NOW)
    actions.suppress(
        acme, address="r1@example.com", reason=SuppressionReason.COMPLAINED, actor="ses"
    )
    people.restore(acme, "r1@example.com")

    entries = AuditEntry.objects.exclude(action="workspace.created").order_by("pk")

    assert [(entry.actor, entry.action, entry.subject, entry.data) for entry in entries] == [
        ("alice", "contact.created", f"contact {contact_id}", {}),
        ("bob", "contact.deleted", f"contact {contact_id}", {}),
        ("ses", "address.suppressed", "r***@example.com", {"reason": "complained"}),
        ("bob", "address.restored", "r***@example.com", {"list": "general"}),
    ]


FULL = Details(
    name="R One",
    from_name="Anna of Acme",
    locale="pt-BR",
    time_zone="America/Sao_Paulo",
    attributes={"plan": "pro", "age": 41, "score": 0.5, "is_donor": True, "tags": ["vip"]},
    ocd_ids=["ocd-division/country:us/state:oh"],
)


def change(workspace_id: int, contact_id: int, changes: Changes) -> None:
    actions.update_contact(
        workspace_id, contact_id=contact_id, changes=changes, actor="bob", now=NOW
    )


def test_all_that_is_known_of_a_contact_is_read_back(acme: int) -> None:
    contact_id = people.contact(acme, details=FULL)

    found = profiles.find(acme, contact_id=contact_id)

    assert found is not None
    assert (
        Details(
            found.name,
            found.from_name or "",
            found.locale or "",
            found.time_zone or "",
            found.attributes,  # type: ignore[arg-type]
            found.ocd_ids,
        )
        == FULL
    )
    assert found.state is ContactState.ACTIVE


def test_what_a_form_alone_told_is_told_and_forgotten_with_the_rest(acme: int) -> None:
    contact_id = people.unconfirmed(acme)
    before = profiles.find(acme, contact_id=contact_id)

    erasing.erase(acme, address=people.R1, actor="alice", now=NOW)

    after = profiles.find(acme, contact_id=contact_id, is_deleted_shown=True)
    assert (before and before.is_unconfirmed, after and after.is_unconfirmed) == (True, False)


MARK = Path(migrations.__file__).parent / "0011_mark_unconfirmed.sql"


def test_of_known_contacts_those_are_marked_who_were_made_by_asking_and_never_agreed(
    acme: int,
) -> None:
    people.news(acme)
    names = ("pending", "left", "agreed", "agreed-and-left")
    made = {name: people.unconfirmed(acme, f"{name}@example.com") for name in names}
    for name in ("by-hand", "by-program"):
        made[name] = people.contact(acme, f"{name}@example.com")
    program = Origin("the shop's own form", "alice")
    actions.subscribe(
        acme,
        contact_id=made["by-program"],
        list_key="news",
        origin=program,
        now=datetime.now(UTC),
    )
    for name, contact_id in made.items():
        if name != "by-program":
            people.ask(acme, contact_id)
        if name.startswith("agreed"):
            people.act(actions.confirm, acme, contact_id)
        if name.endswith("left"):
            people.leave(acme, f"{name}@example.com", "news")
    Contact.objects.update(is_unconfirmed=False)

    with connection.cursor() as cursor:
        cursor.execute(MARK.read_text())

    marked = {name for name, contact_id in made.items() if people.is_unconfirmed(contact_id)}
    assert marked == {"pending", "left", "by-program"}


def test_a_change_leaves_alone_what_it_does_not_name(acme: int) -> None:
    contact_id = people.contact(acme, details=FULL)

    Contact.objects.update(updated_at=NOW)
    change(acme, contact_id, Changes(name="R Uno", from_name="", external_id="u-7"))

    found = Contact.objects.get(pk=contact_id)
    assert (found.name, found.from_name, found.external_id) == ("R Uno", None, "u-7")
    assert (found.locale, found.attributes) == ("pt-BR", FULL.attributes)
    assert found.updated_at > NOW
    entry = AuditEntry.objects.order_by("pk").last()
    assert entry is not None
    assert (entry.action, entry.data) == (
        "contact.changed",
        {"fields": ["external_id", "from_name", "name"]},
    )


def test_attributes_are_set_one_by_one_and_taken_away_by_none(acme: int) -> None:
    contact_id = people.contact(acme, details=FULL)

    change(acme, contact_id, Changes(attributes={"plan": "free", "age": None, "city": ""}))

    assert Contact.objects.get(pk=contact_id).attributes == {
        "plan": "free",
        "score": 0.5,
        "is_donor": True,
        "tags": ["vip"],
        "city": "",
    }


def test_who_moves_to_an_address_that_left_has_left(acme: int) -> None:
    contact_id = make(acme)
    people.leave(acme, "old@example.com")

    change(acme, contact_id, Changes(address="OLD@example.com"))

    assert people.state(contact_id) is ContactState.UNSUBSCRIBED
    assert people.told(acme)[-1] == ("suppressed", None, "active", "unsubscribed")


def test_who_moves_to_an_address_that_left_has_left_however_it_is_written(acme: int) -> None:
    contact_id = make(acme)
    people.leave(acme, addresses.canonical("gone@münchen.example"))

    change(acme, contact_id, Changes(address="gone@MÜNCHEN.example"))

    assert people.state(contact_id) is ContactState.UNSUBSCRIBED


def test_who_left_has_left_with_every_address(acme: int) -> None:
    contact_id = make(acme)
    people.leave(acme)

    change(acme, contact_id, Changes(address="new@example.com"))

    assert people.state(contact_id) is ContactState.UNSUBSCRIBED
    assert people.kept(acme).has_left


def test_another_workspaces_contact_is_not_changed(acme: int, globex: int) -> None:
    contact_id = make(acme)

    with pytest.raises(ContactUnknownError):
        change(globex, contact_id, Changes(name="Charlie"))

    assert Contact.objects.get(pk=contact_id).name == "R One"


def test_a_change_to_an_address_that_is_taken_is_refused(acme: int) -> None:
    make(acme, "r2@example.com")

    with pytest.raises(ContactExistsError, match="has this address already"):
        change(acme, make(acme), Changes(address="R2@example.com"))


@pytest.mark.parametrize(
    "details",
    [
        Details(name="two\nlines"),
        Details(from_name="x" * 501),
        Details(locale="PT-br"),
        Details(time_zone="Mars/Olympus"),
        Details(attributes={"": "x"}),
        Details(attributes={" x": "x"}),
        Details(attributes={"x" * 65: "x"}),
        Details(attributes={"zero": "a\x00b"}),
        Details(attributes={"half": "\ud800"}),
        Details(attributes={"big": 2**53}),
        Details(attributes={"nan": float("nan")}),
        Details(attributes={"nested": {"a": 1}}),  # type: ignore[dict-item]
        Details(attributes={"numbers": [1, 2]}),  # type: ignore[list-item]
        Details(attributes={f"k{n}": "x" for n in range(101)}),
        Details(attributes={f"k{n}": "x" * 500 for n in range(17)}),
        Details(ocd_ids=["ohio"]),
        Details(ocd_ids=["ocd-division/country:us"] * 201),
    ],
)
def test_what_could_not_be_stored_or_mailed_is_refused(acme: int, details: Details) -> None:
    with pytest.raises(InvalidContactError):
        people.contact(acme, details=details)

    assert not Contact.objects.exists()


def test_a_suppression_of_one_list_is_not_one_of_all_mail(acme: int) -> None:
    people.news(acme)
    reason = SuppressionReason.BY_HAND

    assert actions.suppress(
        acme, address="r1@example.com", reason=reason, actor="bob", list_key="news"
    )
    assert actions.suppress(acme, address="r1@example.com", reason=reason, actor="bob")

    assert Suppression.objects.count() == 2
