"""Processes that apply at once share the work, and one that is killed has applied nothing."""

import os
import subprocess
import sys

import pytest

from postledger.contacts.models import Contact
from postledger.deliveries import audit, queries
from postledger.feedback.models import InboxMessage
from tests import cast
from tests.feedback import reports, topics
from tests.journeys import stage

pytestmark = pytest.mark.django_db(transaction=True)

MAILS = 60
APPLY = """
import django; django.setup()
from datetime import UTC, datetime
from postledger.feedback import application
# The database may need a moment to notice that the process before was killed.
from postledger.feedback.models import InboxMessage
while InboxMessage.objects.filter(fault="").exists():
    application.apply_waiting(limit=40)
"""


def start(**extra: str) -> "subprocess.Popen[bytes]":
    environment = {
        **os.environ,
        "DATABASE_URL": stage.database(),
        "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
        **extra,
    }
    return subprocess.Popen([sys.executable, "-c", APPLY], env=environment)


@pytest.fixture
def streams() -> list[int]:
    """Two streams in doubt, with three events of each mail, all twice, waiting in the inbox."""
    workspace_id, account_id = topics.new_account()
    stream_ids = [cast.stream(mails=MAILS), cast.stream(mails=MAILS)]
    events = []
    for position in range(MAILS):
        address = f"r{position}@example.com"
        Contact.objects.create(workspace_id=workspace_id, address=address)
        for stream_id in stream_ids:
            tag = reports.reference(stream_id, position)
            sent = reports.event("Send", address, tag)
            events += [sent, reports.bounce(address, tag), reports.complaint(address, tag)]
    for stream_id in stream_ids:
        while cast.batches(stream_id):
            cast.lose(stream_id, size=1_000)
    reports.store(account_id, events + events)
    return stream_ids


def assert_all_applied(stream_ids: list[int]) -> None:
    for stream_id in stream_ids:
        assert set(cast.states(stream_id).values()) == {"accepted"}
        counts = queries.read_report_counts([stream_id])[stream_id]
        assert (counts.bounced, counts.complained, counts.reported) == (MAILS, MAILS, MAILS)
        assert audit.audit(stream_id).discrepancies == []
    assert not InboxMessage.objects.filter(fault="").exists()
    assert set(Contact.objects.values_list("state", flat=True)) == {"bounced"}


@pytest.mark.slow
@pytest.mark.sample
def test_an_applier_killed_in_the_middle_has_applied_nothing_of_its_messages(
    streams: list[int],
) -> None:
    waiting = InboxMessage.objects.filter(fault="")
    for passes, left in ((1, 12 * MAILS), (4, 12 * MAILS - 40), (2, 12 * MAILS - 40)):
        assert start(CRASH_AT=f"in_feedback:{passes}").wait() == -9
        assert waiting.count() == left

    assert start().wait() == 0

    assert_all_applied(streams)


@pytest.mark.slow
@pytest.mark.sample
def test_two_appliers_at_once_count_each_event_once(streams: list[int]) -> None:
    both = [start(), start()]

    assert [process.wait() for process in both] == [0, 0]
    assert_all_applied(streams)
