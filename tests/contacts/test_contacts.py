"""A contact is known once, changed in part, and deleted; a suppressed address stays so."""

from collections.abc import Callable
from dataclasses import asdict, fields
from datetime import UTC, datetime

import pytest

from postledger.accounts.models import AuditEntry
from postledger.contacts import consent, queries
from postledger.contacts.actions import contacts, erasing, suppression
from postledger.contacts.actions.contacts import ContactExistsError
from postledger.contacts.details import Changes, Details, InvalidContactError
from postledger.contacts.models import Contact, Suppression
from postledger.contacts.queries import ContactUnknownError
from postledger.contacts.states import ContactState, SubscriptionState, SuppressionReason
from postledger.contacts.unsubscribe_links import UnsubscribeRequest
from postledger.providers import addresses
from tests.contacts import people

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def make(workspace_id: int, address: str = "r1@example.com", external_id: str | None = None) -> int:
    return contacts.create_contact(
        workspace_id,
        address=address,
        external_id=external_id,
        details=Details(name="R One"),
        actor="alice",
    )


def with_external_id(workspace_id: int, external_id: str) -> list[int]:
    shown, _ = queries.list_contacts(workspace_id, external_id=external_id, limit=9)
    return [contact.pk for contact in shown]


def test_a_contact_is_found_by_either_id(acme: int) -> None:
    contact_id = make(acme, "r1@Example.com", "u-1")
    make(acme, "r2@example.com", "u-2")

    contact = queries.get_contact(acme, contact_id=contact_id)

    assert (contact.address, contact.external_id) == ("r1@example.com", "u-1")
    assert (contact.name, contact.state) == ("R One", ContactState.ACTIVE)
    assert with_external_id(acme, "u-1") == [contact_id]


def test_another_workspaces_contact_is_not_found_changed_or_deleted(acme: int, globex: int) -> None:
    contact_id = make(acme, external_id="u-1")

    assert queries.find_contact(globex, contact_id=contact_id) is None
    assert with_external_id(globex, "u-1") == []
    with pytest.raises(ContactUnknownError):
        people.change(globex, contact_id, Changes(name="Charlie"))
    with pytest.raises(ContactUnknownError):
        people.delete(globex, contact_id)
    assert queries.get_contact(acme, contact_id=contact_id).name == "R One"


def test_a_deleted_contact_is_kept_and_not_found(acme: int) -> None:
    contact_id = make(acme, external_id="u-1")

    people.delete(acme, contact_id)

    assert queries.find_contact(acme, contact_id=contact_id) is None
    assert with_external_id(acme, "u-1") == []
    assert Contact.objects.get(pk=contact_id).deleted_at == NOW
    with pytest.raises(ContactUnknownError, match=f"Contact {contact_id} not found"):
        people.delete(acme, contact_id)
    assert make(acme, external_id="u-1") != contact_id


def test_an_address_and_an_external_id_are_known_once(acme: int, globex: int) -> None:
    make(acme, external_id="u-1")
    make(globex, external_id="u-1")

    with pytest.raises(ContactExistsError, match=r"has this address\. Change that one"):
        make(acme, "R1@EXAMPLE.com")
    with pytest.raises(ContactExistsError, match=r"has this external id\. Change that one"):
        make(acme, "r2@example.com", "u-1")
    with pytest.raises(ContactExistsError, match="has this address"):
        people.change(acme, make(acme, "r2@example.com"), Changes(address="R1@example.com"))


def test_an_address_is_suppressed_once_of_a_list_or_all_mail_and_the_first_reason_stays(
    acme: int,
) -> None:
    def suppress(address: str, reason: SuppressionReason, list_key: str | None = None) -> bool:
        return suppression.suppress(
            acme, address=address, reason=reason, actor="alice", list_key=list_key
        )

    people.news(acme)
    assert suppress("r1@example.com", SuppressionReason.BOUNCED)
    assert not suppress("R1@Example.com", SuppressionReason.BY_HAND)
    assert Suppression.objects.get().reason == "bounced"
    assert suppress("r1@example.com", SuppressionReason.BY_HAND, "news")
    assert Suppression.objects.count() == 2


def test_an_address_is_restored_in_its_own_workspace_only(acme: int, globex: int) -> None:
    address = "r1@example.com"
    people.suppress(acme, address)

    assert not people.restore(globex, address)
    assert people.restore(acme, "R1@example.com")
    assert not people.restore(acme, address)

    assert not Suppression.objects.exists()


