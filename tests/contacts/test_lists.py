"""A workspace's lists: made once, shown, archived, and counted as far as it pays."""

import pytest
from django.db import connection

from postledger.contacts import actions, lists
from postledger.contacts.actions import InvalidListKeyError, ListExistsError, ListUnknownError
from postledger.contacts.lists import Count
from postledger.contacts.states import ListKind, SubscriptionState
from tests.contacts import people
from tests.contacts.people import NOW


@pytest.mark.parametrize("key", ["general", "News", "", "-news", "a" * 65, "néws", "a b"])
def test_a_key_that_links_could_not_name_is_refused(acme: int, key: str) -> None:
    with pytest.raises(InvalidListKeyError, match="cannot be the key of a list"):
        people.news(acme, key)


def test_a_key_is_taken_once_in_each_workspace(acme: int, globex: int) -> None:
    people.news(acme)
    people.news(globex)

    with pytest.raises(ListExistsError, match="has a list 'news' already"):
        people.news(acme)


def test_lists_are_shown_by_key_and_to_people_only_the_public_ones(acme: int, globex: int) -> None:
    actions.create_list(
        acme, key="seats", name="Seats", kind=ListKind.TOPIC, is_public=True, actor="alice"
    )
    actions.create_list(acme, key="old", name="Old", is_public=True, actor="alice")
    people.news(acme)
    people.news(globex, "theirs")
    actions.archive_list(acme, key="old", actor="alice")

    shown = lists.shown(acme)

    assert [(one.key, one.kind.value) for one in shown] == [
        ("news", "list"),
        ("old", "list"),
        ("seats", "topic"),
    ]
    assert [one.key for one in lists.shown(acme, only_public=True)] == ["seats"]


def test_a_list_is_changed_archived_and_taken_back(acme: int, globex: int) -> None:
    people.news(acme)

    actions.update_list(acme, key="news", name="The News", is_public=True, actor="bob")
    actions.update_list(acme, key="news", actor="bob")
    [found] = lists.shown(acme)
    assert (found.name, found.is_public) == ("The News", True)

    actions.archive_list(acme, key="news", actor="bob")
    with pytest.raises(ListUnknownError):
        actions.archive_list(acme, key="news", actor="bob")
    actions.unarchive_list(acme, key="news", actor="bob")
    with pytest.raises(ListUnknownError):
        actions.unarchive_list(acme, key="news", actor="bob")
    for verb in (actions.update_list, actions.archive_list, actions.unarchive_list):
        with pytest.raises(ListUnknownError):
            verb(globex, key="news", actor="charlie")


def test_a_small_list_is_counted_exactly_without_the_deleted(acme: int, globex: int) -> None:
    people.news(acme)
    people.news(globex)
    _, gone, left = (people.member(acme, f"r{n}@example.com") for n in range(3))
    people.member(globex)
    people.leave(acme, "r2@example.com", "news")
    actions.delete_contact(acme, contact_id=gone, actor="alice", now=NOW)

    assert lists.count(acme, key="news") == Count(1, is_exact=True)
    ended = lists.count(acme, key="news", state=SubscriptionState.UNSUBSCRIBED)
    assert ended == Count(1, is_exact=True)
    assert people.subscription(left) is SubscriptionState.UNSUBSCRIBED
    with pytest.raises(ListUnknownError):
        lists.count(acme, key="theirs")


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

    found = lists.count(acme, key="news")

    assert not found.is_exact
    assert 10_001 <= found.number <= 13_000
