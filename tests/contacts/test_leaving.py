"""People leave a list or everything, take it back, and are restored by an operator."""

import pytest

from postledger.accounts.models import AuditEntry
from postledger.contacts import queries, standings, unsubscribe_links
from postledger.contacts.actions import subscriptions
from postledger.contacts.actions.restoration import RestoreReasonMissingError
from postledger.contacts.models import (
    ConsentEvent,
    Contact,
    List,
    Subscription,
    Suppression,
)
from postledger.contacts.states import (
    ContactState,
    SubscriptionState,
    SuppressionReason,
    SuppressionStatus,
)
from postledger.contacts.unsubscribe_links import UnsubscribeRequest
from tests.contacts import people
from tests.contacts.people import R1

LEFT = SuppressionStatus(SuppressionReason.UNSUBSCRIBED, has_left=True)


def list_id(workspace_id: int, key: str = "news") -> int:
    return List.objects.get(workspace_id=workspace_id, key=key).pk


def test_who_leaves_everything_is_unsubscribed_once_and_takes_it_back_once(acme: int) -> None:
    contact_id = people.contact(acme)

    assert people.leave(acme, "R1@example.com")
    assert not people.leave(acme)

    assert people.state(contact_id) is ContactState.UNSUBSCRIBED
    assert people.find_suppression(acme) == LEFT
    assert people.read_history(acme) == [("unsubscribed", None, "active", "unsubscribed")]
    assert people.undo(acme, "R1@Example.com")
    assert not people.undo(acme)
    assert people.state(contact_id) is ContactState.ACTIVE
    assert not Suppression.objects.exists()
    assert people.read_history(acme)[1:] == [("undone", None, "unsubscribed", "active")]


def test_somebody_nobody_knows_can_leave_everything_and_take_it_back(acme: int) -> None:
    assert people.leave(acme)
    assert not people.leave(acme)

    assert people.find_suppression(acme) == LEFT
    assert people.read_history(acme) == [("unsubscribed", None, None, None)]
    people.leave(acme, key="news")
    assert people.undo(acme)
    assert people.undo(acme, key="news")
    assert not Suppression.objects.exists()


def test_who_left_before_being_known_or_being_made_again_is_made_as_one_who_left(
    acme: int,
) -> None:
    people.leave(acme)
    people.bounce(acme, "r2@example.com")
    known = people.contact(acme)

    assert people.state(known) is ContactState.UNSUBSCRIBED
    assert people.state(people.contact(acme, "R2@example.com")) is ContactState.BOUNCED
    people.delete(acme, known)
    assert people.state(people.contact(acme)) is ContactState.UNSUBSCRIBED


def test_a_recipient_lowers_no_bounce_and_no_complaint(acme: int) -> None:
    bounced, complained = people.contact(acme), people.contact(acme, "r2@example.com")
    people.bounce(acme)
    people.complain(acme, "r2@example.com")
    assert people.leave(acme)
    assert people.state(bounced) is ContactState.BOUNCED
    assert people.find_suppression(acme) == SuppressionStatus(
        SuppressionReason.BOUNCED, has_left=True
    )

    assert people.undo(acme)  # the wish alone
    assert not people.undo(acme)
    assert not people.undo(acme, "r2@example.com")

    assert people.state(bounced) is ContactState.BOUNCED
    assert people.find_suppression(acme) == SuppressionStatus(SuppressionReason.BOUNCED)
    assert people.state(complained) is ContactState.UNSUBSCRIBED


def test_leaving_a_list_ends_that_subscription_only(acme: int) -> None:
    people.news(acme)
    people.news(acme, "offers")
    contact_id = people.member(acme)
    people.subscribe(acme, contact_id, "offers")

    assert people.leave(acme, key="news")
    assert not people.leave(acme, key="news")

    assert people.subscription(contact_id) is SubscriptionState.UNSUBSCRIBED
    assert people.subscription(contact_id, "offers") is SubscriptionState.ACTIVE
    assert people.state(contact_id) is ContactState.ACTIVE
    assert people.find_suppression(acme) == SuppressionStatus()
    assert people.read_history(acme)[-1] == ("unsubscribed", "news", "active", "unsubscribed")


def test_a_program_does_not_revive_who_left_a_list(acme: int) -> None:
    people.news(acme)
    people.leave(acme, key="news")
    late = people.contact(acme)

    assert people.subscribe(acme, late) is SubscriptionState.PENDING
    read = standings.read_standings(acme, [], [late], list_key="news")
    assert read.subscriptions == {late: SubscriptionState.PENDING}


def test_a_link_to_a_list_that_was_never_made_works(acme: int) -> None:
    assert people.leave(acme, key="forgotten")
    assert not people.leave(acme, key="forgotten")

    assert people.find_suppression(acme, list_id=list_id(acme, "forgotten")) == LEFT
    assert people.find_suppression(acme) == SuppressionStatus()


def test_a_link_whose_key_no_list_can_have_means_all_mail(acme: int) -> None:
    for number, key in enumerate(("", "No Such Key", "x" * 65, "news'; DROP TABLE x", "-a")):
        address = f"r{number}@example.com"
        assert people.leave(acme, address, key)
        assert people.find_suppression(acme, address) == LEFT, key

    assert not List.objects.exists()


