"""Whether reports of each sender come back, from counters alone."""

from datetime import UTC, datetime, timedelta

import pytest

from postledger.accounts.models import ProviderAccount, Sender
from postledger.deliveries import entries, ledger
from postledger.deliveries.ledger import sql
from postledger.feedback import loop_test, sender_health
from postledger.feedback.sender_health import WITHIN, SenderHealth
from postledger.web.dashboard.senders import gauges
from tests import cast
from tests.deliveries.models import StreamDelta

pytestmark = pytest.mark.django_db(transaction=True)


def sandboxed(workspace: str = "acme") -> Sender:
    """A sender whose account reports."""
    sender = cast.sender(workspace)
    sender.account = ProviderAccount.objects.create(
        workspace_id=sender.workspace_id, name="sandbox", kind="sandbox", sealed_settings=b""
    )
    sender.save()
    return sender


def health(sender: Sender, *, later: timedelta = timedelta()) -> SenderHealth:
    [found] = sender_health.list_sender_health(sender.workspace_id, now=datetime.now(UTC) + later)
    return found


def accept(stream: int) -> None:
    cast.book(stream, lambda position: entries.accepted(position, message_id="m"))


def test_bounces_and_complaints_are_shares_of_the_accepted_mail() -> None:
    sender, stream = sandboxed(), cast.stream(mails=10)
    accept(stream)
    StreamDelta.objects.create(stream_id=stream, delivered=8, bounced=2, complained=1, reported=10)

    for is_folded in (False, True):
        if is_folded:
            ledger.fold()
        found = health(sender)

        assert (found.accepted, found.delivered) == (10, 8)
        assert (found.bounce_rate, found.complaint_rate) == (0.2, 0.1)
        assert found.last_event_at is not None
        assert found.silent_since is None


@pytest.mark.parametrize("is_folded", [True, False])
def test_mail_to_a_simulator_is_reported_and_spoils_no_rate(*, is_folded: bool) -> None:
    sender, stream = sandboxed(), cast.stream(mails=10)
    accept(stream)
    [bounce, *_] = loop_test.send_probes(sender, "sandbox")
    counts = {"accepted": 4, "delivered": 2, "bounced": 1, "complained": 1, "reported": 4}
    StreamDelta.objects.create(stream_id=bounce.stream_id, **counts)
    if is_folded:
        ledger.fold()

    found = health(sender)

    assert (found.accepted, found.delivered) == (10, 0)
    assert (found.bounce_rate, found.complaint_rate) == (0, 0)
    assert found.last_event_at is not None, "the test shows that reports come"
    usage = gauges.count_accepted(sender.workspace_id, since=datetime.now(UTC) - WITHIN)
    assert usage == {sender.pk: 14}, "limits count what the provider took"


def test_a_sender_without_any_event_for_an_hour_is_silent_and_seen_by_its_workspace_alone() -> None:
    sender, other, stream = sandboxed(), sandboxed("globex"), cast.stream(mails=10)
    accept(stream)
    ledger.fold()

    assert health(sender, later=timedelta(minutes=59)).silent_since is None
    assert health(sender, later=timedelta(hours=2)).silent_since is not None
    assert (health(sender).accepted, health(other).accepted) == (10, 0)
    sql.rows("UPDATE deliveries_streampace SET slot = slot - interval '8 days'", {})
    assert health(sender).accepted == 0, "of more than seven days ago"


@pytest.mark.parametrize("is_folded", [True, False])
def test_a_report_in_the_minute_of_its_mail_ends_the_wait_for_it(*, is_folded: bool) -> None:
    sender, stream = sandboxed(), cast.stream(mails=10)
    minute = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(hours=2)
    mail_at, report_at = minute + timedelta(seconds=7), minute + timedelta(seconds=40)
    StreamDelta.objects.create(stream_id=stream, at=mail_at, accepted=10)
    StreamDelta.objects.create(stream_id=stream, at=report_at, delivered=10, reported=10)
    if is_folded:
        ledger.fold()

    assert health(sender).silent_since is None

    StreamDelta.objects.create(stream_id=stream, at=minute + timedelta(minutes=1), accepted=1)

    assert health(sender).silent_since == minute + timedelta(minutes=1)


def test_where_no_events_are_expected_nothing_is_measured() -> None:
    sender, stream = cast.sender(), cast.stream(mails=10)
    accept(stream)

    found = health(sender, later=timedelta(hours=2))

    assert not found.is_expected
    assert found.bounce_rate is None
    assert found.silent_since is None
