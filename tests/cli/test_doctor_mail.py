"""The doctor and mail that cannot go: who sends, who works, and what waits."""

import pytest
from pytest_django import Settings

from postledger.accounts import provider_accounts, senders
from postledger.accounts.models import Sender, Workspace
from postledger.cli.doctor import work
from postledger.deliveries import ledger
from postledger.deliveries.reasons import Reason
from postledger.lib.check_results import Level
from tests import cast
from tests.cli import installations
from tests.cli.installations import doctor
from tests.providers.fake_smtp import FEATURES, FakeSmtp, Fault, Phase

pytestmark = pytest.mark.django_db


def test_what_lacks_to_send_is_told_step_by_step_and_addresses_are_shortened() -> None:
    report = doctor()
    assert report.level("senders") == "problem"
    assert report.text("senders").endswith("Run postledger setup.")
    assert "postledger key create" in report.text("keys")

    workspace = Workspace.objects.create(name="alice@acme.example")
    report = doctor()
    assert report.level("senders") == "problem"
    assert "Run postledger sender create" in report.text("senders")

    Sender.objects.create(workspace=workspace, address="news@acme.example")
    report = doctor()
    assert report.level("senders") == "problem"
    attach = "Run postledger sender attach 'a***@acme.example' ADDRESS --account NAME;"
    assert attach in report.text("senders")
    assert "postledger sender list 'a***@acme.example' shows" in report.text("senders")
    assert "n***@acme.example" in report.text("senders")
    assert "news@acme.example" not in report.output
    assert "alice@" not in report.output


def test_what_is_archived_is_examined_and_its_hold_told_only_while_mail_waits_for_it() -> None:
    workspace_id = cast.sender().workspace_id
    installations.attach_account(port=1)
    broken = doctor()
    sandbox = provider_accounts.create_account(
        workspace_id, name="box", kind="sandbox", settings={}, actor="test"
    )
    other = senders.create_sender(
        workspace_id, address="help@acme.example", account_id=sandbox, actor="test"
    )
    senders.archive_sender(workspace_id, sender_id=cast.sender().pk, default_id=other, actor="test")
    ledger.hold_sender(cast.sender().pk, reason=Reason.SENDER_BLOCKED, actor="dispatcher")

    report = doctor()
    cast.stream(mails=1)
    waiting = doctor()

    assert (broken.level("senders"), report.level("senders")) == ("problem", "ok")
    assert "relay" not in report.text("senders")
    assert (report.level("holds"), waiting.level("holds")) == ("ok", "warning")
    assert "postledger sender list" in waiting.text("holds")


def test_logging_in_sends_nothing_and_a_refused_password_is_told_in_the_servers_words() -> None:
    features = (*FEATURES, "AUTH PLAIN")
    with installations.smtp(FakeSmtp(features=features)) as server:
        installations.attach_account(port=server.port, username="alice", password="hunter2")
        accepted = doctor()
        verbs = [command.partition(" ")[0] for command in server.said]
        server.faults = {Phase.AUTH: "535 5.7.8 bad credentials"}
        refused = doctor()

    assert accepted.level("senders") == "ok", accepted.output
    assert verbs == ["EHLO", "AUTH", "QUIT"]
    assert refused.level("senders") == "problem"
    assert "535 5.7.8 bad credentials" in refused.text("senders")
    update = "postledger account update acme relay --set username=USERNAME --secret password=-"
    assert update in refused.text("senders")
    assert "hunter2" not in refused.output


@pytest.mark.slow
def test_a_dead_or_silent_smtp_server_and_an_account_sealed_under_another_key_are_told(
    settings: Settings,
) -> None:
    with installations.smtp(FakeSmtp(faults={Phase.GREETING: Fault.STALL})) as server:
        installations.attach_account(port=server.port)
        silent = doctor()
    dead = doctor()
    settings.SECRET_KEY = "another-" + "y" * 50
    sealed = doctor()

    update = "postledger account update acme relay"
    for report, words in (
        (silent, "The server gave no answer within 5 seconds."),
        (silent, "Check the name of the server, the port and the encryption."),
        (dead, "nothing takes connections there"),
        (dead, f"{update} --set host=HOST"),
        (sealed, "sealed under another SECRET_KEY"),
        (sealed, "postledger account reseal"),
        (sealed, f"{update} --anew"),
    ):
        assert report.level("senders") == "problem"
        assert words in report.text("senders")


def test_a_missing_secret_key_or_one_that_hashes_were_not_sealed_under_is_a_problem(
    settings: Settings,
) -> None:
    previous, settings.SECRET_KEY = settings.SECRET_KEY, "new" * 20
    lost = doctor()
    settings.SECRET_KEY_FALLBACKS = [previous]
    unsealed = doctor()
    settings.SECRET_KEY = ""
    missing = doctor()

    assert lost.level("hashes") == "problem"
    assert "SECRET_KEY_PREVIOUS" in lost.text("hashes")
    assert unsealed.level("hashes") == "ok"
    assert missing.level("settings") == "problem"
    assert "set SECRET_KEY" in missing.text("settings")
    assert missing.level("redis") == "ok"


def test_due_work_without_a_worker_that_gave_a_sign_of_life_is_a_problem() -> None:
    stream_id = cast.stream(mails=3)
    installations.execute(
        "UPDATE deliveries_batch SET due_at = now() - interval '20 minutes' WHERE stream_id = %s",
        stream_id,
    )

    report = doctor()

    assert report.level("workers") == "problem"
    assert "due for 20 minutes" in report.text("workers")
    assert "Start a worker" in report.text("workers")
    assert report.level("due") == "problem"
    installations.write_heartbeat()
    installations.execute("UPDATE dispatch_worker SET ticked_at = now() - interval '1 minute'")
    unbeaten = doctor()
    assert unbeaten.level("beat") == "warning"
    assert "postledger worker --beat" in unbeaten.text("beat")
    installations.execute("UPDATE dispatch_worker SET seen_at = now() - interval '40 seconds'")
    assert doctor().level("workers") == "problem"


def test_holds_and_doubts_are_told() -> None:
    stream_id = cast.stream(mails=3)
    cast.lose(stream_id, size=2)
    ledger.hold(stream_id, reason=Reason.PAUSED, actor="alice")

    report = doctor()

    assert report.level("holds") == "warning"
    assert "1 streams" in report.text("holds")
    assert "postledger why" in report.text("holds")
    assert report.level("doubts") == "warning"
    assert "Mails in doubt: 2" in report.text("doubts")


def test_a_worker_may_be_missing_while_nothing_is_due_and_late_work_is_judged_by_its_age() -> None:
    assert work.judge_workers(0, None).level is Level.WARNING
    assert work.judge_workers(0, 0.5).level is Level.PROBLEM
    assert work.judge_workers(1, 5000.0).level is Level.OK
    ages = {None: Level.OK, 60.0: Level.OK, 61.0: Level.WARNING, 901.0: Level.PROBLEM}
    assert {age: work.judge_due_work(age).level for age in ages} == ages


def test_a_lease_that_nobody_sweeps_is_a_problem() -> None:
    taken = cast.claim(cast.stream(mails=3))
    installations.execute(
        "UPDATE deliveries_lease SET check_at = now() - interval '5 minutes' WHERE token = %s",
        taken.lease,
    )

    report = doctor()

    assert report.level("upkeep") == "problem"
    assert "expired 5 minutes ago" in report.text("upkeep")
    assert "postledger worker --beat" in report.text("upkeep")
