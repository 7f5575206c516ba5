"""A campaign with a delivery window: when its mails are due, and whom the window leaves alone."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from pytest_django import Settings

from postledger.accounts import working_hours
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Campaign, Run
from postledger.contacts.details import Details
from postledger.deliveries import queries
from postledger.deliveries.reasons import Reason
from tests.campaigns import press
from tests.contacts import people

pytestmark = pytest.mark.django_db

DAYTIME = working_hours.parse_hours(["09:00-20:00"], days="mon-fri")
STORED = {"weekdays": [0, 1, 2, 3, 4], "spans": [["09:00", "20:00"]]}
# Noon of a Monday in UTC: 21:00 in Tokyo.
MONDAY = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def acme(settings: Settings) -> int:
    """A workspace in UTC with three contacts: one in Tokyo, and two without a zone."""
    acme = press.set_up_workspace(settings)
    people.contact(acme, "a@example.com")
    people.contact(acme, "b@example.com", Details(time_zone="Asia/Tokyo"))
    people.contact(acme, "c@example.com")
    return acme


def window_of(run: Run) -> object:
    stream = queries.find_stream(run.stream_id)
    assert stream is not None
    return stream.delivery_window


def batches(run: Run) -> list[tuple[int, str, datetime]]:
    """The number of mails, the reason, and the due time to the second, of each batch."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT hi - lo, reason, date_trunc('second', due_at) FROM deliveries_batch"
            " WHERE stream_id = %s ORDER BY lo",
            [run.stream_id],
        )
        return [(size, reason, due_at.astimezone(UTC)) for size, reason, due_at in cursor]


def test_mail_is_due_when_the_window_opens_where_its_recipient_lives(acme: int) -> None:
    run = press.launched(acme, press.campaign(acme, window=DAYTIME), now=MONDAY)
    Campaign.objects.update(delivery_window=None)

    here, tokyo = batches(run)

    assert press.addresses(run) == ["a@example.com", "c@example.com", "b@example.com"]
    assert here[:2] == (2, Reason.READY)
    assert tokyo == (1, Reason.OUTSIDE_HOURS, datetime(2026, 11, 17, tzinfo=UTC))
    assert window_of(run) == STORED


def test_on_days_on_which_the_window_does_not_open_all_mail_waits(acme: int) -> None:
    saturday = datetime(2026, 11, 21, 12, tzinfo=UTC)
    run = press.launched(acme, press.campaign(acme, window=DAYTIME), now=saturday)

    assert batches(run) == [
        (1, Reason.OUTSIDE_HOURS, datetime(2026, 11, 23, tzinfo=UTC)),
        (2, Reason.OUTSIDE_HOURS, datetime(2026, 11, 23, 9, tzinfo=UTC)),
    ]


def test_a_test_goes_at_any_time(acme: int) -> None:
    campaign_id = press.campaign(acme, window=DAYTIME)
    for run_id in (
        press.send_test(acme, campaign_id, "a@example.com"),
        launching.launch_campaign(
            acme, campaign_id, actor="alice", now=press.NOW, is_sandboxed=True
        ),
    ):
        run = press.planned(run_id)
        assert window_of(run) is None
        assert {reason for _, reason, _ in batches(run)} == {Reason.READY}


def test_the_same_batch_id_with_another_window_is_other_input(acme: int) -> None:
    campaign = Campaign.objects.get(pk=press.campaign(acme))
    without = launching.digest(campaign)
    campaign.delivery_window = STORED

    assert launching.digest(campaign) != without
