"""Subscriptions: asked for and confirmed, brought by an import, paused, and tuned."""

from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from postledger.contacts import consent, lists, queries
from postledger.contacts.actions import desired_state, subscriptions
from postledger.contacts.actions.desired_state import DesiredState
from postledger.contacts.actions.subscriptions import (
    InvalidPreferencesError,
    SubscriptionSuppressedError,
    SubscriptionUnknownError,
)
from postledger.contacts.consent import Preferences
from postledger.contacts.details import InvalidContactError
from postledger.contacts.lists import ListUnknownError
from postledger.contacts.models import ConsentEvent, Subscription
from postledger.contacts.queries import ContactUnknownError
from postledger.contacts.states import (
    ContactState,
    SubscriptionState,
    SuppressionReason,
    SuppressionStatus,
)
from tests.contacts import people
from tests.contacts.people import FORM, LATER, NOW, R1


@pytest.fixture(autouse=True)
def news(acme: int) -> str:
    return people.news(acme)


def ask(workspace_id: int, contact_id: int, *, is_confirmed: bool = False) -> SubscriptionState:
    return subscriptions.subscribe(
        workspace_id,
        contact_id=contact_id,
        list_key="news",
        is_confirmed=is_confirmed,
        origin=FORM,
        now=NOW,
    )


def confirm(workspace_id: int, contact_id: int) -> bool:
    return people.act(subscriptions.confirm, workspace_id, contact_id)


def test_a_subscription_is_pending_until_it_is_confirmed(acme: int) -> None:
    contact_id = people.contact(acme)

    assert ask(acme, contact_id) is SubscriptionState.PENDING
    assert ask(acme, contact_id) is SubscriptionState.PENDING
    event = ConsentEvent.objects.get()
    proof = (event.source, event.actor, event.text_version, event.ip, event.at)
    assert proof == ("form /join", R1, "2026-01", "192.0.2.7", NOW)
    assert confirm(acme, contact_id)
    assert not confirm(acme, contact_id)

    assert people.subscription(contact_id) is SubscriptionState.ACTIVE
    assert people.read_history(acme) == [
        ("subscribed", "news", None, "pending"),
        ("confirmed", "news", "pending", "active"),
    ]
    other = people.contact(acme, "r2@example.com")
    assert ask(acme, other, is_confirmed=True) is SubscriptionState.ACTIVE


def test_who_left_a_list_comes_back_by_confirming_only(acme: int) -> None:
    contact_id = people.member(acme)
    people.leave(acme, key="news")

    assert ask(acme, contact_id, is_confirmed=True) is SubscriptionState.PENDING
    assert confirm(acme, contact_id)

    assert people.subscription(contact_id) is SubscriptionState.ACTIVE
    list_id = Subscription.objects.get().list_id
    assert people.find_suppression(acme, list_id=list_id) == SuppressionStatus()


def test_who_left_everything_comes_back_for_the_confirmed_list_alone(acme: int) -> None:
    people.news(acme, "offers")
    contact_id = people.contact(acme)
    people.subscribe(acme, contact_id, "offers")
    people.leave(acme)

    ask(acme, contact_id)
    confirm(acme, contact_id)

    assert people.state(contact_id) is ContactState.ACTIVE
    assert people.find_suppression(acme) == SuppressionStatus()
    assert people.subscription(contact_id) is SubscriptionState.ACTIVE
    assert people.subscription(contact_id, "offers") is SubscriptionState.UNSUBSCRIBED
    assert people.read_history(acme)[-2:] == [
        ("unsubscribed", "offers", "active", "unsubscribed"),
        ("undone", None, "unsubscribed", "active"),
    ]


def test_a_confirmation_lifts_no_complaint(acme: int) -> None:
    contact_id = people.contact(acme)
    people.complain(acme)
    ask(acme, contact_id)

    confirm(acme, contact_id)

    assert people.state(contact_id) is ContactState.UNSUBSCRIBED
    assert people.find_suppression(acme).reason is SuppressionReason.COMPLAINED


def test_who_is_kept_back_from_a_list_cannot_ask_for_it(acme: int) -> None:
    contact_id = people.contact(acme)
    people.suppress(acme, R1, "news")

    with pytest.raises(SubscriptionSuppressedError, match="Restore it first"):
        ask(acme, contact_id)

    assert not Subscription.objects.exists()


def by_a_program_on_another_list(acme: int, contact_id: int) -> None:
    desired_state.update_subscription(
        acme,
        contact_id=contact_id,
        list_key="offers",
        state=DesiredState.ACTIVE,
        origin=FORM,
        now=NOW,
    )


def by_an_operator(acme: int, contact_id: int) -> None:
    # As of a subscription whose past nobody knows.
    subscription = Subscription.objects.filter(contact_id=contact_id)
    subscription.update(state="unsubscribed")
    people.restore(acme, subscription.get().contact.address, key="news")


