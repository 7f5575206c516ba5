"""Claims about the fan-out of an event: who gets a notification, who does not, and why."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from postledger.accounts import workspaces
from postledger.accounts.queries import NOBODY, Organisation
from postledger.deliveries import audit, ledger
from postledger.lib import ids
from postledger.notifications.events import retention
from postledger.notifications.fan_out import planner
from postledger.notifications.models import Event, Notification, Topic, TopicStream
from tests import cast as ledger_cast
from tests.contacts import people
from tests.notifications import cast

pytestmark = pytest.mark.django_db(transaction=True)

LATER = datetime.now(UTC) + timedelta(hours=3)


def planned(event: Event) -> Event:
    planner.plan_all()
    event.refresh_from_db()
    assert event.planned_at is not None, event.trouble
    return event


def codes(event: Event) -> dict[str, str]:
    """Why each one gets no mail, by name; empty for those who do."""
    found = Notification.objects.filter(event=event)
    return dict(found.values_list("subscription__contact__name", "code"))


def mails(event: Event) -> dict[str, dict[str, Any]]:
    """The deliveries of an event, each with its batch, by address."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT d.address, d.position, d.state, d.letter, b.id AS batch, b.due_at, b.reason,"
            " d.variables::text FROM deliveries_delivery d"
            " JOIN notifications_notification n ON n.id::text = d.dedupe_key"
            " LEFT JOIN deliveries_batch b ON b.stream_id = d.stream_id"
            " AND d.position >= b.lo AND d.position < b.hi"
            " WHERE d.stream_id = %s AND n.event_id = %s",
            [event.stream_id, event.pk],
        )
        names = [column.name for column in cursor.description]
        return {row[0]: dict(zip(names, row, strict=True)) for row in cursor.fetchall()}


