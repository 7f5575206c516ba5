"""A notification that fails for good alarms the members of its workspace, once for its topic."""

import pytest

from postledger.alerts import watching
from postledger.alerts.models import Alert
from postledger.deliveries import ledger
from postledger.deliveries.entries import Decision, SeenDelivery
from postledger.notifications.models import Notification, Topic
from postledger.notifications.topics import streams as topic_streams
from tests import cast as books
from tests.alerts import house
from tests.deliveries import views
from tests.notifications import cast, queue

pytestmark = pytest.mark.django_db

FAILED = ("failed_notifications", "open-seats")


@pytest.fixture
def topic() -> Topic:
    return cast.add_topic(house.open_house().pk)


def fail(topic: Topic, name: str = "alice") -> Notification:
    row = queue.planned(topic, name)
    books.book(queue.stream_of(row), views.refused)
    return row


def see(row: Notification) -> SeenDelivery:
    return SeenDelivery(queue.show(row)["position"], 1)


def test_a_failed_notification_opens_one_alert_that_is_told_once(topic: Topic) -> None:
    fail(topic)

    for minutes in (0, 1, 2):
        watching.watch(house.after(minutes=minutes))

    assert house.alerts() == [(*FAILED, True, True)]
    alert = Alert.objects.get()
    assert (alert.count, alert.times, alert.data) == (1, 1, {"name": "Open seats"})
    fail(topic, "bob")
    watching.watch(house.after(minutes=3))
    assert Alert.objects.get().count == 2
    assert len(house.told_mails()) == 1


def test_it_stays_open_when_the_stream_is_replaced(topic: Topic) -> None:
    stream_id = queue.stream_of(fail(topic))
    ledger.cancel(stream_id, actor="alice")
    newer = topic_streams.find_stream(topic)
    watching.watch(house.after(minutes=1))

    assert newer != stream_id
    assert topic_streams.find_stream(topic) == newer
    assert house.alerts() == [(*FAILED, True, True)]


def test_it_closes_when_the_last_one_is_requeued_or_discarded(topic: Topic) -> None:
    first, second, third = (fail(topic, name) for name in ("alice", "bob", "carol"))
    stream_id = queue.stream_of(first)
    ledger.discard(stream_id, [see(first)], actor="bob")
    watching.watch(house.after(minutes=1))
    assert house.alerts() == [(*FAILED, True, True)]

    ledger.requeue(stream_id, [see(second)], actor="bob")
    ledger.discard(stream_id, [see(third)], actor="bob")
    watching.watch(house.after(minutes=2))

    assert house.alerts() == [(*FAILED, False, True)]


def test_a_doubt_that_a_person_ended_and_what_was_skipped_or_expired_alarm_nobody(
    topic: Topic,
) -> None:
    row = queue.planned(topic)
    books.lose(queue.stream_of(row))
    decision = Decision.COUNT_AS_NOT_SENT
    ledger.resolve(queue.stream_of(row), [see(row)], decision=decision, actor="bob")
    books.judge(queue.stream_of(queue.planned(topic, "carol")), views.suppressed)
    queue.pend(cast.event(topic), cast.subscribe(topic, "bob"), end="expired", code="expired")

    watching.watch(house.after(minutes=2))

    assert house.alerts() == []


def test_a_topic_of_another_workspace_alarms_its_own_members(topic: Topic) -> None:
    fail(cast.add_topic(house.open_house("globex").pk))

    watching.watch(house.after(minutes=1))

    assert house.alerts("acme") == []
    assert house.alerts("globex") == [(*FAILED, True, True)]
