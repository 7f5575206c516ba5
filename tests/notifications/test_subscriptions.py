"""Topic subscriptions: the status that counts, and that an event obeys it."""

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from postledger.contacts.actions.subscriptions import InvalidPreferencesError
from postledger.contacts.consent import Origin, Preferences
from postledger.notifications.events import publishing
from postledger.notifications.events import queries as event_queries
from postledger.notifications.fan_out import planner
from postledger.notifications.models import Event, Topic, TopicSubscription
from postledger.notifications.subscriptions import queries as subscription_queries
from postledger.notifications.subscriptions import subscriptions
from postledger.notifications.subscriptions.standing import SubscriptionStatus, find_standing
from postledger.notifications.subscriptions.subscriptions import TooManySubscriptionsError
from tests.campaigns import press
from tests.contacts import people
from tests.notifications import cast, seats

MATCH = {"indexNumber": "10023"}
ORIGIN = Origin("test", "test")


@pytest.fixture
def topic(settings: Settings, transactional_db: None) -> Topic:
    press.set_up_workspace(settings)
    return seats.topic()


def subscribe(topic: Topic, name: str, *, is_confirmed: bool = True) -> int:
    return subscriptions.subscribe(
        topic,
        contact_id=people.contact(topic.workspace_id, f"{name}@example.com"),
        match=MATCH,
        is_confirmed=is_confirmed,
        origin=ORIGIN,
        now=datetime.now(UTC),
    )


def test_an_event_is_told_to_the_active_and_says_why_to_nobody_else(topic: Topic) -> None:
    now, workspace_id = datetime.now(UTC), topic.workspace_id
    ids = {name: subscribe(topic, name) for name in ("active", "paused", "ended", "left")}
    ids |= {"pending": subscribe(topic, "pending", is_confirmed=False)}
    ids |= {"suppressed": subscribe(topic, "suppressed")}
    subscriptions.pause(workspace_id, subscription_id=ids["paused"], origin=ORIGIN, now=now)
    subscriptions.unsubscribe(workspace_id, subscription_id=ids["ended"], origin=ORIGIN, now=now)
    people.leave(workspace_id, "left@example.com", "seats")
    people.suppress(workspace_id, "suppressed@example.com")

    statuses = {
        name: subscription_queries.get_subscription(workspace_id, id_).status
        for name, id_ in ids.items()
    }
    assert statuses == {
        "active": SubscriptionStatus.ACTIVE,
        "paused": SubscriptionStatus.PAUSED,
        "pending": SubscriptionStatus.PENDING,
        "ended": SubscriptionStatus.UNSUBSCRIBED,
        "left": SubscriptionStatus.UNSUBSCRIBED,
        "suppressed": SubscriptionStatus.SUPPRESSED,
    }

    [published] = publishing.publish_events(topic, [seats.event()], actor="registrar", now=now)
    planner.plan_all()
    event = Event.objects.get(pk=published.id)
    told = event_queries.list_notifications(event, limit=10)
    assert {facts.subscription_id: facts.code for facts in told if facts.code} == {
        ids["paused"]: "subscription_paused",
        ids["pending"]: "subscription_pending",
        ids["ended"]: "subscription_unsubscribed",
        ids["left"]: "subscription_unsubscribed",
        ids["suppressed"]: "subscription_suppressed",
    }
    [mailed] = [facts for facts in told if facts.mail_id]
    assert (mailed.subscription_id, mailed.state) == (ids["active"], "waiting")
    counts = event_queries.count_fan_out(event)
    assert sum(count.count for count in counts) == len(ids)


def test_a_contact_has_no_more_subscriptions_than_a_page_can_show(topic: Topic) -> None:
    contact_id = people.contact(topic.workspace_id)

    def subscribe_to(index_number: str) -> int:
        match = {"indexNumber": index_number}
        return subscriptions.subscribe(
            topic, contact_id=contact_id, match=match, origin=ORIGIN, now=people.NOW
        )

    first = subscribe_to("0")
    TopicSubscription.objects.bulk_create(
        TopicSubscription(topic=topic, contact_id=contact_id, match_digest=bytes([number]))
        for number in range(1, subscriptions.MOST_OF_CONTACT)
    )
    assert subscribe_to("0") == first
    with pytest.raises(TooManySubscriptionsError):
        subscribe_to("1")


@pytest.mark.django_db(transaction=True)
def test_a_topic_without_statuses_of_its_own_tells_every_event(settings: Settings) -> None:
    press.set_up_workspace(settings)
    every = seats.topic(notify_on=())
    subscribe(every, "active")
    events = [seats.event(statusAfter="Closed")]
    now = datetime.now(UTC)
    [published] = publishing.publish_events(every, events, actor="registrar", now=now)
    planner.plan_all()
    [count] = event_queries.count_fan_out(Event.objects.get(pk=published.id))
    assert (count.state, count.code) == ("waiting", None)


def test_a_snooze_of_more_than_five_years_is_refused(topic: Topic) -> None:
    id_ = subscribe(topic, "active")
    far = Preferences(snooze_until=datetime(9999, 12, 31, tzinfo=UTC))

    with pytest.raises(InvalidPreferencesError, match="ends within 5 years"):
        subscriptions.set_preferences(
            topic.workspace_id,
            subscription_id=id_,
            preferences=far,
            origin=ORIGIN,
            now=datetime.now(UTC),
        )


def test_of_a_snooze_of_the_list_and_one_of_the_topic_subscription_the_longer_one_counts(
    topic: Topic,
) -> None:
    sooner = datetime.now(UTC) + timedelta(hours=1)
    later = sooner + timedelta(days=1)

    for name, own, of_list in (("ann", sooner, later), ("bob", later, sooner)):
        subscription = cast.subscribe(
            topic, name, snooze_until=own, consent={"snooze_until": of_list}
        )
        standing = find_standing(topic.workspace_id, subscription.pk)
        assert standing is not None
        assert standing.snooze_until == later, name
