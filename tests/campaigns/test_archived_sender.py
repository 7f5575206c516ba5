"""A sender that is being archived, and a launch at the same moment: one of them sees the other."""

import pytest
from django.core.management import CommandError
from pytest_django import Settings

from postledger.accounts import senders
from postledger.accounts.models import Sender
from postledger.accounts.queries import SenderArchivedError
from postledger.campaigns.models import Run
from tests.campaigns import press
from tests.cli.command_line import run
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def campaign(settings: Settings) -> tuple[int, int]:
    """A workspace, and its campaign; the default sender is another than the campaign's."""
    acme = press.set_up_workspace(settings)
    campaign_id = press.campaign(acme)
    other = senders.create_sender(acme, address="help@acme.example", actor="alice")
    senders.set_default(acme, sender_id=other, actor="alice")
    return acme, campaign_id


def archive() -> None:
    run("sender", "archive", "acme", "news@acme.example")


def test_a_launch_that_is_quicker_keeps_the_sender(campaign: tuple[int, int]) -> None:
    with collide.uncommitted(lambda: press.launch(*campaign)):
        archiving = collide.start(archive)
        archiving.must_wait()

    with pytest.raises(CommandError, match="campaign runs still being planned: 1"):
        archiving.answer()
    assert not Sender.objects.exclude(archived_at=None).exists()


def test_a_launch_that_is_later_is_refused(campaign: tuple[int, int]) -> None:
    with collide.uncommitted(archive):
        launching_ = collide.start(lambda: press.launch(*campaign))
        launching_.must_wait()

    with pytest.raises(SenderArchivedError):
        launching_.answer()
    assert not Run.objects.exists()
