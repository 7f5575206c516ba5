"""Claims about the hand-over of notifications: who may be told now, who waits alone, who not."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from postledger.alerts import facts as alert_facts
from postledger.contacts.models import Subscription
from postledger.contacts.states import SubscriptionState
from postledger.deliveries import audit, entries, ledger, queries
from postledger.deliveries.attention import dead_letters
from postledger.deliveries.entries import Entry, Recipient, SeenDelivery
from postledger.deliveries.entries import Window as LedgerWindow
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch.rounds import round_input
from postledger.mailing import gates
from postledger.mailing.terms import JobPolicy, Wait
from postledger.notifications.fan_out import terms
from postledger.notifications.fan_out.terms import Facts
from postledger.notifications.models import Event, Notification, Topic, TopicSubscription
from postledger.notifications.states import Skip
from postledger.notifications.subscriptions.windows import Window
from tests import cast as ledger_cast
from tests.dispatch import office
from tests.notifications import cast, mail_room
from tests.notifications.mail_room import MailRoom, stream_of

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo"]

with_database = pytest.mark.django_db(transaction=True)


def facts(
    *,
    window: Window | None = None,
    zone: str = "UTC",
    snooze_until: datetime | None = None,
    expires_at: datetime = NOW + 24 * HOUR,
    most: int | None = None,
    sent: int = 0,
    ahead: int = 0,
    is_duplicate: bool = False,
    has_twin: bool = False,
) -> Facts:
    person = (1, "email", "active", window, zone, snooze_until)
    return Facts(*person, expires_at, most, sent, ahead, is_duplicate, has_twin)


def test_outside_its_window_it_waits_for_the_opening_and_snoozed_for_the_end() -> None:
    window = Window(13 * 60, 14 * 60)

    assert terms.decide(0, facts(), NOW) is None
    assert terms.decide(0, facts(window=window), NOW) == Wait(NOW + HOUR, Reason.OUTSIDE_HOURS)
    snoozed = facts(snooze_until=NOW + HOUR)
    assert terms.decide(0, snoozed, NOW) == Wait(NOW + HOUR, Reason.SCHEDULED)


def test_what_cannot_go_within_its_time_to_live_expires() -> None:
    cases: list[Facts] = [
        facts(expires_at=NOW),
        facts(snooze_until=NOW + 2 * HOUR, expires_at=NOW + HOUR),
        facts(window=Window(14 * 60, 15 * 60), expires_at=NOW + HOUR),
        facts(window=Window(14 * 60, 15 * 60), snooze_until=datetime.max.replace(tzinfo=UTC)),
    ]
    for late in cases:
        verdict = terms.decide(0, late, NOW)

        assert isinstance(verdict, Entry)
        assert (verdict.state, verdict.code) == (State.EXPIRED, Skip.EXPIRED), late


def test_a_maximum_ends_it_when_it_is_certain_and_defers_it_until_then() -> None:
    assert terms.decide(0, facts(most=2, sent=1), NOW) is None
    waits = terms.decide(0, facts(most=2, sent=1, ahead=1), NOW)
    assert isinstance(waits, Wait)
    skipped = terms.decide(0, facts(most=2, sent=2), NOW)
    assert isinstance(skipped, Entry)
    assert (skipped.state, skipped.code) == (State.SKIPPED, Skip.MOST_REACHED)


@given(
    start=st.integers(0, 1439),
    length=st.integers(1, 1439),
    zone=st.sampled_from(ZONES),
    minutes=st.integers(0, 60 * 24 * 365),
    snooze=st.none() | st.integers(1, 5000),
)
def test_no_notification_goes_outside_its_window_or_snooze_also_where_clocks_change(
    start: int, length: int, zone: str, minutes: int, snooze: int | None
) -> None:
    window = Window(start, (start + length) % 1440)
    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    snooze_until = None if snooze is None else now + timedelta(minutes=snooze)
    its = facts(
        window=window, zone=zone, snooze_until=snooze_until, expires_at=now + timedelta(days=30)
    )
    decision = terms.decide(0, its, now)

    moment = now
    if decision is not None:
        assert isinstance(decision, Wait)
        assert decision.until > now
        moment = decision.until
        assert terms.decide(0, its, moment) is None, "it waits on after its moment"
    assert window.contains(moment.astimezone(ZoneInfo(zone)))
    assert snooze_until is None or moment >= snooze_until


@with_database
def test_one_persons_snooze_keeps_nobody_else_waiting(settings: Settings, tmp_path: Path) -> None:
    room = MailRoom(settings, tmp_path, ["ann", "bob", "cyd", "dan"])
    event = room.tell()
    bob = room.subscriptions["bob"]
    bob.snooze_until = datetime.now(UTC) + HOUR
    bob.save()

    with office.dispatching() as dispatcher:
        office.until(lambda: len(room.taken()) == 3, dispatcher)

    assert sorted(room.taken()) == ["ann", "cyd", "dan"]
    assert mail_room.waits(event) == {"bob": (Reason.SCHEDULED, True)}
    assert mail_room.mails(event)["bob"] == (State.WAITING, "", 0)
    assert audit.audit(stream_of(event)).discrepancies == []
    bob.snooze_until = None
    bob.save()
    ledger_cast.bring_forward(stream_of(event))
    office.send_all(stream_of(event))
    assert sorted(room.taken()) == ["ann", "bob", "cyd", "dan"]


@with_database
def test_the_gates_leave_a_snooze_of_the_topics_list_to_the_terms(room: MailRoom) -> None:
    """Both may read it at different moments, and who is skipped by one is told nothing later."""
    event = room.tell()
    Subscription.objects.update(snooze_until=datetime.now(UTC) + HOUR)
    ann = room.subscriptions["ann"].contact_id
    assert ann is not None
    recipient = Recipient(0, "ann@example.com", ann, None, 0)
    stream = queries.find_stream(stream_of(event))
    assert stream is not None

    standings = round_input.read_standings(stream, [recipient], list_key="open-seats")

    assert standings.subscriptions == {ann: SubscriptionState.ACTIVE}
    assert gates.find_verdict(recipient, standings) is None


@with_database
def test_a_window_that_closed_after_planning_is_kept(settings: Settings, tmp_path: Path) -> None:
    room = MailRoom(settings, tmp_path, ["ann", "bob"])
    event = room.tell()
    minute = datetime.now(UTC).hour * 60 + datetime.now(UTC).minute
    ann = room.subscriptions["ann"]
    # From two hours from now on, wherever the day ends: never open while this test runs.
    ann.window_from, ann.window_until = (minute + 120) % 1440, (minute + 180) % 1440
    ann.save()

    with office.dispatching() as dispatcher:
        office.until(lambda: room.taken() == ["bob"], dispatcher)
        office.until(lambda: "ann" in mail_room.waits(event), dispatcher)

    assert mail_room.waits(event) == {"ann": (Reason.OUTSIDE_HOURS, True)}


@with_database
def test_a_language_without_a_text_fails_the_mail_and_asks_for_a_person(room: MailRoom) -> None:
    later = datetime.now(UTC) + HOUR
    cast.subscribe(room.topic, "bob", locale="fr", snooze_until=later)
    event = room.tell()

    office.send_all(stream_of(event))

    assert room.taken() == ["ann"]
    assert mail_room.mails(event)["bob"] == (State.FAILED, "template_missing_locale", 1)
    bob = mail_room.queue(event)["bob"]
    assert (bob.status, bob.attempts) == ("failed", 1)
    assert bob.error is not None
    assert bob.error["code"] == "template_missing_locale"
    assert bob.error["message"].startswith("The template has no text in the person's language.")
    [letter] = dead_letters.list_dead_letters(room.topic.workspace_id, limit=2)
    assert (letter.address, letter.code) == ("bob@example.com", "template_missing_locale")
    [failed] = alert_facts.read_all(later)[room.topic.workspace_id].failed
    assert (failed.key, failed.count) == ("open-seats", 1)
    assert audit.audit(stream_of(event)).discrepancies == []


@with_database
def test_a_language_without_a_text_fails_also_where_nobody_has_a_letter_and_when_requeued(
    settings: Settings, tmp_path: Path
) -> None:
    room = MailRoom(settings, tmp_path, ["ann", "bob"], locale="fr")
    event = room.tell()
    TopicSubscription.objects.filter(pk=room.subscriptions["bob"].pk).update(state="unsubscribed")
    office.send_all(stream_of(event))
    failed = {"ann": (State.FAILED, "template_missing_locale", 1)}
    left = {"bob": (State.SKIPPED, "subscription_unsubscribed", 1)}
    assert mail_room.mails(event) == failed | left
    ledger.requeue(stream_of(event), [SeenDelivery(0, 1)], actor="alice")

    office.send_all(stream_of(event))

    assert mail_room.mails(event) == failed | left
    assert room.taken() == []


@with_database
def test_what_waited_beyond_its_time_to_live_expires_at_the_hand_over(room: MailRoom) -> None:
    event = room.tell()
    event.expires_at = datetime.now(UTC)
    event.save()

    office.send_all(stream_of(event))

    assert mail_room.mails(event) == {"ann": (State.EXPIRED, "expired", 1)}
    assert room.taken() == []


@with_database
def test_of_two_events_at_once_a_maximum_of_one_lets_one_go(
    settings: Settings, tmp_path: Path
) -> None:
    room = MailRoom(settings, tmp_path, ["ann"], max_notifications=1)
    first, second = room.tell(dedupe_key="one"), room.tell(dedupe_key="two")
    assert first.stream_id == second.stream_id

    with office.dispatching() as dispatcher:
        office.until(lambda: room.taken() == ["ann"], dispatcher)
        office.until(lambda: mail_room.states(first)["ann"] is State.ACCEPTED, dispatcher)
        ledger_cast.bring_forward(stream_of(second))
        office.until(lambda: mail_room.states(second)["ann"] is not State.WAITING, dispatcher)

    assert mail_room.mails(first)["ann"][0] is State.ACCEPTED
    assert mail_room.mails(second)["ann"] == (State.SKIPPED, Skip.MOST_REACHED, 1)
    assert room.taken() == ["ann"]


def read_decision(event: Event) -> str:
    """Whether the one notification of an event goes, waits, or why it is skipped."""
    [told] = Notification.objects.filter(event=event)
    recipient = Recipient(0, "ann@example.com", None, None, 0, dedupe_key=str(told.pk))
    its = terms.read_terms(stream_of(event), [recipient])[0]
    if its.verdict is not None:
        return its.verdict.code or ""
    return "waits" if its.wait is not None else "goes"


@with_database
@pytest.mark.parametrize(
    ("most", "code"), [(1, Skip.MOST_REACHED), (None, Skip.DUPLICATE)], ids=["most", "dedupe"]
)
def test_an_earlier_one_waits_while_a_later_one_is_with_the_provider(
    settings: Settings, tmp_path: Path, most: int | None, code: Skip
) -> None:
    room = MailRoom(settings, tmp_path, ["ann"], max_notifications=most)
    first, second = room.tell(dedupe_key="one"), room.tell(dedupe_key="two")
    if most is None:
        Notification.objects.update(dedupe_key="same")
    assert (read_decision(first), read_decision(second)) == ("goes", "waits")

    stream = stream_of(first)
    claim = ledger_cast.claim(stream, limit=2)
    [_, later] = sorted(claim.batches, key=lambda batch: batch.lo)
    window = LedgerWindow(later, later.hi)
    assert ledger.arm(claim, [window], lease_time=HOUR)
    assert read_decision(first) == "waits"

    accepted = entries.accepted(later.lo, message_id="m")
    ledger.settle(claim, [window], results=[accepted])
    assert read_decision(first) == code


@with_database
def test_after_the_dedupe_window_the_same_is_told_again(room: MailRoom) -> None:
    first, second = room.tell(dedupe_key="one"), room.tell(dedupe_key="two")
    Notification.objects.update(dedupe_key="same")
    claim = ledger_cast.claim(stream_of(first), limit=2)
    batch = min(claim.batches, key=lambda batch: batch.lo)
    window = LedgerWindow(batch, batch.hi)
    assert ledger.arm(claim, [window], lease_time=HOUR)
    ledger.settle(claim, [window], results=[entries.accepted(batch.lo, message_id="m")])

    assert read_decision(second) == Skip.DUPLICATE
    Topic.objects.update(dedupe_seconds=0)
    assert read_decision(second) == "goes"


@with_database
def test_the_terms_have_the_policy_of_the_job_and_the_tags_of_the_event(room: MailRoom) -> None:
    data = {**cast.DATA, "campusCode": "New\r\nBrunswick\u2028 " + "x" * 300}
    event = room.tell(
        trace_id="trace-1", data=data, match_digests=[bytes(room.subscriptions["ann"].match_digest)]
    )
    [told] = Notification.objects.filter(event=event)
    told.max_attempts, told.lock_ttl_seconds, told.retry_schedule_ms = 7, 30, [1, 2]
    told.save()
    recipient = Recipient(3, "ann@example.com", None, None, 0, dedupe_key=str(told.pk))

    read = terms.read_terms(stream_of(event), [recipient])

    assert read[3].policy == JobPolicy(7, 30, [1, 2])
    tags = dict(read[3].tags)
    assert tags.pop("campus").startswith("New Brunswick xxx")
    assert len(read[3].tags["campus"]) <= 200
    assert tags == {
        "dedupeKey": "seat-10001",
        "traceId": "trace-1",
        "subscriptionId": str(room.subscriptions["ann"].pk),
        "openEventId": str(event.pk),
        "term": "92026",
    }


@with_database
def test_the_second_look_leaves_out_only_those_of_whom_nothing_has_to_be_decided(
    settings: Settings, tmp_path: Path
) -> None:
    changes: dict[str, dict[str, object]] = {
        "clear": {"snooze_until": datetime.now(UTC) - HOUR},
        "snoozed": {"snooze_until": datetime.now(UTC) + HOUR},
        "in a window": {"window_from": 0, "window_until": 1440},
        "with a maximum": {"max_notifications": 9},
        "paused": {"state": "paused"},
        "by telephone": {"contact_type": "sms"},
        "gone": {"contact": None},
    }
    room = MailRoom(settings, tmp_path, [name.replace(" ", "-") for name in changes])
    event = room.tell()
    for name, fields in changes.items():
        subscription = room.subscriptions[name.replace(" ", "-")]
        TopicSubscription.objects.filter(pk=subscription.pk).update(**fields)
    notifications = Notification.objects.filter(event=event).order_by("subscription_id")
    recipients = [
        Recipient(position, "a@example.com", None, None, 0, dedupe_key=str(notification.pk))
        for position, notification in enumerate(notifications)
    ]

    def read_unclear() -> list[str]:
        unclear = terms.read_terms(stream_of(event), recipients, leave_out_clear=True)
        return [name for position, name in enumerate(changes) if position in unclear]

    assert len(terms.read_terms(stream_of(event), recipients)) == len(changes)
    assert read_unclear() == [name for name in changes if name != "clear"]
    Event.objects.update(expires_at=datetime.now(UTC))
    assert read_unclear() == [*changes]


@with_database
def test_another_workspaces_notification_has_no_terms_here(room: MailRoom) -> None:
    [told] = Notification.objects.filter(event=room.tell())
    recipient = Recipient(0, "ann@example.com", None, None, 0, dedupe_key=str(told.pk))
    elsewhere = ledger_cast.stream(workspace="other")

    assert terms.read_terms(elsewhere, [recipient]) == {}
