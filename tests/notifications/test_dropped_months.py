"""Claims about notifications after the month of their mail was dropped."""

from datetime import UTC, datetime
from functools import partial

import pytest

from postledger.deliveries import ledger
from postledger.deliveries.entries import NewDelivery
from postledger.deliveries.ledger.months import MonthInUseError
from postledger.lib import ids
from postledger.notifications.events import retention
from postledger.notifications.models import Event, Notification, Topic, TopicSubscription
from postledger.privacy import retention as months
from tests import cast as ledger_cast
from tests.notifications import cast
from tests.notifications.test_fan_out import codes, planned, settle_all
from tests.races import collide

pytestmark = pytest.mark.django_db(transaction=True)


def must_not_drop_nor_wait_for(subscription: TopicSubscription, month: int) -> None:
    """A month that may not go is refused, whoever changes a subscription of it."""
    with collide.uncommitted(subscription.save):
        drop = collide.start(partial(months.drop_month, month))
        assert not drop.comes_to_rest(), "it waits for a lock"
    with pytest.raises(MonthInUseError):
        drop.answer()


def test_a_maximum_counts_what_was_sent_in_months_that_were_dropped(topic: Topic) -> None:
    ann = cast.subscribe(topic, "ann", max_notifications=2)
    old = planned(cast.event(topic))
    long_ago = datetime(2019, 5, 17, tzinfo=UTC)
    stream_id = ledger_cast.stream(now=long_ago)
    key = str(Notification.objects.get(event=old).pk)
    ledger.enqueue(stream_id, [NewDelivery("ann@example.com", dedupe_key=key)])
    Event.objects.filter(pk=old.pk).update(stream_id=stream_id)
    old.refresh_from_db()
    settle_all(old)
    ledger.enqueue(stream_id, [NewDelivery("bob@example.com")])
    must_not_drop_nor_wait_for(ann, ids.month_of(long_ago))
    settle_all(old)

    months.drop_month(ids.month_of(long_ago))
    retention.forget_events()

    ann.refresh_from_db()
    assert ann.forgotten_sent == 1
    second = planned(cast.event(topic, dedupe_key="second"))
    assert codes(second) == {"Ann": ""}
    settle_all(second)
    assert codes(planned(cast.event(topic, dedupe_key="third"))) == {"Ann": "max_notifications"}