def test_another_workspaces_list_of_the_same_key_is_not_left(acme: int, globex: int) -> None:
    people.news(acme)
    people.news(globex)
    ours, theirs = people.member(acme), people.member(globex)
    event_count = len(queries.list_history(acme, contact_id=ours))

    people.leave(globex, key="news")
    people.leave(globex)

    assert people.subscription(ours) is SubscriptionState.ACTIVE
    assert people.state(ours) is ContactState.ACTIVE
    assert people.subscription(theirs) is SubscriptionState.UNSUBSCRIBED
    assert len(queries.list_history(acme, contact_id=ours)) == event_count
    assert not people.undo(acme, key="news")
    assert not people.undo(acme)
    assert not people.restore(acme)
    # Of whom a workspace does not know, nothing is written to another's contact.
    only_theirs = people.contact(globex, "r2@example.com")
    people.leave(acme, "r2@example.com")
    assert queries.list_history(globex, contact_id=only_theirs) == []
    assert ConsentEvent.objects.latest("pk").contact_id is None


def test_a_recipient_lowers_nothing_that_came_with_an_old_table(acme: int) -> None:
    """Rows that were brought along have states, and no suppressions beside them."""
    people.news(acme)
    contact_id = people.member(acme)
    Contact.objects.update(state="bounced")
    Subscription.objects.update(state="suppressed")

    assert not people.undo(acme)
    assert not people.undo(acme, key="news")
    assert people.state(contact_id) is ContactState.BOUNCED

    assert people.restore(acme)
    assert people.restore(acme, key="news")
    assert people.state(contact_id) is ContactState.ACTIVE
    assert people.subscription(contact_id) is SubscriptionState.ACTIVE


def test_a_word_by_hand_outlives_a_recipients_undo(acme: int) -> None:
    contact_id = people.contact(acme)
    people.leave(acme)
    people.suppress(acme, R1)

    assert people.undo(acme)

    assert people.state(contact_id) is ContactState.ACTIVE
    assert people.find_suppression(acme) == SuppressionStatus(SuppressionReason.BY_HAND)


def test_an_undone_subscription_is_what_it_was_before(acme: int) -> None:
    people.news(acme)
    for number, before in enumerate(("pending", "active", "paused")):
        address = f"r{number}@example.com"
        contact_id = people.contact(acme, address)
        people.ask(acme, contact_id)
        if before != "pending":
            people.act(subscriptions.confirm, acme, contact_id)
        if before == "paused":
            people.act(subscriptions.pause, acme, contact_id)
        people.leave(acme, address, "news")

        assert people.undo(acme, address, "news")

        assert people.subscription(contact_id) == before
        kept = people.find_suppression(acme, address, list_id(acme))
        assert kept == SuppressionStatus(), before


def test_a_restoring_needs_a_reason_and_keeps_it(acme: int) -> None:
    contact_id = people.contact(acme)
    people.bounce(acme)

    with pytest.raises(RestoreReasonMissingError, match="Give a reason"):
        people.restore(acme, reason=" ")
    assert people.state(contact_id) is ContactState.BOUNCED

    assert people.restore(acme, reason="The mailbox was full; she rang.")

    assert people.state(contact_id) is ContactState.ACTIVE
    event = ConsentEvent.objects.order_by("pk").last()
    assert event is not None
    assert (event.action, event.actor, event.detail) == (
        "restored",
        "bob",
        "The mailbox was full; she rang.",
    )
    entry = AuditEntry.objects.order_by("pk").last()
    assert entry is not None
    assert (entry.action, entry.subject) == ("address.restored", "r***@example.com")


def test_an_operator_restores_what_was_told_before_what_was_wished(acme: int) -> None:
    contact_id = people.contact(acme)
    people.leave(acme)
    people.bounce(acme)

    assert people.restore(acme)
    assert people.state(contact_id) is ContactState.UNSUBSCRIBED
    assert people.find_suppression(acme) == LEFT

    assert people.restore(acme)
    assert people.state(contact_id) is ContactState.ACTIVE
    assert not people.restore(acme)


def test_an_operator_restores_a_suppressed_subscription(acme: int) -> None:
    people.news(acme)
    contact_id = people.member(acme)
    people.suppress(acme, R1, "news")
    assert people.subscription(contact_id) is SubscriptionState.SUPPRESSED
    assert not people.undo(acme, key="news")

    assert people.restore(acme, key="news")

    assert people.subscription(contact_id) is SubscriptionState.ACTIVE


def test_a_forgotten_address_is_still_kept_back(acme: int) -> None:
    people.leave(acme)
    Suppression.objects.update(address=None)

    assert standings.read_standings(acme, ["R1@example.com"], []).suppressed == {R1: "unsubscribed"}
    assert not people.leave(acme)
    assert people.state(people.contact(acme)) is ContactState.UNSUBSCRIBED
    assert Suppression.objects.get().address is None


def test_a_wish_names_its_workspace_or_means_the_first(acme: int, globex: int) -> None:
    assert unsubscribe_links.find_workspace(UnsubscribeRequest(R1)) == min(acme, globex)
    assert unsubscribe_links.find_workspace(UnsubscribeRequest(R1, workspace_id=globex)) == globex
    assert (
        unsubscribe_links.find_workspace(UnsubscribeRequest(R1, workspace_id=globex + 1000)) is None
    )
    assert unsubscribe_links.find_workspace(UnsubscribeRequest(R1, workspace_id=2**70)) is None
    assert unsubscribe_links.find_workspace(UnsubscribeRequest(R1, workspace_id=-1)) is None
