"""A campaign to all contacts reaches whoever is on a list, or never was on one."""

from collections.abc import Mapping
from datetime import timedelta

import pytest
from django.db import connection
from psycopg import sql as pg

from postledger.accounts import hash_key
from postledger.contacts import audience, lists, reach, sql, standings
from postledger.contacts.actions import contacts, subscriptions
from postledger.contacts.audience import FrozenAudience
from postledger.contacts.details import Changes
from postledger.contacts.filters.expressions import EVERYBODY
from postledger.contacts.models import Subscription
from postledger.contacts.reach import LEFT_EVERY_LIST, ON_BREAK, Reach
from postledger.contacts.states import ListKind, SubscriptionState
from tests.contacts import people
from tests.contacts.people import LATER, NOW, R1

SOON, NEXT_WEEK = NOW + timedelta(days=1), NOW + timedelta(days=7)


@pytest.fixture(autouse=True)
def some_lists(acme: int) -> None:
    for key in ("news", "offers"):
        people.news(acme, key)
    lists.create_list(acme, key="prices", name="Prices", kind=ListKind.TOPIC, actor="alice")


def join(workspace_id: int, memberships: Mapping[str, str]) -> int:
    """A contact with subscriptions to these lists; `snoozed` ones wait until tomorrow."""
    contact_id = people.contact(workspace_id)
    for key, state in memberships.items():
        people.subscribe(workspace_id, contact_id, key)
        rows = Subscription.objects.filter(contact_id=contact_id, list__key=key)
        if state == "snoozed":
            rows.update(snooze_until=SOON)
        else:
            rows.update(state=state)
    return contact_id


@pytest.mark.parametrize(
    ("memberships", "kept_back"),
    [
        ({}, None),
        ({"news": "active"}, None),
        ({"news": "pending"}, None),
        ({"news": "unsubscribed"}, LEFT_EVERY_LIST),
        ({"news": "suppressed"}, LEFT_EVERY_LIST),
        ({"news": "unsubscribed", "offers": "pending"}, LEFT_EVERY_LIST),
        ({"news": "unsubscribed", "offers": "active"}, None),
        ({"news": "snoozed"}, ON_BREAK),
        ({"news": "paused"}, ON_BREAK),
        ({"news": "snoozed", "offers": "active"}, None),
        ({"news": "snoozed", "offers": "unsubscribed"}, ON_BREAK),
        # Notifications are no list.
        ({"prices": "unsubscribed"}, None),
        ({"news": "unsubscribed", "prices": "active"}, LEFT_EVERY_LIST),
    ],
)
def test_memberships_say_whether_mail_to_all_contacts_goes_to_somebody(
    memberships: Mapping[str, str], kept_back: str | None, acme: int
) -> None:
    contact_id = join(acme, memberships)
    reached = audience.only_reached(EVERYBODY, at=NOW)

    read = reach.read_reach(acme, [contact_id], now=NOW)[contact_id]

    assert read.kept_back == kept_back
    assert read.is_on_list == ("active" in {memberships.get("news"), memberships.get("offers")})
    assert len(audience.sample(acme, reached)) == audience.count(acme, reached)
    assert audience.count(acme, reached) == (kept_back is None)


def test_a_break_ends_when_the_first_list_mails_again(acme: int) -> None:
    contact_id = join(acme, {"news": "snoozed", "offers": "snoozed"})
    Subscription.objects.filter(list__key="news").update(snooze_until=NEXT_WEEK)

    on_break = reach.read_reach(acme, [contact_id], now=NOW)[contact_id]
    later = reach.read_reach(acme, [contact_id], now=SOON)[contact_id]
    Subscription.objects.update(state="paused")
    paused = reach.read_reach(acme, [contact_id], now=NOW)[contact_id]

    assert on_break == Reach(is_on_list=False, kept_back=ON_BREAK, break_ends=SOON)
    assert later == Reach(is_on_list=True, kept_back=None, break_ends=None)
    assert paused == Reach(is_on_list=False, kept_back=ON_BREAK, break_ends=None)


def test_nobody_who_left_comes_back_by_a_request_or_as_a_new_contact(acme: int) -> None:
    asking = people.member(acme)
    people.leave(acme, key="news")
    people.ask(acme, asking)
    again = reach.read_reach(acme, [asking], now=LATER)[asking]
    contacts.delete_contact(acme, contact_id=asking, actor="alice", now=LATER)
    imported = people.contact(acme, R1.upper())

    anew = reach.read_reach(acme, [imported], now=LATER)[imported]

    assert again.kept_back == anew.kept_back == LEFT_EVERY_LIST
    people.ask(acme, imported)
    people.act(subscriptions.confirm, acme, imported)
    assert reach.read_reach(acme, [imported], now=LATER)[imported].is_on_list


