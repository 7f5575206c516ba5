"""What others tell of an address is applied by its priority, once, and to the right contact."""

from datetime import timedelta
from itertools import permutations, product

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from postledger.contacts import consent
from postledger.contacts.consent import StateChange
from postledger.contacts.models import ConsentEvent, Contact, Suppression
from postledger.contacts.states import ContactState, SuppressionReason, SuppressionStatus
from tests.contacts import people
from tests.contacts.people import NOW, R1

ACTIVE, UNSUBSCRIBED, BOUNCED = ContactState


def tell(workspace_id: int, state: ContactState, address: str = R1) -> list[StateChange]:
    return people.apply(workspace_id, consent.import_report(address, state=state, at=NOW))


def test_a_state_is_applied_if_its_priority_is_at_least_the_current_one(acme: int) -> None:
    for current, incoming in product(ContactState, repeat=2):
        address = f"{current}-{incoming}@example.com"
        contact_id = people.contact(acme, address)
        tell(acme, current, address)

        changed = tell(acme, incoming, address)

        after = max(current, incoming, key=lambda state: state.priority)
        assert people.state(contact_id) is after, address
        moved = [one for one in changed if one.before is not one.after]
        change = StateChange(address, contact_id, current, after)
        assert moved == ([change] if after is not current else []), address


def test_a_permanent_bounce_is_kept_with_its_type_subtype_and_time(acme: int) -> None:
    contact_id = people.contact(acme)

    people.bounce(acme, subtype="NoEmail")

    contact = Contact.objects.get(pk=contact_id)
    assert (contact.state, contact.state_changed_at) == ("bounced", NOW)
    assert (contact.bounce_type, contact.bounce_subtype) == ("Permanent", "NoEmail")
    assert people.find_suppression(acme) == SuppressionStatus(SuppressionReason.BOUNCED)
    # A later one tells its subtype and no new state, and a passing one nothing.
    assert people.bounce(acme, subtype="Suppressed") == []
    people.bounce(acme, kind="Transient", subtype="MailboxFull")
    contact.refresh_from_db()
    assert (contact.bounce_type, contact.bounce_subtype) == ("Permanent", "Suppressed")


def test_a_passing_bounce_leaves_its_type_and_the_state_alone_and_a_word_is_recorded_once(
    acme: int,
) -> None:
    contact_id = people.contact(acme)

    for kind in ("Transient", "Undetermined"):
        assert people.bounce(acme, kind=kind, subtype="MailboxFull") == []
        contact = Contact.objects.get(pk=contact_id)
        assert (contact.state, contact.bounce_type) == ("active", kind)
        assert (contact.bounce_subtype, contact.state_changed_at) == ("MailboxFull", None)
    assert people.find_suppression(acme) == SuppressionStatus()
    assert people.read_history(acme) == []

    assert people.bounce(acme)
    before = Contact.objects.values().get()
    assert people.bounce(acme) == []
    assert Contact.objects.values().get() == before
    assert people.read_history(acme) == [("bounced", None, "active", "bounced")]


def test_a_complaint_unsubscribes_and_a_bounced_one_stays_bounced(acme: int) -> None:
    one, two = people.contact(acme), people.contact(acme, "r2@example.com")
    people.bounce(acme, "r2@example.com")

    people.complain(acme)
    people.complain(acme, "r2@example.com")

    assert people.state(one) is UNSUBSCRIBED
    assert people.find_suppression(acme) == SuppressionStatus(SuppressionReason.COMPLAINED)
    assert people.state(two) is BOUNCED
    assert people.find_suppression(acme, "r2@example.com").reason is SuppressionReason.BOUNCED


EARLIER, LATER = NOW - timedelta(days=1), NOW + timedelta(days=1)
MIXED = [
    consent.bounce_report(R1, bounce_type="Transient", bounce_subtype="General", at=NOW),
    consent.bounce_report(R1, bounce_type="Transient", bounce_subtype="MailboxFull", at=LATER),
    consent.bounce_report(R1, bounce_type="Undetermined", bounce_subtype="", at=LATER),
    consent.complaint_report(R1, at=NOW),
    consent.suppression_report(R1, reason=SuppressionReason.UNSUBSCRIBED, at=LATER),
    consent.bounce_report(R1, bounce_type="Permanent", bounce_subtype="NoEmail", at=EARLIER),
]