def settle_all(event: Event, state: str = "accepted") -> None:
    """Lets every mail of an event have this state; the books are of no interest here."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_delivery SET state = %s, settled_at = now() WHERE stream_id = %s",
            [state, event.stream_id],
        )
        cursor.execute("DELETE FROM deliveries_batch WHERE stream_id = %s", [event.stream_id])


def pass_dedupe_window(event: Event) -> None:
    long_ago = datetime.now(UTC) - timedelta(minutes=4)
    Notification.objects.filter(event=event).update(created_at=long_ago)
    keys = [str(pk) for pk in Notification.objects.filter(event=event).values_list("pk", flat=True)]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_delivery SET settled_at = %s"
            " WHERE stream_id = %s AND dedupe_key = ANY(%s) AND settled_at IS NOT NULL",
            [long_ago, event.stream_id, keys],
        )


def test_everybody_who_matches_gets_one_delivery(settings: Settings, topic: Topic) -> None:
    cast.subscribe_all(topic, ["ann", "bob"])
    cast.subscribe(topic, "cyd", match={})
    cast.subscribe(topic, "dan", match={"indexNumber": "10002"})
    other = cast.topic(settings, workspace="globex")
    cast.subscribe(other, "eve")

    event = planned(cast.event(topic))

    assert set(mails(event)) == {"ann@example.com", "bob@example.com", "cyd@example.com"}
    assert codes(event) == {"Ann": "", "Bob": "", "Cyd": ""}
    assert event.stream_id is not None
    assert audit.audit(event.stream_id).discrepancies == []


def test_a_mail_has_what_its_letter_uses_of_the_event_and_the_contacts_names(topic: Topic) -> None:
    cast.subscribe(topic, "ann", contact={"from_name": "Ann's friends"})

    event = planned(cast.event(topic, data={**cast.DATA, "secret": "x"}))

    values = json.loads(mails(event)["ann@example.com"]["variables"])
    assert values["name"] == "Ann"
    assert values["from_name"] == "Ann's friends"
    assert values["courseTitle"] == cast.DATA["courseTitle"]
    assert "secret" not in values


def test_who_gets_no_mail_has_a_notification_that_says_why(settings: Settings) -> None:
    cases: list[tuple[str, Mapping[str, Any]]] = [
        ("contact_type", {"contact_type": "discord"}),
        ("contact_gone", {"contact": {"deleted_at": LATER}}),
        ("subscription_suppressed", {"contact": {"state": "bounced"}}),
        ("subscription_suppressed", {"consent": {"state": "suppressed"}, "state": "paused"}),
        ("subscription_unsubscribed", {"contact": {"state": "unsubscribed"}}),
        ("subscription_unsubscribed", {"consent": {"state": "unsubscribed"}}),
        ("subscription_unsubscribed", {"state": "unsubscribed", "consent": {"state": "pending"}}),
        ("subscription_pending", {"consent": {"state": "pending"}, "state": "paused"}),
        ("subscription_paused", {"consent": {"state": "paused"}}),
        ("subscription_paused", {"state": "paused", "notify_on": ["Closed"]}),
        ("notify_on", {"notify_on": ["Closed", "Wait"]}),
        ("notify_on", {"consent": {"notify_on": ["Closed"]}}),
        ("", {"consent": {"notify_on": ["Closed"]}, "notify_on": ["Open"]}),
        ("", {"locale": "pt-BR"}),
        ("", {}),
        ("expired", {"snooze_until": LATER + timedelta(days=2)}),
        ("expired", {"consent": {"snooze_until": LATER + timedelta(days=2)}}),
    ]
    topic = cast.topic(settings)
    for number, (_, given) in enumerate(cases):
        cast.subscribe(topic, f"r{number}", **given)
    by_hand = cast.subscribe(topic, "hand")
    people.suppress(topic.workspace_id, "HAND@example.com")
    erased = cast.subscribe(topic, "erased")
    erased.contact = None
    erased.save()

    event = planned(cast.event(topic))

    mailed, told_why = set(mails(event)), codes(event)
    for number, (code, given) in enumerate(cases):
        told = Notification.objects.get(event=event, subscription__contact__name=f"R{number}")
        assert told.code == code, given
        assert told.end == ({"": None, "expired": "expired"}.get(code, "skipped"))
        assert told.is_planned == (f"r{number}@example.com" in mailed) == (not code), given
    assert told_why["Hand"] == "subscription_suppressed"
    assert Notification.objects.get(subscription=erased).code == "contact_gone"
    assert "hand@example.com" not in mailed
    assert Notification.objects.filter(event=event, subscription=by_hand).exists()


def test_a_status_that_the_event_has_not_keeps_nobody_back(settings: Settings) -> None:
    topic = cast.topic(settings, status_field="mood")
    cast.subscribe(topic, "ann")

    assert codes(planned(cast.event(topic))) == {"Ann": ""}


def test_each_language_has_a_letter_and_the_fallback_serves_the_others(settings: Settings) -> None:
    topic = cast.topic(settings, fallback_locale="ru")
    for name, locale in {"ann": "", "bob": "pt-BR", "cyd": "fr", "dan": "ru"}.items():
        cast.subscribe(topic, name, locale=locale)

    event = planned(cast.event(topic))
    again = planned(cast.event(topic, dedupe_key="another"))

    letters = {address[:3]: mail["letter"] for address, mail in mails(event).items()}
    assert letters["cyd"] == letters["dan"]
    assert len(set(letters.values())) == 3
    assert letters == {address[:3]: mail["letter"] for address, mail in mails(again).items()}


def test_a_changed_footer_is_in_the_next_letters(topic: Topic) -> None:
    cast.subscribe(topic, "ann")
    first = planned(cast.event(topic))

    workspaces.set_organisation(
        topic.workspace_id,
        Organisation("Acme", "2 Side St", "https://acme.example/unsubscribe"),
        actor="alice",
    )
    second = planned(cast.event(topic, dedupe_key="another"))

    numbers = [mails(event)["ann@example.com"]["letter"] for event in (first, second)]
    assert numbers[0] != numbers[1]
    assert first.stream_id == second.stream_id


def test_the_same_key_within_the_window_is_a_duplicate_and_slides_with_what_was_told(
    topic: Topic,
) -> None:
    cast.subscribe(topic, "ann")
    first = planned(cast.event(topic))
    settle_all(first)

    second = planned(cast.event(topic))
    other = planned(cast.event(topic, dedupe_key="another"))
    pass_dedupe_window(first)
    third = planned(cast.event(topic))

    assert codes(second) == {"Ann": "duplicate"}
    assert codes(other) == {"Ann": ""}
    assert codes(third) == {"Ann": ""}, "the skipped one told nobody, and counts for nothing"


def test_a_mail_that_waits_longer_than_the_window_makes_no_duplicate(topic: Topic) -> None:
    """It may expire: the hand-over decides which of both goes."""
    cast.subscribe(topic, "ann", snooze_until=LATER)
    first = planned(cast.event(topic))
    second = planned(cast.event(topic))
    pass_dedupe_window(first)

    third = planned(cast.event(topic))

    assert codes(second) == {"Ann": "duplicate"}
    assert codes(third) == {"Ann": ""}


def test_an_expired_notification_told_nobody_and_makes_no_duplicate(topic: Topic) -> None:
    cast.subscribe(topic, "ann")
    now = datetime.now(UTC)
    planned(cast.event(topic, expires_at=now - timedelta(seconds=1)))

    assert codes(planned(cast.event(topic))) == {"Ann": ""}


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("accepted", "max_notifications"),
        ("in_doubt", "max_notifications"),
        ("failed", ""),
        (None, ""),  # it waits
    ],
)
def test_the_most_notifications_are_counted_in_sent_ones(
    settings: Settings, state: str | None, code: str
) -> None:
    topic = cast.topic(settings)
    cast.subscribe(topic, "ann", max_notifications=1)
    first = planned(cast.event(topic))
    if state is not None:
        settle_all(first, state)

    assert codes(planned(cast.event(topic, dedupe_key="another"))) == {"Ann": code}


def test_who_snoozes_or_sleeps_waits_until_the_window_opens_and_says_why(topic: Topic) -> None:
    minute = datetime.now(UTC).hour * 60
    closed: dict[str, Any] = {
        "window_from": (minute + 240) % 1440,
        "window_until": (minute + 300) % 1440,
    }
    cast.subscribe(topic, "ann")
    cast.subscribe(topic, "bob", snooze_until=LATER)
    cast.subscribe(topic, "cyd", **closed)
    cast.subscribe(topic, "dan", window_from=0, window_until=0, consent=closed)

    event = planned(cast.event(topic))

    found = {address[:3]: mail for address, mail in mails(event).items()}
    reasons = {name: mail["reason"] for name, mail in found.items()}
    assert reasons == {
        "ann": "ready",
        "bob": "scheduled",
        "cyd": "outside_hours",
        "dan": "ready",
    }
    assert found["ann"]["batch"] == found["dan"]["batch"]
    assert len({mail["batch"] for mail in found.values()}) == 3
    assert abs(found["bob"]["due_at"] - LATER) < timedelta(seconds=1)
    opening = found["cyd"]["due_at"]
    assert opening.hour * 60 + opening.minute == closed["window_from"]
    by_due = sorted(found.values(), key=lambda mail: mail["due_at"])
    assert by_due[-1]["position"] == max(mail["position"] for mail in found.values())


def test_an_event_that_expired_before_it_was_planned_needs_neither_stream_nor_letter(
    settings: Settings,
) -> None:
    topic = cast.topic(settings, template="no-such-template")
    cast.subscribe(topic, "ann")

    event = planned(cast.event(topic, expires_at=datetime.now(UTC) - timedelta(seconds=1)))

    assert codes(event) == {"Ann": "expired"}
    assert event.stream_id is None


def test_an_event_that_cannot_be_planned_says_why_and_stops_no_other(
    settings: Settings, topic: Topic
) -> None:
    cast.subscribe(topic, "ann")
    workspaces.set_organisation(topic.workspace_id, NOBODY, actor="alice")
    broken = cast.event(topic)
    other = cast.topic(settings, workspace="globex")
    cast.subscribe(other, "bob")

    assert codes(planned(cast.event(other))) == {"Bob": ""}

    broken.refresh_from_db()
    assert broken.trouble.startswith("footer_env_missing: ")
    assert broken.trouble_since is not None
    workspaces.set_organisation(
        topic.workspace_id,
        Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe"),
        actor="alice",
    )
    assert codes(planned(broken)) == {"Ann": ""}
    assert broken.trouble == ""


def test_chunks_go_on_where_the_last_one_ended(topic: Topic) -> None:
    cast.subscribe_all(topic, [f"r{number}" for number in range(4)])
    cast.subscribe_all(topic, [f"s{number}" for number in range(3)], match={})
    event = cast.event(topic)

    sizes = []
    while (chunk := planner.plan_next_chunk(event.pk, size=3)) is not None:
        sizes.append(Notification.objects.filter(event=event).count())

    assert sizes == [3, 6, 7]
    assert chunk is None
    event.refresh_from_db()
    assert len(mails(event)) == 7


def test_a_topic_by_job_gets_notifications_that_wait_and_expire_with_their_event(
    settings: Settings,
) -> None:
    topic = cast.topic(settings, is_by_job=True)
    cast.subscribe(topic, "ann")
    cast.subscribe(topic, "bob", state="paused")

    event = planned(cast.event(topic))

    told = Notification.objects.get(event=event, subscription__contact__name="Ann")
    assert (told.end, told.is_planned) == (None, False)
    assert codes(event)["Bob"] == "subscription_paused"
    assert mails(event) == {}
    assert retention.expire_without_job(event.expires_at - timedelta(seconds=1)) == 0
    assert retention.expire_without_job(event.expires_at) == 1
    assert codes(event)["Ann"] == "expired"


def test_the_rest_of_an_event_whose_stream_was_cancelled_is_skipped_and_a_new_one_is_opened(
    topic: Topic,
) -> None:
    cast.subscribe_all(topic, ["ann", "bob"])
    event = cast.event(topic)
    planner.plan_next_chunk(event.pk, size=1)
    event.refresh_from_db()
    assert event.stream_id is not None
    ledger.cancel(event.stream_id, actor="alice")

    event = planned(event)
    after = planned(cast.event(topic, dedupe_key="another"))

    assert codes(event) == {"Ann": "", "Bob": "cancelled"}
    assert after.stream_id != event.stream_id
    newest = TopicStream.objects.filter(topic=topic).order_by("pk").last()
    assert newest is not None
    assert newest.stream_id == after.stream_id


def test_events_of_a_dropped_month_are_forgotten_and_others_stay(topic: Topic) -> None:
    cast.subscribe(topic, "ann")
    old, new = planned(cast.event(topic)), planned(cast.event(topic, dedupe_key="another"))
    long_ago = datetime(2019, 5, 17, tzinfo=UTC)
    Event.objects.filter(pk=old.pk).update(stream_id=ledger_cast.stream(now=long_ago))
    ledger.drop_month(ids.month_of(long_ago))

    retention.forget_events()

    assert list(Event.objects.values_list("pk", flat=True)) == [new.pk]
    assert list(Notification.objects.values_list("event_id", flat=True)) == [new.pk]