def test_nobody_who_left_comes_back_by_a_corrected_address(acme: int) -> None:
    asking = people.member(acme)
    people.leave(acme, key="news")
    people.ask(acme, asking)
    move(acme, asking, "new@example.com")
    people.leave(acme, "deleted@example.com", key="news")
    imported = people.contact(acme, "deleted@example.com")
    for address in ("second@example.com", "third@example.com"):
        move(acme, imported, address)

    read = reach.read_reach(acme, [asking, imported], now=LATER)
    gate = standings.read_standings(acme, [], [asking, imported], is_to_all=True)

    assert {one.kept_back for one in read.values()} == {LEFT_EVERY_LIST}
    assert gate.unreached == dict.fromkeys((asking, imported), LEFT_EVERY_LIST)
    assert audience.count(acme, audience.only_reached(EVERYBODY, at=LATER)) == 0


def test_a_member_at_the_address_of_somebody_who_left_the_list_is_off_it(acme: int) -> None:
    people.leave(acme, "left@example.com", key="news")
    contact_id = people.member(acme)
    people.subscribe(acme, contact_id, "offers")
    move(acme, contact_id, "left@example.com")

    on_offers = reach.read_reach(acme, [contact_id], now=LATER)[contact_id]
    people.leave(acme, "left@example.com", key="offers")

    assert on_offers.is_on_list
    assert people.subscription(contact_id) is SubscriptionState.UNSUBSCRIBED
    event = ("unsubscribed", "news", "active", "unsubscribed")
    assert people.read_history(acme)[-2] == event
    assert reach.read_reach(acme, [contact_id], now=LATER)[contact_id].kept_back == LEFT_EVERY_LIST


def test_a_look_up_does_not_read_the_table_where_statistics_know_one_person(acme: int) -> None:
    globex = people.workspace("globex")
    people.news(globex)
    keys = ("news", "offers", people.news(acme, "books"), people.news(acme, "films"))
    contact_id = join(acme, dict.fromkeys(keys, "unsubscribed"))
    for key in keys:
        people.leave(acme, key=key)
    with connection.cursor() as cursor:
        cursor.execute(_MANY_MEMBERS, [globex])
        cursor.execute(_MANY_LEFT, [hash_key.read(), globex])
        # What is deleted here is as invisible to ANALYZE as what another has not committed.
        cursor.execute("DELETE FROM contacts_subscription WHERE contact_id <> %s", [contact_id])
        cursor.execute("DELETE FROM contacts_suppression WHERE workspace_id = %s", [globex])
        cursor.execute("ANALYZE contacts_subscription, contacts_suppression, contacts_list")
    frozen = FrozenAudience(EVERYBODY, None, frozen_at=LATER)
    query = audience.compile_chunk(acme, frozen, after="", limit=1000)

    plan = "\n".join(
        line for (line,) in sql.rows(pg.SQL("EXPLAIN {}").format(query.sql), query.params)
    )

    assert "contacts_subscription_once" in plan
    assert "contacts_suppression_once" in plan
    assert "Seq Scan on contacts_su" not in plan


_MANY_MEMBERS = """
WITH member AS (
    INSERT INTO contacts_contact (workspace_id, address)
    SELECT %s, 'm' || n || '@example.com' FROM generate_series(1, 5000) AS n
    RETURNING id, workspace_id
)
INSERT INTO contacts_subscription (contact_id, list_id, state)
SELECT member.id, list.id, 'active'
FROM member JOIN contacts_list AS list ON list.workspace_id = member.workspace_id
"""
_MANY_LEFT = """
INSERT INTO contacts_suppression (workspace_id, address_hash, list_id, reason, has_left)
SELECT contact.workspace_id, contacts_fingerprint(%s, contact.address), list.id, 'unsubscribed',
       true
FROM contacts_contact AS contact
JOIN contacts_list AS list ON list.workspace_id = contact.workspace_id
WHERE contact.workspace_id = %s
"""


def move(workspace_id: int, contact_id: int, address: str) -> None:
    changes = Changes(address=address)
    contacts.update_contact(
        workspace_id, contact_id=contact_id, changes=changes, actor="alice", now=LATER
    )


def test_a_suppression_of_a_topic_or_of_another_workspace_leaves_nobody_out(
    acme: int, globex: int
) -> None:
    people.news(globex)
    contact_id = people.contact(acme)
    for workspace_id, key in ((acme, "prices"), (globex, "news")):
        people.suppress(workspace_id, R1, key)

    assert reach.read_reach(acme, [contact_id], now=NOW)[contact_id].kept_back is None
    assert reach.read_reach(globex, [contact_id], now=NOW) == {}