def test_whoever_gets_a_list_is_no_longer_unconfirmed(acme: int) -> None:
    people.news(acme, "offers")
    other = people.unconfirmed(acme, "other@example.com")
    ask(acme, other)
    ways: list[Callable[[int, int], object]] = [
        confirm,
        partial(ask, is_confirmed=True),
        by_a_program_on_another_list,
        by_an_operator,
    ]
    for number, activate in enumerate(ways):
        contact_id = people.unconfirmed(acme, f"r{number}@example.com")
        ask(acme, contact_id)

        activate(acme, contact_id)

        assert not people.is_unconfirmed(contact_id), activate
    assert people.is_unconfirmed(other)


def test_who_asks_or_leaves_stays_unconfirmed(acme: int) -> None:
    contact_id = people.unconfirmed(acme)
    ask(acme, contact_id)
    people.leave(acme, key="news")
    ask(acme, contact_id, is_confirmed=True)
    people.undo(acme, key="news")

    assert people.subscription(contact_id) is SubscriptionState.PENDING
    assert people.is_unconfirmed(contact_id)


def test_a_break_is_taken_and_ended(acme: int) -> None:
    contact_id = people.member(acme)

    assert not people.act(subscriptions.resume, acme, contact_id)
    assert people.act(subscriptions.pause, acme, contact_id)
    assert not people.act(subscriptions.pause, acme, contact_id)
    assert people.subscription(contact_id) is SubscriptionState.PAUSED

    assert people.act(subscriptions.resume, acme, contact_id)
    assert people.subscription(contact_id) is SubscriptionState.ACTIVE


WISHES = Preferences(
    notify_on=("opened", "closed"),
    max_notifications=3,
    window_from=22 * 60,
    window_until=6 * 60,
    snooze_until=LATER,
    locale="pt-BR",
)


def prefer(workspace_id: int, contact_id: int, wishes: Preferences) -> bool:
    return subscriptions.set_preferences(
        workspace_id,
        contact_id=contact_id,
        list_key="news",
        preferences=wishes,
        origin=FORM,
        now=NOW,
    )


def test_preferences_are_kept_and_read_back(acme: int) -> None:
    contact_id = people.member(acme)

    assert prefer(acme, contact_id, WISHES)
    assert not prefer(acme, contact_id, WISHES)

    subscription = queries.list_subscriptions(acme, contact_id=contact_id).get()
    kept = {field.name: getattr(subscription, field.name) for field in fields(Preferences)}
    assert Preferences(**kept | {"notify_on": tuple(kept["notify_on"])}) == WISHES
    assert people.read_history(acme)[-1] == ("preferences_changed", "news", "active", "active")
    assert queries.list_history(acme, contact_id=contact_id)[0].detail == (
        "notify_on, max_notifications, window_from, window_until, snooze_until, locale"
    )


def test_a_snooze_leaves_the_other_preferences_alone(acme: int) -> None:
    contact_id = people.member(acme)
    prefer(acme, contact_id, WISHES)
    until = LATER + timedelta(days=7)

    def snooze() -> bool:
        return people.snooze(acme, contact_id, until)

    assert snooze()
    assert not snooze()

    subscription = Subscription.objects.get()
    assert (subscription.snooze_until, subscription.max_notifications) == (until, 3)


def test_preferences_that_no_mail_can_be_timed_by_are_refused(acme: int) -> None:
    contact_id = people.member(acme)
    for wishes in (
        Preferences(window_from=60),
        Preferences(window_from=-1, window_until=60),
        Preferences(window_from=0, window_until=1441),
        Preferences(max_notifications=0),
        Preferences(notify_on=("",)),
        Preferences(notify_on=("x",) * 51),
        Preferences(snooze_until=datetime(9999, 12, 31, tzinfo=UTC)),
    ):
        with pytest.raises(InvalidPreferencesError):
            prefer(acme, contact_id, wishes)
    with pytest.raises(InvalidContactError, match="like pt-BR"):
        prefer(acme, contact_id, Preferences(locale="portuguese!"))


def test_nothing_is_done_to_another_workspaces_subscription(acme: int, globex: int) -> None:
    people.news(globex)
    ours = people.member(acme)

    for verb in (subscriptions.pause, subscriptions.resume):
        with pytest.raises(SubscriptionUnknownError):
            people.act(verb, globex, ours)
    with pytest.raises(SubscriptionUnknownError):
        prefer(globex, ours, WISHES)
    with pytest.raises(ContactUnknownError):
        ask(globex, ours)
    with pytest.raises(ContactUnknownError):
        people.act(subscriptions.confirm, globex, ours)

    assert people.subscription(ours) is SubscriptionState.ACTIVE
    assert queries.find_contact(globex, contact_id=ours) is None
    assert queries.list_history(globex, contact_id=ours) == []


def test_nobody_joins_an_archived_list(acme: int) -> None:
    contact_id = people.contact(acme)
    lists.archive_list(acme, key="news", actor="alice")

    with pytest.raises(ListUnknownError, match="or it is archived"):
        ask(acme, contact_id)


def test_more_than_ten_thousand_reports_are_not_applied_at_once(acme: int) -> None:
    with pytest.raises(ValueError, match="at most"):
        people.apply(acme, *[consent.complaint_report(R1, at=NOW)] * 10_001)
