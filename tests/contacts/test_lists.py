"""A workspace's lists: made once, shown, archived, and counted as far as it pays."""

import pytest
from django.db import connection

from postledger.accounts.models import AuditEntry
from postledger.contacts import counts, lists
from postledger.contacts.counts import ContactCount
from postledger.contacts.lists import (
    InvalidListKeyError,
    ListExistsError,
    ListUnknownError,
)
from postledger.contacts.states import ListKind, SubscriptionState
from tests.contacts import people


def count(
    workspace_id: int, state: SubscriptionState = SubscriptionState.ACTIVE, key: str = "news"
) -> ContactCount:
    list_id = lists.get_active_id(workspace_id, key)
    return counts.count_lists([list_id], [state])[list_id, state]


def test_a_key_that_links_could_not_name_or_that_is_taken_is_refused(
    acme: int, globex: int
) -> None:
    for key in ("general", "News", "", "-news", "a" * 65, "néws", "a b"):
        with pytest.raises(InvalidListKeyError, match="cannot be the key of a list"):
            people.news(acme, key)
    people.news(acme)
    people.news(globex)
    with pytest.raises(ListExistsError, match="list 'news' exists already"):
        people.news(acme)


def test_lists_are_shown_by_key_and_to_people_only_the_public_ones(acme: int, globex: int) -> None:
    lists.create_list(
        acme, key="seats", name="Seats", kind=ListKind.TOPIC, is_public=True, actor="alice"
    )
    lists.create_list(acme, key="old", name="Old", is_public=True, actor="alice")
    people.news(acme)
    people.news(globex, "theirs")
    lists.archive_list(acme, key="old", actor="alice")

    shown = lists.list_all(acme)

    assert [(one.key, one.kind) for one in shown] == [
        ("news", "list"),
        ("old", "list"),
        ("seats", "topic"),
    ]
    assert [one.key for one in lists.list_public(acme)] == ["seats"]


def test_a_list_is_changed_archived_and_taken_back(acme: int, globex: int) -> None:
    people.news(acme)

    lists.update_list(acme, key="news", name="The News", is_public=True, actor="bob")
    lists.update_list(acme, key="news", actor="bob")
    [news] = lists.list_all(acme)
    assert (news.name, news.is_public) == ("The News", True)
    assert AuditEntry.objects.filter(action="list.changed").count() == 1

    lists.archive_list(acme, key="news", actor="bob")
    with pytest.raises(ListUnknownError):
        lists.archive_list(acme, key="news", actor="bob")
    lists.restore_list(acme, key="news", actor="bob")
    with pytest.raises(ListUnknownError):
        lists.restore_list(acme, key="news", actor="bob")
    for verb in (lists.update_list, lists.archive_list, lists.restore_list):
        with pytest.raises(ListUnknownError):
            verb(globex, key="news", actor="charlie")


def test_a_small_list_is_counted_exactly_without_the_deleted(acme: int, globex: int) -> None:
    people.news(acme)
    people.news(globex)
    _, gone, left = (people.member(acme, f"r{n}@example.com") for n in range(3))
    people.member(globex)
    people.leave(acme, "r2@example.com", "news")
    people.delete(acme, gone)

    assert count(acme) == ContactCount(1, is_exact=True)
    assert count(acme, SubscriptionState.UNSUBSCRIBED) == ContactCount(1, is_exact=True)
    assert people.subscription(left) is SubscriptionState.UNSUBSCRIBED


def test_a_large_list_is_estimated_and_says_so(acme: int) -> None:
    people.news(acme)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address)"
            " SELECT %s, 'r' || n || '@example.com' FROM generate_series(1, 12000) n",
            [acme],
        )
        cursor.execute(
            "INSERT INTO contacts_subscription (contact_id, list_id, state)"
            " SELECT c.id, l.id, 'active' FROM contacts_contact c, contacts_list l"
        )
        cursor.execute("ANALYZE contacts_subscription")

    counted = count(acme)

    assert not counted.is_exact
    assert 10_001 <= counted.number <= 13_000
