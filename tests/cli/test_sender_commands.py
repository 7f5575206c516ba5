"""Commands on senders and accounts in use: the default, holds, and archives."""

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from postledger.accounts.models import ProviderAccount, Sender
from postledger.campaigns.launches import launching
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Block
from postledger.deliveries.reasons import Reason
from postledger.providers.base import Category
from tests import cast
from tests.campaigns import press
from tests.cli.command_line import ME, refusal, run, trail

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme() -> None:
    run("workspace", "create", "acme")
    run("sender", "create", "acme", "news@acme.example", "--name", "Acme", "--sandbox")
    run("sender", "create", "acme", "help@acme.example", "--sandbox")


def test_the_default_sender_is_changed_and_archived_with_its_successor_alone(acme: None) -> None:
    changed = run("sender", "default", "acme", "HELP@acme.example")
    again = run("sender", "default", "acme", "help@acme.example")
    refused = refusal("sender", "archive", "acme", "help@acme.example")
    run("sender", "archive", "acme", "help@acme.example", "--default", "news@acme.example")

    assert changed[0].startswith("help@acme.example is now the default sender; running web")
    assert again == ["help@acme.example is already the default sender."]
    assert "Name another default sender first" in refused
    assert "--default ADDRESS" in refused
    assert run("sender", "list", "acme") == [
        "help@acme.example  through sandbox  archived NOW",
        "news@acme.example  “Acme”  through sandbox  default",
    ]
    assert ("acme", ME, "sender.made_default") in [entry[:3] for entry in trail()]


def test_a_held_sender_is_listed_with_every_cause_its_beginning_and_its_end(acme: None) -> None:
    news, help_ = Sender.objects.order_by("pk")
    until = datetime.now(UTC) + timedelta(hours=1)
    for sender in (news, help_):
        ledger.hold_sender(sender.pk, reason=Reason.THROTTLED, actor="dispatcher", until=until)
    block = Block("SES_CREDENTIALS", Category.CONFIGURATION)
    ledger.hold_sender(news.pk, reason=Reason.SENDER_BLOCKED, actor="dispatcher", block=block)

    shown = run("sender", "list", "acme")
    run("sender", "release", "acme", "help@acme.example")

    throttled = "  held since NOW until NOW, because the provider limits our rate (throttled)"
    blocked = (
        "held since NOW until it is released, because the provider refuses this sender"
        " (sender_blocked)  mail that is due fails with SES_CREDENTIALS from NOW on"
    )
    assert shown == [
        f"help@acme.example  through sandbox{throttled}",
        f"news@acme.example  “Acme”  through sandbox  default  {blocked}{throttled}",
    ]
    assert run("sender", "list", "acme")[0] == "help@acme.example  through sandbox"


def test_a_person_who_changes_the_account_of_a_blocked_sender_has_acted(acme: None) -> None:
    run("account", "create", "acme", "box", "--kind", "sandbox")
    news, _ = Sender.objects.order_by("pk")
    block = Block("SES_CREDENTIALS", Category.CONFIGURATION)
    for change in (
        ("account", "update", "acme", "sandbox", "--set", "window_size=10"),
        ("sender", "attach", "acme", "news@acme.example", "--account", "box"),
    ):
        ledger.release_sender(news.pk)
        ledger.hold_sender(
            news.pk, reason=Reason.SENDER_BLOCKED, actor="dispatcher", is_account=True, block=block
        )
        run(*change)
        _, shown = run("sender", "list", "acme")
        assert "held since NOW until NOW" in shown, change
        assert "fails" not in shown, change


def test_a_sender_is_archived_and_taken_back(acme: None) -> None:
    archived = run("sender", "archive", "acme", "help@acme.example")
    again = run("sender", "archive", "acme", "help@acme.example")
    listed = run("sender", "list", "acme")
    restored = run("sender", "restore", "acme", "help@acme.example")

    assert archived[0].startswith("Archived help@acme.example: it takes no new mail, after up to 5")
    assert archived[0].endswith("postledger sender restore acme help@acme.example.")
    assert again == ["help@acme.example was already archived."]
    assert listed[0] == "help@acme.example  through sandbox  archived NOW"
    assert restored == ["help@acme.example takes mail again."]
    assert run("sender", "restore", "acme", "help@acme.example") == [
        "help@acme.example was not archived."
    ]
    assert [line[2] for line in trail()][-2:] == ["sender.archived", "sender.restored"]


def test_a_sender_for_which_mail_waits_is_archived_only_if_a_person_says_so(acme: None) -> None:
    run("sender", "default", "acme", "help@acme.example")
    cancelled, waiting = cast.stream(mails=3), cast.stream(mails=3)
    ledger.cancel(cancelled, actor="alice")

    refused = refusal("sender", "archive", "acme", "news@acme.example")
    is_untouched = Sender.objects.filter(archived_at=None).count() == 2
    run("sender", "archive", "acme", "news@acme.example", "--yes")
    cast.book(waiting, lambda position: entries.accepted(position, message_id=f"m{position}"))

    assert refused.startswith("Mails that wait for it: 3. Archive it when they are sent; or cancel")
    assert is_untouched
    assert "archived NOW" in run("sender", "list", "acme")[1]
    run("sender", "restore", "acme", "news@acme.example")
    run("sender", "archive", "acme", "news@acme.example")  # nothing waits any more
    assert Sender.objects.get(address="news@acme.example").archived_at


def test_a_run_that_is_not_planned_yet_counts_as_mail_that_waits(settings: Settings) -> None:
    acme = press.set_up_workspace(settings)
    run("sender", "create", "acme", "help@acme.example", "--sandbox")
    campaign_id = press.campaign(acme)
    launching.launch_campaign(acme, campaign_id, actor="alice", now=press.NOW)
    run("sender", "default", "acme", "help@acme.example")

    refused = refusal("sender", "archive", "acme", "news@acme.example")

    assert "0, and campaign runs still being planned: 1." in refused


def test_an_account_is_archived_once_nobody_uses_it_and_no_mail_waits(acme: None) -> None:
    run("account", "create", "acme", "box", "--kind", "sandbox")
    stream_id = cast.stream(mails=2)
    in_use = refusal("account", "archive", "acme", "sandbox")
    run("sender", "attach", "acme", "help@acme.example", "--account", "box")
    run("sender", "default", "acme", "help@acme.example")
    run("sender", "archive", "acme", "news@acme.example", "--yes")
    waiting = refusal("account", "archive", "acme", "sandbox")
    ledger.cancel(stream_id, actor="alice")

    archived = run("account", "archive", "acme", "sandbox")
    unusable = refusal("sender", "create", "acme", "shop@acme.example", "--account", "sandbox")
    listed = run("account", "list", "acme")
    restored = run("account", "restore", "acme", "sandbox")

    assert "sends for help@acme.example, news@acme.example" in in_use
    assert waiting.startswith("Mails that wait for it: 2.")
    assert archived[0].startswith('Archived account "sandbox": no sender can be attached to it.')
    assert "is archived, and no sender can use it" in unusable
    assert [("archived 20" in line) for line in listed] == [False, True]
    assert restored == ['Account "sandbox" is in use again.']
    assert not ProviderAccount.objects.exclude(archived_at=None).exists()