def test_the_trail_does_not_remember_recipients(acme: int) -> None:
    contact_id = make(acme, external_id="u-1")
    contacts.delete_contact(acme, contact_id=contact_id, actor="bob", now=NOW)
    suppression.suppress(
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


def test_a_change_leaves_alone_what_it_does_not_name(acme: int) -> None:
    contact_id = people.contact(acme, "Anna@example.com", details=FULL)
    made = queries.get_contact(acme, contact_id=contact_id)
    assert made.state == ContactState.ACTIVE
    assert {field.name: getattr(made, field.name) for field in fields(FULL)} == asdict(FULL)

    Contact.objects.update(updated_at=NOW)
    attributes = {"plan": "free", "age": None, "city": ""}
    people.change(
        acme,
        contact_id,
        Changes(
            address="Anna@Example.com",  # the same
            name="R Uno",
            from_name="",
            external_id="u-7",
            attributes=attributes,
        ),
    )

    contact = Contact.objects.get(pk=contact_id)
    assert (contact.name, contact.from_name, contact.external_id) == ("R Uno", None, "u-7")
    assert (contact.locale, contact.ocd_ids) == ("pt-BR", FULL.ocd_ids)
    kept = {"score": 0.5, "is_donor": True, "tags": ["vip"]}
    assert contact.attributes == kept | {"plan": "free", "city": ""}
    assert contact.updated_at > NOW
    entry = AuditEntry.objects.order_by("pk").last()
    assert entry is not None
    assert entry.action == "contact.changed"
    assert entry.data == {"fields": ["external_id", "from_name", "name", "attributes"]}


# A new column is either blanked by an erasure or declared here.
NOT_PERSONAL = {
    "id",
    "workspace",
    "state",
    "state_changed_at",
    "created_at",
    "updated_at",
    "deleted_at",
}


def test_an_erasure_blanks_every_personal_column(acme: int) -> None:
    contact_id = people.contact(acme, details=FULL)
    people.change(acme, contact_id, Changes(address="r2@example.com"))
    Contact.objects.update(is_unconfirmed=True, bounce_type="a", bounce_subtype="b", bounce_at=NOW)

    erasing.erase(acme, address="r2@example.com", actor="alice", now=NOW)

    personal = {column.name for column in Contact._meta.fields} - NOT_PERSONAL
    assert personal == {"address", *erasing.BLANK}
    contact = Contact.objects.get(pk=contact_id)
    assert contact.address == f"erased-{contact_id}"
    assert {name: getattr(contact, name) for name in erasing.BLANK} == erasing.BLANK


def test_the_limits_of_attributes_hold_for_those_of_earlier_changes_too(acme: int) -> None:
    contact_id = people.contact(acme, details=Details(attributes={f"a{n}": 1 for n in range(99)}))
    people.change(acme, contact_id, Changes(attributes={"b1": 1}))

    with pytest.raises(InvalidContactError, match="may have 100 attributes; this one has 101"):
        people.change(acme, contact_id, Changes(attributes={"b2": 1}))
    people.change(acme, contact_id, Changes(attributes={"b1": None, "b2": "x" * 500}))
    with pytest.raises(InvalidContactError, match="8,192 bytes"):
        people.change(acme, contact_id, Changes(attributes={f"a{n}": "x" * 500 for n in range(15)}))

    assert len(Contact.objects.get(pk=contact_id).attributes) == 100


def test_who_left_has_left_with_every_address_and_who_moves_to_one_that_left_too(
    acme: int,
) -> None:
    for left, written in (
        ("old@example.com", "OLD@example.com"),
        (addresses.canonical("gone@münchen.example"), "gone@MÜNCHEN.example"),
    ):
        contact_id = make(acme)
        people.leave(acme, left)

        people.change(acme, contact_id, Changes(address=written))

        assert people.state(contact_id) is ContactState.UNSUBSCRIBED, written
        assert people.read_history(acme)[-1] == ("suppressed", None, "active", "unsubscribed")
    contact_id = make(acme)
    people.leave(acme)
    people.change(acme, contact_id, Changes(address="new@example.com"))
    assert people.state(contact_id) is ContactState.UNSUBSCRIBED
    assert people.find_suppression(acme).has_left


def test_a_bounce_ends_with_the_address_and_comes_back_with_it(acme: int) -> None:
    contact_id = make(acme)
    people.bounce(acme)

    people.change(acme, contact_id, Changes(address="R1@example.com"))
    assert people.state(contact_id) is ContactState.BOUNCED
    people.change(acme, contact_id, Changes(address="new@example.com"))
    assert people.state(contact_id) is ContactState.ACTIVE
    assert people.read_history(acme)[-1] == ("restored", None, "bounced", "active")
    assert people.find_suppression(acme).reason is SuppressionReason.BOUNCED

    people.change(acme, contact_id, Changes(address=people.R1))
    assert people.state(contact_id) is ContactState.BOUNCED


def test_a_corrected_address_brings_back_nobody_who_left_or_complained(acme: int) -> None:
    orders: list[tuple[Callable[[int, str], object], ...]] = [
        (people.leave, people.bounce),
        (people.bounce, people.leave),
        (people.complain, people.bounce),
        (people.bounce, people.complain),
    ]
    for number, words in enumerate(orders):
        contact_id = make(acme, f"r{number}@example.com")
        for word in words:
            word(acme, f"r{number}@example.com")

        people.change(acme, contact_id, Changes(address=f"new{number}@example.com"))

        assert people.state(contact_id) is ContactState.UNSUBSCRIBED, words


def test_who_left_under_an_earlier_address_has_left_after_the_bounce_of_a_later_one(
    acme: int,
) -> None:
    contact_id = make(acme)
    people.leave(acme)
    for address in ("second@example.com", "third@example.com"):
        people.change(acme, contact_id, Changes(address=address))
        people.bounce(acme, address)
    assert people.state(contact_id) is ContactState.BOUNCED

    people.change(acme, contact_id, Changes(address="fourth@example.com"))

    assert people.state(contact_id) is ContactState.UNSUBSCRIBED


@pytest.mark.parametrize("wish", [people.leave, people.complain])
def test_a_second_correction_brings_back_nobody_who_left_or_complained(
    acme: int, wish: Callable[[int], object]
) -> None:
    contact_id = make(acme)
    people.bounce(acme)
    wish(acme)
    people.bounce(acme, "second@example.com")
    people.change(acme, contact_id, Changes(address="second@example.com"))
    assert people.state(contact_id) is ContactState.BOUNCED

    people.change(acme, contact_id, Changes(address="third@example.com"))

    assert people.state(contact_id) is ContactState.UNSUBSCRIBED


def test_who_took_an_unsubscribe_back_after_a_bounce_gets_mail_at_a_corrected_address(
    acme: int,
) -> None:
    contact_id = make(acme)
    people.leave(acme)
    people.bounce(acme)
    people.undo(acme)

    people.change(acme, contact_id, Changes(address="new@example.com"))

    assert people.state(contact_id) is ContactState.ACTIVE


NEW = "new@example.com"


@pytest.mark.parametrize("wish", [people.leave, people.complain])
def test_a_wish_by_mail_to_a_former_address_counts_at_the_present_one(
    acme: int, globex: int, wish: Callable[[int], object]
) -> None:
    contact_id, others = make(acme), make(globex)
    for workspace_id, id_ in ((acme, contact_id), (globex, others)):
        people.change(workspace_id, id_, Changes(address=NEW))

    assert wish(acme)
    wish(acme)

    assert people.state(contact_id) is ContactState.UNSUBSCRIBED
    assert people.state(others) is ContactState.ACTIVE
    reason = people.find_suppression(acme, NEW).reason
    assert reason is SuppressionReason.UNSUBSCRIBED, "no mail to the present address was spam"
    action = "unsubscribed" if wish is people.leave else "complained"
    assert sorted(people.read_history(acme), key=str) == [
        (action, None, "active", "unsubscribed"),
        (action, None, None, None),
    ]


def test_who_leaves_a_list_by_a_link_to_a_former_address_is_off_it_until_they_undo_it(
    acme: int,
) -> None:
    people.news(acme)
    contact_id = people.member(acme)
    people.change(acme, contact_id, Changes(address=NEW))

    people.leave(acme, key="news")
    left = people.subscription(contact_id)
    people.undo(acme, key="news")

    assert left is SubscriptionState.UNSUBSCRIBED
    assert people.subscription(contact_id) is SubscriptionState.ACTIVE
    assert not Suppression.objects.exists()


def test_an_undone_wish_brings_nobody_back_who_left_under_another_address_too(acme: int) -> None:
    contact_id = make(acme)
    people.change(acme, contact_id, Changes(address="second@example.com"))
    people.change(acme, contact_id, Changes(address=NEW))
    for address in (people.R1, "second@example.com"):
        people.leave(acme, address)

    people.undo(acme, "second@example.com")
    between = people.state(contact_id)
    people.undo(acme)

    assert between is ContactState.UNSUBSCRIBED
    assert people.state(contact_id) is ContactState.ACTIVE


def test_who_had_left_before_is_brought_back_by_no_undo_at_a_former_address(acme: int) -> None:
    contact_id = make(acme)
    people.change(acme, contact_id, Changes(address=NEW))
    link = UnsubscribeRequest(NEW)
    suppression.unsubscribe(acme, request=link, origin=people.LINK, now=people.LATER)
    people.leave(acme)

    people.undo(acme)

    assert people.state(contact_id) is ContactState.UNSUBSCRIBED


def test_a_former_address_is_that_of_whoever_has_it_now(acme: int) -> None:
    moved = make(acme)
    people.change(acme, moved, Changes(address=NEW))
    owner = make(acme)

    people.leave(acme)

    assert people.state(owner) is ContactState.UNSUBSCRIBED
    assert people.state(moved) is ContactState.ACTIVE


def test_what_is_no_wish_is_about_the_former_address_alone(acme: int) -> None:
    contact_id = make(acme)
    people.change(acme, contact_id, Changes(address=NEW))

    people.bounce(acme)
    people.apply(acme, consent.import_report(people.R1, state=ContactState.UNSUBSCRIBED, at=NOW))
    people.suppress(acme, people.R1)

    assert people.state(contact_id) is ContactState.ACTIVE
    assert people.find_suppression(acme, NEW).reason is None


def test_what_could_not_be_stored_or_mailed_is_refused(acme: int) -> None:
    cases: list[Details] = [
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
    ]
    for details in cases:
        with pytest.raises(InvalidContactError):
            people.contact(acme, details=details)

        assert not Contact.objects.exists(), details
