"""The gates learn of a whole window in one statement who must not, or cannot, be mailed."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from postledger.accounts import hash_key
from postledger.contacts import standings
from postledger.contacts.actions import contacts as contact_actions
from postledger.contacts.actions import suppression
from postledger.contacts.standings import Standings
from postledger.contacts.states import ContactState, SubscriptionState, SuppressionReason
from tests.contacts import people


def make(workspace_id: int, address: str) -> int:
    return contact_actions.create_contact(workspace_id, address=address, actor="alice")


def suppress(workspace_id: int, address: str, reason: SuppressionReason) -> None:
    assert suppression.suppress(workspace_id, address=address, reason=reason, actor="alice")


def test_a_suppressed_address_is_told_with_its_reason_whatever_its_capitals(acme: int) -> None:
    suppress(acme, "Bounced@example.com", SuppressionReason.BOUNCED)
    suppress(acme, "tired@example.com", SuppressionReason.UNSUBSCRIBED)

    answer = standings.read_standings(
        acme, ["bounced@example.com", "fine@example.com", "TIRED@example.com"] * 2, []
    )

    assert answer.suppressed == {
        "bounced@example.com": "bounced",
        "tired@example.com": "unsubscribed",
    }


def test_an_answer_is_told_under_the_address_that_was_asked_for(acme: int) -> None:
    """Python and PostgreSQL make small letters of some signs differently."""
    for stored in ("ÉMILE@example.com", "éloi@example.com", "İan@example.com"):
        suppress(acme, stored, SuppressionReason.BY_HAND)
        answer = standings.read_standings(acme, [stored], [])
        assert answer.suppressed == {stored.lower(): "by_hand"}


def test_neither_another_workspaces_suppression_nor_a_key_that_is_no_list_tells_anything(
    acme: int, globex: int
) -> None:
    suppress(globex, "r1@example.com", SuppressionReason.BOUNCED)
    contact_id = make(acme, "r1@example.com")

    answer = standings.read_standings(
        acme, ["r1@example.com"], [contact_id], list_key="'; DROP TABLE x"
    )

    assert not answer.suppressed
    assert not answer.left
    assert not answer.subscriptions


def test_only_the_workspaces_own_undeleted_contacts_stand(acme: int, globex: int) -> None:
    live, deleted = make(acme, "R1@example.com"), make(acme, "r2@example.com")
    strange = make(globex, "r3@example.com")
    people.delete(acme, deleted)

    answer = standings.read_standings(acme, [], [live, deleted, strange, strange + 1000])

    assert answer.contacts == {live: "r1@example.com"}


@pytest.mark.parametrize("list_key", ["news", None])
def test_a_window_is_looked_up_by_index_in_tables_that_are_large(
    list_key: str | None, acme: int, globex: int
) -> None:
    """Also where nobody left a list, while many of another workspace did."""
    for workspace_id in (acme, globex):
        people.news(workspace_id)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address, name)"
            " SELECT %s, 'r' || n || '@example.com', '' FROM generate_series(1, 50000) n",
            [acme],
        )
        cursor.execute(
            "INSERT INTO contacts_suppression (workspace_id, address, address_hash, reason)"
            " SELECT workspace_id, address, contacts_fingerprint(%s, address), 'bounced'"
            " FROM contacts_contact",
            [hash_key.read()],
        )
        cursor.execute(
            "INSERT INTO contacts_suppression"
            " (workspace_id, address, address_hash, list_id, reason)"
            " SELECT %s, s.address, s.address_hash, l.id, 'by_hand'"
            " FROM contacts_suppression s, contacts_list l WHERE l.workspace_id = %s",
            [globex, globex],
        )
        cursor.execute(
            "INSERT INTO contacts_subscription (contact_id, list_id, state)"
            " SELECT c.id, l.id, 'active' FROM contacts_contact c"
            " JOIN contacts_list l USING (workspace_id)"
        )
        cursor.execute("ANALYZE contacts_suppression, contacts_contact, contacts_subscription")

    with CaptureQueriesContext(connection) as captured:
        answer = standings.read_standings(
            acme,
            [f"R{n}@example.com" for n in range(1, 1001)],
            range(1, 1001),
            list_key=list_key,
            is_to_all=list_key is None,
        )
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {captured[0]['sql']}")
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert len(captured) == 1
    assert len(answer.suppressed) == 1000
    scanned = set(re.findall(r"Scan (?:using \w+ )?on (contacts_\w+)", plan))
    assert scanned == {
        "contacts_suppression",
        "contacts_contact",
        "contacts_subscription",
        "contacts_list",
    }
    # The last one is a handful of rows.
    assert set(re.findall(r"Seq Scan on (\w+)", plan)) <= {"contacts_list"}
    assert "Hash" not in plan


def test_a_leaving_of_one_list_is_told_of_that_list_alone(acme: int) -> None:
    people.news(acme)
    people.news(acme, "offers")
    people.leave(acme, "r1@example.com", "news")
    people.leave(acme, "r2@example.com")
    asked = ["R1@example.com", "r2@example.com"]

    answer = standings.read_standings(acme, asked, [], list_key="news")

    assert answer.left == {"r1@example.com": "unsubscribed"}
    assert answer.suppressed == {"r2@example.com": "unsubscribed"}
    assert standings.read_standings(acme, asked, [], list_key="offers").left == {}
    assert standings.read_standings(acme, asked, []).left == {}


def test_states_and_subscriptions_are_told_of_those_who_differ(acme: int) -> None:
    people.news(acme)
    plain, active = make(acme, "plain@example.com"), people.member(acme, "active@example.com")
    left, bounced = people.member(acme, "left@example.com"), make(acme, "bounced@example.com")
    people.leave(acme, "left@example.com", "news")
    people.bounce(acme, "bounced@example.com")

    answer = standings.read_standings(acme, [], [plain, active, left, bounced], list_key="news")

    assert answer.states == {bounced: ContactState.BOUNCED}
    assert answer.subscriptions == {
        active: SubscriptionState.ACTIVE,
        left: SubscriptionState.UNSUBSCRIBED,
    }
    assert standings.read_standings(acme, [], [left]).subscriptions == {}


def test_who_wants_a_break_from_a_list_has_paused_it_until_then(acme: int) -> None:
    people.news(acme)
    members = [people.member(acme, f"r{number}@example.com") for number in range(2)]
    now = datetime.now(UTC)
    for contact_id, until in zip(members, (timedelta(days=1), timedelta(days=-1)), strict=True):
        people.snooze(acme, contact_id, now + until)

    answer = standings.read_standings(acme, [], members, list_key="news")

    assert [*answer.subscriptions.values()] == [SubscriptionState.PAUSED, SubscriptionState.ACTIVE]


def test_another_workspaces_list_of_the_same_key_tells_nothing_here(acme: int, globex: int) -> None:
    for workspace_id in (globex, acme):
        people.news(workspace_id)
    theirs, ours = people.member(globex), people.member(acme)
    people.leave(globex, key="news")

    answer = standings.read_standings(acme, ["r1@example.com"], [theirs, ours], list_key="news")

    assert answer == Standings(
        {}, {ours: "r1@example.com"}, subscriptions={ours: SubscriptionState.ACTIVE}
    )
