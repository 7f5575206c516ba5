"""The history of a consent is only added to, is read page by page, and can be erased."""

import pytest
from django.db import IntegrityError, connection, transaction

from postledger.accounts import hash_key
from postledger.contacts import queries
from postledger.contacts.models import ConsentEvent
from tests.contacts import people
from tests.contacts.people import NOW


def change() -> None:
    ConsentEvent.objects.update(actor="nobody")


def delete() -> None:
    ConsentEvent.objects.all().delete()


def delete_by_sql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM contacts_consentevent")


def test_no_line_of_a_history_is_changed_or_taken_away(acme: int) -> None:
    people.contact(acme)
    people.leave(acme)

    for tamper in (change, delete, delete_by_sql):
        with pytest.raises(IntegrityError, match="are only added"), transaction.atomic():
            tamper()

    assert people.read_history(acme) == [("unsubscribed", None, "active", "unsubscribed")]


def erase(workspace_id: int, contact_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT contacts_erase_consent(%s, %s)", [workspace_id, contact_id])
        return int(cursor.fetchone()[0])


def test_one_person_is_erased_and_nobody_else(acme: int, globex: int) -> None:
    one, two = people.contact(acme), people.contact(acme, "r2@example.com")
    people.leave(acme)
    people.leave(acme, "r2@example.com")
    people.undo(acme)

    assert erase(globex, one) == 0
    assert erase(acme, one) == 2

    assert ConsentEvent.objects.get().contact_id == two
    people.leave(acme)
    with pytest.raises(IntegrityError, match="are only added"), transaction.atomic():
        ConsentEvent.objects.filter(contact_id=one).delete()


def test_who_may_erase_one_person_may_not_erase_another(acme: int) -> None:
    one, _ = people.contact(acme), people.contact(acme, "r2@example.com")
    people.leave(acme)
    people.leave(acme, "r2@example.com")

    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('postledger.erasing_contact', %s, true)", [str(one)])

    with pytest.raises(IntegrityError, match="are only added"), transaction.atomic():
        delete_by_sql()

    assert ConsentEvent.objects.count() == 2


def erase_address(workspace_id: int, address: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT contacts_erase_address(%s, contacts_fingerprint(%s, %s))",
            [workspace_id, hash_key.read(), address],
        )
        return int(cursor.fetchone()[0])


def test_what_happened_to_an_address_without_a_contact_is_erased_and_nothing_else(
    acme: int, globex: int
) -> None:
    people.leave(acme, "R1@example.com")
    people.leave(acme, "r2@example.com")
    people.leave(globex)
    people.contact(acme)
    people.undo(acme)

    assert erase_address(acme, "r1@example.com") == 1
    assert erase_address(acme, "r1@example.com") == 0

    assert people.read_history(acme) == [
        ("unsubscribed", None, None, None),
        ("undone", None, "unsubscribed", "active"),
    ]
    assert len(people.read_history(globex)) == 1
    with pytest.raises(IntegrityError, match="are only added"), transaction.atomic():
        delete_by_sql()


def test_what_happens_to_an_address_after_it_was_erased_is_kept(acme: int) -> None:
    people.leave(acme)
    erase_address(acme, people.R1)
    people.undo(acme)

    with pytest.raises(IntegrityError, match="are only added"), transaction.atomic():
        delete_by_sql()

    assert people.read_history(acme) == [("undone", None, None, None)]


def test_who_may_erase_one_address_may_not_erase_it_elsewhere(acme: int, globex: int) -> None:
    people.leave(acme)
    people.leave(globex)

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('postledger.erasing_address', %s || ' ' || encode(address_hash,"
            " 'hex'), true) FROM contacts_consentevent WHERE workspace_id = %s",
            [str(acme), acme],
        )

    with pytest.raises(IntegrityError, match="are only added"), transaction.atomic():
        ConsentEvent.objects.filter(workspace_id=globex).delete()
    with pytest.raises(IntegrityError, match="are only added"), transaction.atomic():
        change()


def test_a_history_tells_of_the_time_before_the_contact(acme: int, globex: int) -> None:
    people.leave(acme, "R1@example.com")
    people.leave(globex)
    people.leave(acme, "other@example.com")
    contact_id = people.contact(acme)
    people.undo(acme)

    events = queries.list_history(acme, contact_id=contact_id)

    assert [(event.action, event.before, event.after) for event in events] == [
        ("undone", "unsubscribed", "active"),
        ("unsubscribed", None, None),
    ]


def test_a_history_is_read_page_by_page_newest_first(acme: int) -> None:
    people.news(acme)
    contact_id = people.member(acme)
    for _ in range(3):
        people.leave(acme)
        people.undo(acme)

    pages = [queries.list_history(acme, contact_id=contact_id, limit=4)]
    while pages[-1]:
        last = pages[-1][-1].id
        pages.append(queries.list_history(acme, contact_id=contact_id, limit=4, before=last))

    events = [event for page in pages for event in page]
    assert [len(page) for page in pages] == [4, 3, 0]
    assert [event.action for event in events] == ["undone", "unsubscribed"] * 3 + ["subscribed"]
    assert events[-1].list
    assert events[-1].list.key == "news"
    assert events[-1].at == NOW


def test_a_profile_has_everything_and_is_the_workspaces_own(acme: int, globex: int) -> None:
    people.news(acme)
    contact_id = people.member(acme)
    people.leave(acme, key="news")

    [subscription] = queries.list_subscriptions(acme, contact_id=contact_id)
    history = queries.list_history(acme, contact_id=contact_id)

    assert (subscription.list.key, subscription.state) == ("news", "unsubscribed")
    assert [event.action for event in history] == ["unsubscribed", "subscribed"]
    assert people.find_suppression(acme).reason is None
    assert not queries.list_subscriptions(globex, contact_id=contact_id)
    assert queries.find_contact(globex, contact_id=contact_id) is None
