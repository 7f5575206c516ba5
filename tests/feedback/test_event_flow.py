"""Whether events arrive: the figures, the silence, and the mails that have none."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.db.models.functions import Now

from postledger.accounts import provider_accounts
from postledger.accounts.models import ProviderAccount, Sender
from postledger.cli.doctor import events
from postledger.deliveries import entries
from postledger.deliveries.queries import FirstEvent
from postledger.feedback import event_flow, inbox, topics
from postledger.feedback.event_flow import EventFlow
from postledger.feedback.inbox import IncomingMessage
from postledger.feedback.models import InboxMessage, Topic, WebhookKey
from postledger.lib import ids
from postledger.lib.check_results import CheckResult, Level
from tests import cast
from tests.deliveries import views
from tests.deliveries.models import Delivery, StreamDelta
from tests.feedback import sendgrid

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
ARN = "arn:aws:sns:eu-west-1:123456789012:postledger"


def mail(minutes_ago: float, delay: float | None) -> FirstEvent:
    """A mail that was accepted some minutes ago, and its event so many minutes later."""
    accepted_at = NOW - timedelta(minutes=minutes_ago)
    event_at = None if delay is None else accepted_at + timedelta(minutes=delay)
    return FirstEvent(accepted_at, event_at)


def measure(*mails: FirstEvent, unreported: int = 0) -> EventFlow:
    return event_flow.measure(mails, unreported=unreported, now=NOW)


def test_the_figures_come_from_the_delays_of_first_events() -> None:
    flow = measure(*(mail(60, 0.5) for _ in range(2_000)), mail(60, 6.5))

    assert flow.usually_within == timedelta(minutes=0.5)
    assert flow.latest == timedelta(minutes=6.5)
    assert event_flow.describe(flow, now=NOW) == (
        "events of this sender arrive, 99.9 % within 1 minute; none after 7 minutes"
    )
    assert measure(mail(60, -1)).latest == timedelta(), "by a slow clock"


def test_young_mail_is_not_missing_its_events() -> None:
    flow = measure(mail(5, None), mail(14, None), mail(16, None), mail(2, 1), unreported=3)

    assert flow.missing_count == 1


def test_an_hour_of_sending_without_any_event_is_silence() -> None:
    silent_since = measure(mail(61, None), mail(30, None)).silent_since

    assert silent_since == NOW - timedelta(minutes=61)


def test_less_is_no_silence() -> None:
    for mails in (
        (),
        (mail(59, None),),
        (mail(300, 1), mail(59, None)),  # it was silent before, and mail goes again
        (mail(300, 1), mail(200, None), mail(100, 1)),  # one was lost, and others came
        (mail(300, None), mail(100, 1)),
    ):
        assert measure(*mails).silent_since is None, mails


@pytest.fixture
def sender(db: None) -> Sender:
    owner = cast.sender()
    account_id = provider_accounts.create_account(
        owner.workspace_id,
        name="main",
        kind="ses",
        settings={"region": "eu-west-1"},
        actor="alice",
    )
    Sender.objects.filter(pk=owner.pk).update(account_id=account_id)
    return Sender.objects.get(pk=owner.pk)


def accept(stream_id: int, *, reported: int = 0) -> None:
    cast.book(stream_id, lambda at: entries.accepted(at, message_id=f"m{at}"))
    for position in range(reported):
        views.report(stream_id, position, "delivered")
    StreamDelta.objects.create(stream_id=stream_id, reported=reported)


def test_without_a_topic_no_events_are_expected(sender: Sender) -> None:
    accept(cast.stream(mails=1))

    flow = event_flow.find_flow(sender.pk, now=NOW)

    assert flow is None
    assert "no events are expected" in event_flow.describe(flow, now=NOW)


def test_the_accepted_mails_without_an_event_are_counted_for_each_sender(sender: Sender) -> None:
    assert sender.account_id is not None
    topics.register_topic(
        sender.workspace_id, sender.account_id, arn=ARN, queue_url="", actor="alice"
    )
    accept(cast.stream(mails=5), reported=2)
    accept(cast.stream(mails=4, is_test=True))
    later = datetime.now(UTC) + event_flow.LATE_AFTER

    now, after = (event_flow.find_flow(sender.pk, now=at) for at in (datetime.now(UTC), later))

    assert now is not None
    assert after is not None
    assert (now.mail_count, now.missing_count) == (5, 0)
    assert after.missing_count == 3
    assert ids.month_of(later) - ids.month_of(datetime.now(UTC)) in {0, 1}


def read_events() -> list[CheckResult]:
    return [result for result in events.check_events() if result.subject == "events"]


@pytest.fixture
def sendgrid_sender(db: None) -> Sender:
    """Of an account whose webhook has a key."""
    owner, webhook = cast.sender(), sendgrid.listen()
    Sender.objects.filter(pk=owner.pk).update(account_id=webhook.account_id)
    ProviderAccount.objects.filter(pk=webhook.account_id).update(name="main")
    return Sender.objects.get(pk=owner.pk)


def test_of_an_account_with_a_webhook_key_events_are_expected(sendgrid_sender: Sender) -> None:
    assert event_flow.find_flow(sendgrid_sender.pk, now=NOW) is not None
    assert [result.level for result in read_events()] == [Level.OK]

    WebhookKey.objects.update(removed_at=datetime.now(UTC))

    assert event_flow.find_flow(sendgrid_sender.pk, now=NOW) is None
    [result] = read_events()
    assert result.message.endswith("without a topic or a webhook: main.")


def test_doctor_and_metrics_tell_a_silent_sender_and_mails_that_lost_their_events(
    sender: Sender,
) -> None:
    assert sender.account_id is not None
    topics.register_topic(
        sender.workspace_id, sender.account_id, arn=ARN, queue_url="", actor="alice"
    )
    Topic.objects.update(confirmed_at=datetime.now(UTC))
    stream = cast.stream(mails=2)
    accept(stream)
    Delivery.objects.filter(stream_id=stream).update(settled_at=Now() - timedelta(minutes=61))

    [silent] = read_events()
    before = event_flow.summarise(datetime.now(UTC))
    views.report(stream, 1, "delivered")
    StreamDelta.objects.create(stream_id=stream, reported=1)
    [lost] = read_events()

    assert (silent.level, lost.level) == (Level.PROBLEM, Level.WARNING)
    assert "no event has arrived for 1 h" in silent.message
    assert (before.unreported_count, before.silent_count) == (2, 1)
    assert lost.message == "news@acme.example: 1 accepted mails have no event."
    assert event_flow.summarise(datetime.now(UTC)).silent_count == 0


def test_doctor_tells_messages_that_cannot_or_do_not_get_applied_and_a_topic_with_trouble(
    sender: Sender, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sender.account_id is not None
    body = '{"mail": {"destination": ["person@example.com"]}}'
    inbox.store(sender.account_id, [IncomingMessage("m-1", body, None, "not an event")])
    [faulty] = read_events()
    call_command("feedback", "faulty")
    listed = capsys.readouterr().out
    InboxMessage.objects.update(fault="", received_at=Now() - timedelta(minutes=6))
    topics.register_topic(
        sender.workspace_id, sender.account_id, arn=ARN, queue_url="", actor="alice"
    )

    waiting, unconfirmed = read_events()
    Topic.objects.update(trouble="Its subscription was ended.")
    _, troubled = read_events()

    assert faulty.message == "1 messages of providers cannot be applied."
    assert "acme/main  m-1  not an event\nFaulty messages: 1, shown: 1.\n" in listed
    assert "person" not in listed
    assert waiting.message == "1 messages of providers wait to be applied."
    assert "has not been confirmed" in unconfirmed.message
    assert troubled.message == "Events of the account main: Its subscription was ended."
