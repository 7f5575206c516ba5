"""An alert opens once, is told once, and closes by itself."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction

from postledger.accounts.models import Workspace
from postledger.alerts import queries, recounts, watching
from postledger.alerts.models import Alert, Recount
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Decision, SeenDelivery, StreamKind
from postledger.deliveries.queries import ChangedStream
from postledger.deliveries.reasons import Reason
from tests import cast
from tests.alerts import house
from tests.deliveries import views

pytestmark = pytest.mark.django_db(transaction=True)

NEWS = "news@acme.example"
HELD = ("sender_held", NEWS)


def test_a_blocked_sender_opens_one_alert_that_ends_with_the_block() -> None:
    house.open_house()
    house.break_down()

    watching.watch(house.after(minutes=1))
    assert house.alerts() == []

    for minutes in (3, 4, 5):
        watching.watch(house.after(minutes=minutes))
    assert house.alerts() == [(*HELD, True, False)]

    house.mend()
    watching.watch(house.after(minutes=6))
    assert house.alerts() == [(*HELD, False, False)]
    alert = Alert.objects.get()
    assert alert.first_at < alert.last_at < alert.closed_at  # type: ignore[operator]


def test_the_alerts_of_one_workspace_are_not_those_of_another() -> None:
    house.open_house("acme")
    house.open_house("globex")
    house.break_down("globex")

    watching.watch(house.after(minutes=3))

    assert house.alerts("acme") == []
    assert len(house.alerts("globex")) == 1


def test_a_cause_that_comes_and_goes_is_one_alert_that_is_told_once() -> None:
    acme = house.open_house()
    house.add_sender(acme, "second@acme.example")
    for hours in range(4):
        house.break_down()
        watching.watch(house.after(hours=hours, minutes=3))
        house.mend()
        watching.watch(house.after(hours=hours, minutes=4))

    assert house.alerts() == [(*HELD, False, True)]
    assert Alert.objects.get().times == 4
    assert len(house.told_mails()) == 1


def test_after_a_quiet_time_the_same_cause_is_a_new_alert_and_told_again() -> None:
    acme = house.open_house()
    house.add_sender(acme, "second@acme.example")
    for start in (timedelta(), watching.QUIET_FOR + timedelta(minutes=5)):
        house.break_down()
        watching.watch(house.after(minutes=3) + start)
        house.mend()
        watching.watch(house.after(minutes=4) + start)

    assert house.alerts() == [(*HELD, False, True)] * 2
    assert len(house.told_mails()) == 2


def test_what_was_found_before_somebody_else_looked_changes_nothing() -> None:
    acme = house.open_house()
    house.break_down()
    watching.watch(house.after(minutes=10))

    watching.keep_alerts(acme.pk, [], now=house.after(minutes=5))

    assert house.alerts() == [(*HELD, True, False)]


def test_doubts_alarm_after_an_hour_and_end_with_the_decision() -> None:
    house.open_house()
    stream_id = cast.stream(mails=3)
    cast.lose(stream_id, size=3)

    watching.watch(house.after(minutes=30))
    assert house.alerts() == []

    watching.watch(house.after(minutes=61))
    assert house.alerts() == [("in_doubt", "", True, True)]
    assert Alert.objects.get().count == 3

    decide(stream_id)
    watching.watch(house.after(minutes=62))
    assert house.alerts() == [("in_doubt", "", False, True)]


def decide(stream_id: int) -> None:
    seen = [SeenDelivery(position, last_try=1) for position in range(3)]
    ledger.resolve(stream_id, seen, decision=Decision.COUNT_AS_SENT, actor="alice")


def test_silence_alarms_while_mail_goes_out_and_ends_with_an_event() -> None:
    house.open_house()
    stream_id = cast.stream(StreamKind.TRANSACTIONAL, mails=5)
    for _ in range(5):
        cast.book(stream_id, lambda position: entries.accepted(position, message_id="m"))
    first = min(cast.states(stream_id))

    watching.watch(house.after(minutes=61))

    assert house.alerts() == [("no_feedback", NEWS, True, True)]

    views.report(stream_id, first, "delivered")
    watching.watch(house.after(minutes=62))
    assert house.alerts() == [("no_feedback", NEWS, False, True)]


def test_books_that_do_not_balance_alarm_until_a_recount_agrees() -> None:
    house.open_house()
    stream_id = cast.stream(mails=2)
    now = house.after(minutes=1)
    recounts.recount_due(now)
    watching.watch(now)
    assert house.alerts() == []

    add_to_counter(stream_id, 1)
    recounts.recount_due(house.after(hours=2))
    watching.watch(house.after(hours=2))
    assert house.alerts() == [("books_unbalanced", "", True, True)]

    add_to_counter(stream_id, -1)
    recounts.recount_due(house.after(hours=4))
    watching.watch(house.after(hours=4))
    assert house.alerts() == [("books_unbalanced", "", False, True)]


def add_to_counter(stream_id: int, number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_stream SET planned = planned + %s,"
            " folded_at = clock_timestamp() + interval '90 minutes' WHERE id = %s",
            [number, stream_id],
        )


def test_a_stream_is_recounted_when_it_changed_and_rested() -> None:
    house.open_house()
    cast.stream(mails=1)
    now = house.after(minutes=1)

    assert [recounts.recount_due(now) for _ in range(2)] == [1, 0]
    assert recounts.recount_due(now + timedelta(hours=2)) == 0, "it has not changed"


def test_a_long_recount_rests_a_thousand_times_as_long() -> None:
    now = house.after()
    last = Recount(stream_id=1, counted_at=now, seconds=10.0, wrong_since=None)
    changed = ChangedStream(1, 1, now + timedelta(hours=1))

    assert not recounts.is_due(changed, last, now=now + timedelta(seconds=9_999))
    assert recounts.is_due(changed, last, now=now + timedelta(seconds=10_000))


def test_the_database_refuses_a_second_open_alert_of_one_cause() -> None:
    acme = house.open_house()
    house.break_down()
    now = house.after(minutes=3)
    watching.watch(now)
    first = Alert.objects.get()

    first.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        first.save(force_insert=True)
    assert len(queries.list_open(acme.pk, now=now)) == 1


def test_readers_see_that_no_worker_runs_although_nobody_wrote_it() -> None:
    acme = house.open_house()
    now = house.after()
    later = now + timedelta(minutes=3)
    house.end_worker()
    [never_started] = queries.list_open(acme.pk, now=later)
    assert never_started.cause == "no_worker"
    assert never_started.since == Workspace.objects.get(pk=acme.pk).created_at

    watching.watch(now)

    [found] = queries.list_open(acme.pk, now=later)
    assert (found.id, found.cause, found.since) == (None, "no_worker", now)
    assert found.untold_reason == "no_worker"
    assert queries.list_open(acme.pk, now=now + timedelta(minutes=1)) == []


def test_a_worker_that_comes_back_notes_the_time_without_one_and_tells_nobody() -> None:
    house.open_house()
    house.end_worker()
    now = house.after()
    watching.watch(now)

    watching.watch(now + timedelta(hours=3))

    assert house.alerts() == [("no_worker", "", False, False)]
    alert = Alert.objects.get()
    assert (alert.first_at, alert.closed_at) == (now, now + timedelta(hours=3))
    assert house.told_mails() == []


def test_neither_a_short_outage_nor_a_late_look_of_a_worker_that_lived_alarms_anybody() -> None:
    house.open_house()
    now = house.after()
    watching.watch(now)
    ledger.hold_sender(
        cast.sender().pk,
        reason=Reason.PROVIDER_DOWN,
        actor="dispatcher",
        length=timedelta(hours=1),
    )
    watching.watch(house.after(minutes=14))
    assert house.alerts() == []

    house.mend()
    watching.watch(now + timedelta(hours=3))
    assert house.alerts() == []
