"""Subscribers of Supabase are the audience of a campaign."""

import pytest
from pytest_django import Settings

from postledger.supabase import syncing
from tests.campaigns import press
from tests.contacts import people
from tests.fakes.postgrest import FakePostgrest


@pytest.fixture
def acme(db: None, settings: Settings) -> int:
    return press.set_up_workspace(settings)


def test_a_campaign_goes_to_exactly_the_active_subscribers_under_their_from_names(
    acme: int, fake: FakePostgrest
) -> None:
    people.leave(acme, "left-here@example.com")
    fake.add("b@example.com", from_name="Bea of Acme")
    fake.add("A@example.com")
    fake.add("left-here@example.com", from_name="Nobody")
    fake.add("left-there@example.com", "unsubscribed")
    fake.add("dead@example.com", "bounced", bounce_type="Permanent")
    fake.add("odd@example.com", "maybe")
    run_id = press.launch(acme, press.campaign(acme))
    syncing.sync_all()

    run = press.planned(run_id)

    planned = [(address, values.get("from_name")) for address, _, values, _ in press.lines(run)]
    assert planned == [("A@example.com", None), ("b@example.com", "Bea of Acme")]