@pytest.mark.parametrize("last", [3, 5, 6])
@pytest.mark.slow
@pytest.mark.sample
def test_reports_in_any_order_and_division_end_as_the_strongest_with_its_time(
    acme: int, last: int
) -> None:
    orders = list(permutations(range(last)))[:: 1 if last < 6 else 19]
    people.contact(acme)
    blank = {"state": "active", "bounce_type": None, "bounce_subtype": None, "bounce_at": None}
    endings = set()
    for order, size in product(orders, (1, 4)):
        Contact.objects.update(**blank, state_changed_at=None)
        Suppression.objects.all().delete()
        for start in range(0, last, size):
            people.apply(acme, *(MIXED[number] for number in order[start : start + size]))
        contact = Contact.objects.values_list(*blank, "state_changed_at").get()
        endings.add((contact, people.find_suppression(acme)))

    assert len(endings) == 1
    [((state, bounce_type, *_, changed_at), _)] = endings
    assert (state, bounce_type, changed_at) == {
        3: ("active", "Undetermined", None),
        5: ("unsubscribed", "Undetermined", NOW),
        6: ("bounced", "Permanent", EARLIER),
    }[last]


def test_of_one_address_told_twice_the_strongest_word_counts_and_what_is_none_stops_nobody(
    acme: int,
) -> None:
    contact_id = people.contact(acme)

    changed = people.apply(
        acme,
        consent.complaint_report("not an address", at=NOW),
        consent.complaint_report("a@b\r\nc", at=NOW),
        consent.complaint_report("R1@example.com", at=NOW),
        consent.bounce_report(R1, bounce_type="Permanent", bounce_subtype="General", at=NOW),
        consent.complaint_report(R1, at=NOW),
    )

    assert changed == [StateChange(R1, contact_id, ACTIVE, BOUNCED)]
    assert Suppression.objects.get().has_left, "lifting the bounce lifts no complaint"


def test_an_address_without_a_contact_is_suppressed_and_remembered_by_its_hash(acme: int) -> None:
    assert people.bounce(acme) == [StateChange(R1, None, None, None)]

    event = ConsentEvent.objects.get()
    assert event.contact_id is None
    assert bytes(event.address_hash or b"") == bytes(Suppression.objects.get().address_hash)
    assert event.detail == "Permanent/General"


def test_another_workspaces_contact_of_the_same_address_is_not_touched(
    acme: int, globex: int
) -> None:
    ours, theirs = people.contact(acme), people.contact(globex)

    people.bounce(globex)

    assert people.state(ours) is ACTIVE
    assert people.find_suppression(acme) == SuppressionStatus()
    assert people.state(theirs) is BOUNCED


def test_a_deleted_contact_keeps_its_state_and_its_address_is_suppressed(acme: int) -> None:
    contact_id = people.contact(acme)
    people.delete(acme, contact_id)

    people.bounce(acme)

    assert people.state(contact_id) is ACTIVE
    assert people.find_suppression(acme).reason is SuppressionReason.BOUNCED


def test_a_stronger_reason_replaces_a_weaker_one_and_remembers_the_leaving(acme: int) -> None:
    people.leave(acme)
    people.complain(acme)
    assert people.find_suppression(acme) == SuppressionStatus(
        SuppressionReason.COMPLAINED, has_left=True
    )

    people.bounce(acme)
    people.complain(acme)

    assert people.find_suppression(acme) == SuppressionStatus(
        SuppressionReason.BOUNCED, has_left=True
    )


def test_a_thousand_words_are_one_statement_a_look_at_former_addresses_and_a_lock(
    acme: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    contacts = [people.contact(acme, f"r{n}@example.com") for n in range(5)]
    words = [consent.complaint_report(f"r{n}@example.com", at=NOW) for n in range(1000)]

    # A savepoint and its release stand around them, since the test has a transaction already.
    with django_assert_num_queries(5):
        changed = people.apply(acme, *words)

    assert len(changed) == 1000
    assert {people.state(contact_id) for contact_id in contacts} == {UNSUBSCRIBED}
    assert ConsentEvent.objects.count() == 1000


@pytest.mark.parametrize("key", [None, "news"])
def test_addresses_are_looked_for_by_index_however_many_contacts_there_are(
    acme: int, key: str | None
) -> None:
    people.news(acme)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address)"
            " SELECT %s, 'r' || n || '@example.com' FROM generate_series(1, 20000) n",
            [acme],
        )
        cursor.execute(
            "INSERT INTO contacts_subscription (contact_id, list_id, state)"
            " SELECT c.id, l.id, 'active' FROM contacts_contact c, contacts_list l"
        )
        cursor.execute("ANALYZE contacts_contact, contacts_subscription")

    with CaptureQueriesContext(connection) as captured:
        if key is None:
            words = [consent.complaint_report(f"r{n}@example.com", at=NOW) for n in range(1, 11)]
            assert len(people.apply(acme, *words)) == 10
        else:
            assert people.leave(acme, key=key)

    plan = ""
    for one in captured:
        if "contacts_consentevent" in one["sql"] or "former_addresses" in one["sql"]:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN {one['sql']}")
                plan += "\n".join(line for (line,) in cursor.fetchall())
    assert "contacts_contact_once" in plan
    assert "contacts_contact_by_former" in plan
    assert "Seq Scan on contacts_contact" not in plan
    assert "Seq Scan on contacts_subscription" not in plan
