"""Workers that look for alerts at the same moment open one, and tell it once."""

from functools import partial

import pytest

from postledger.alerts import telling, watching
from postledger.alerts.detection import Cause, Finding
from postledger.alerts.models import Alert
from tests.alerts import house
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def test_workers_that_look_together_open_one_alert_and_tell_it_once() -> None:
    acme = house.open_house()
    house.add_sender(acme, "second@acme.example")
    house.break_down()

    collide.together([partial(watching.watch, house.after(minutes=3))] * 4)

    assert [(row.cause, row.times) for row in Alert.objects.all()] == [("sender_held", 1)]
    assert house.told_mails() == [("owner0@acme.example", "acme: news@acme.example is held")]


def test_whoever_looks_while_an_alert_is_being_opened_waits_and_opens_none() -> None:
    acme = house.open_house()
    now = house.after(minutes=3)
    found = [Finding(Cause.IN_DOUBT, now, 1)]

    with collide.uncommitted(partial(watching.keep_alerts, acme.pk, found, now=now)):
        second = collide.waiting(partial(watching.keep_alerts, acme.pk, found, now=now))
    second.answer()

    assert house.alerts() == [("in_doubt", "", True, False)]


def test_while_one_worker_tells_another_tells_nothing() -> None:
    acme = house.open_house()
    now = house.after(minutes=3)
    watching.keep_alerts(acme.pk, [Finding(Cause.IN_DOUBT, now, 1)], now=now)

    with collide.uncommitted(partial(telling.tell, acme.pk, now=now)) as first:
        second = telling.tell(acme.pk, now=now)

    assert (first.answer(), second) == (True, False)
    assert len(house.told_mails()) == 1
