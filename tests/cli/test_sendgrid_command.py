"""`postledger sendgrid connect` on a fake SendGrid: the account, its webhook, and its keys."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from postledger.accounts import queries, sealing, workspaces
from postledger.accounts.models import ProviderAccount
from postledger.cli.doctor import senders
from postledger.feedback import webhook_keys
from postledger.providers.sendgrid.documents import EVENT_TYPES
from tests.feedback import sendgrid
from tools.fakes.http.faults import AnswerError, DropAnswer, Fault, Rule
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid.account import ApiKey
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY, SENDING_KEY
from tools.fakes.sendgrid.webhooks import Webhook

pytestmark = pytest.mark.django_db

FROM = "news@acme.example"
URL = "http://127.0.0.1:9/sendgrid-events"  # where nobody answers
STEPS = ("webhook", "signature", "key", "events")


@pytest.fixture
def fake() -> Iterator[FakeSendGrid]:
    with serving_in_thread(FakeSendGrid()) as fake:
        fake.service.account.add_identities("acme.example")
        yield fake


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text(f"{API_KEY}\n")
    return file


@pytest.fixture(autouse=True)
def acme() -> int:
    return workspaces.create_workspace("acme", actor="test")


@pytest.fixture
def account(fake: FakeSendGrid, key: Path) -> ProviderAccount:
    """An account that sends, and of whose mail SendGrid reports nothing."""
    run("--from", FROM, "--secret", f"api_key={key}", "--endpoint", fake.endpoint)
    return ProviderAccount.objects.get()


def run(*options: str) -> tuple[str, str]:
    """What the command prints, and what it ends with if there are problems."""
    out = StringIO()
    try:
        call_command("sendgrid", "connect", "acme", "mail", *options, stdout=out, stderr=StringIO())
    except CommandError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), ""


def create(url: str = URL) -> tuple[dict[str, str], str]:
    return read_steps(*run("--create", "--url", url))


def read_steps(output: str, error: str) -> tuple[dict[str, str], str]:
    """The state of each step by its subject, and the error."""
    steps: dict[str, str] = {}
    for line in output.splitlines():
        if line[:15].strip() in {"done", "already there", "not there", "left"}:
            steps.setdefault(line[15:29].strip(), line[:15].strip())
    return steps, error


def own_webhook(fake: FakeSendGrid) -> Webhook:
    [webhook] = fake.service.account.webhooks.values()
    return webhook


def keys(account: ProviderAccount) -> list[tuple[str, str]]:
    return [(row.public_key, row.webhook_id) for row in webhook_keys.list_keys(account.pk)]


def test_an_account_is_created_with_its_sender_and_checked(
    fake: FakeSendGrid, key: Path, acme: int
) -> None:
    output, error = run("--from", FROM, "--secret", f"api_key={key}", "--endpoint", fake.endpoint)

    [sender] = queries.senders(acme)
    lines = output.splitlines()
    assert not error
    assert lines[:2] == [
        'Created account "mail" (sendgrid) in workspace "acme".',
        f'Created sender {FROM} in workspace "acme".',
    ]
    assert [line.split()[:2] for line in lines[2:-1] if line[0] != " "] == [
        ["warning", "endpoint"],
        ["ok", "access"],
        ["ok", "quota"],
        ["ok", "identity"],
        ["warning", "events"],
    ]
    assert f"which posts to /sendgrid-events/{sender.account_id}, and" in output
    assert lines[-1] == 'Account "mail" can send.'
    assert sender.account
    assert sealing.unseal_settings(sender.account) == {
        "api_key": API_KEY,
        "endpoint": fake.endpoint,
    }


def test_a_new_account_needs_a_key_and_a_wrong_one_is_stored_with_its_problem(
    fake: FakeSendGrid, tmp_path: Path
) -> None:
    _, needed = run("--region", "eu")
    (tmp_path / "wrong").write_text("SG.wrong")
    output, error = run("--secret", f"api_key={tmp_path / 'wrong'}", "--endpoint", fake.endpoint)

    assert "a new one needs --secret api_key=FILE" in needed
    assert "SendGrid refuses the API key" in output
    assert "account update acme mail --secret api_key=-" in output
    assert "events" not in output, "it would not be said"
    assert error.startswith("The account is stored. Problems: 1.")


def test_create_has_everything_reported_and_a_second_run_changes_nothing(
    fake: FakeSendGrid, account: ProviderAccount
) -> None:
    first, error = create()
    webhook, before = own_webhook(fake), own_webhook(fake).to_document()
    second, _ = create(f"{URL}/")

    assert not error
    assert first == dict.fromkeys(STEPS, "done")
    assert (webhook.url, webhook.enabled) == (f"{URL}/{account.pk}", True)
    assert webhook.settings == {**dict.fromkeys(EVENT_TYPES, True), "open": False, "click": False}
    assert webhook.friendly_name.startswith("postledger-acme-mail-")
    assert keys(account) == [(webhook.public_key, webhook.id)]
    assert second == dict.fromkeys(STEPS, "already there")
    assert own_webhook(fake).to_document() == before
    assert "ok       events        SendGrid reports Processed" in run()[0]


def test_what_stopped_half_way_posts_nothing_that_is_refused_and_is_completed_by_the_next_run(
    fake: FakeSendGrid, account: ProviderAccount
) -> None:
    faults: list[Fault] = [AnswerError("unavailable"), DropAnswer()]
    for fault in faults:
        for operation in (
            "CreateEventWebhook",
            "UpdateSignedEventWebhook",
            "UpdateEventWebhook",
        ):
            case = (fault, operation)
            fake.set_faults(Rule(fault, operation=operation, times=1))

            _, error = create()
            for webhook in fake.service.account.webhooks.values():
                assert not webhook.enabled or webhook.public_key in dict(keys(account)), case
            steps, none = create()

            assert "run this again: it goes on" in error, case
            assert not none, case
            assert tuple(steps) == STEPS, case
            assert own_webhook(fake).enabled, case
            own = own_webhook(fake)
            assert keys(account) == [(own.public_key, own.id)], case
            run("--remove")


def test_a_webhook_that_somebody_changed_is_repaired_and_follows_a_new_url(
    fake: FakeSendGrid, account: ProviderAccount
) -> None:
    create()
    webhook, former = own_webhook(fake), own_webhook(fake).public_key
    webhook.settings |= {"bounce": False, "open": True}
    webhook.enabled = False
    warned, _ = run()
    moved = "http://127.0.0.1:10/mail/sendgrid-events"

    steps, _ = create(moved)

    assert "is switched off, so nothing is reported" in warned
    assert steps == {**dict.fromkeys(STEPS, "already there"), "events": "done"}
    assert own_webhook(fake).url == f"{moved}/{account.pk}"
    assert webhook.settings == {**dict.fromkeys(EVENT_TYPES, True), "open": True, "click": False}

    webhook.make_keys()
    warned, _ = run()
    fake.service.account.domains["acme.example"] = False
    found = [result.message for result in senders.check_senders()]  # the doctor says it too
    fake.service.account.domains["acme.example"] = True
    output, _ = run("--create", "--url", moved)
    run("--remove-key", former)

    assert "signs with a key that the account does not have" in warned
    assert [message.partition(": ")[2].partition(" ")[0] for message in found] == [
        *("The", "The", "acme.example", "The")
    ]
    assert "signs with a key that the account does not have" in found[-1]
    assert read_steps(output, "")[0]["key"] == "done"
    assert f"After a day, remove it with --remove-key {former}" in output
    assert keys(account) == [(webhook.public_key, webhook.id)]


def test_remove_deletes_our_webhook_and_its_keys_and_nothing_else(
    fake: FakeSendGrid, account: ProviderAccount
) -> None:
    create()
    theirs = Webhook("https://globex.example/hook", created_date="", updated_date="")
    fake.service.account.webhooks[theirs.id] = theirs
    by_hand = sendgrid.Webhook().public_key
    run("--key", by_hand)

    removed, _ = run("--remove")
    again, _ = read_steps(*run("--remove"))

    assert "done           webhook" in removed
    assert "done           key" in removed
    assert f"The key that was given with --key stays: {by_hand}" in removed
    assert own_webhook(fake) is theirs
    assert keys(account) == [(by_hand, "")]
    assert again == {"webhook": "not there", "key": "left"}


def test_keys_of_webhooks_that_a_person_made_come_and_go(account: ProviderAccount) -> None:
    first, second = sendgrid.Webhook().public_key, sendgrid.Webhook().public_key

    states = [
        read_steps(*run(option, value))[0]["key"]
        for option, value in (
            *(("--key", first), ("--key", first), ("--key", second)),
            *(("--remove-key", first), ("--remove-key", first)),
        )
    ]
    _, refused = run("--key", "no key")

    assert states == ["done", "already there", "done", "done", "not there"]
    assert keys(account) == [(second, "")]
    assert "This is no verification key of SendGrid" in refused


def test_a_key_that_may_not_change_webhooks_is_told_what_it_lacks(
    fake: FakeSendGrid, account: ProviderAccount
) -> None:
    scopes = fake.service.account.keys[API_KEY].scopes - {"user.webhooks.event.settings.create"}
    fake.service.account.keys[API_KEY] = ApiKey(scopes)
    _, without_one = create()
    fake.service.account.keys[API_KEY] = fake.service.account.keys[SENDING_KEY]
    _, without_all = create()

    for error in (without_one, without_all):
        assert "may not change event webhooks" in error
        assert "--key" in error
    assert "no event webhook left" in without_one
    assert "no event webhook left" not in without_all
    assert keys(account) == []


def test_a_wish_that_cannot_be_meant_changes_nothing(
    fake: FakeSendGrid, account: ProviderAccount
) -> None:
    for options, words in (
        (("--create",), "--create and --url belong together"),
        (("--url", URL), "--create and --url belong together"),
        (("--create", "--url", "http://x/hook"), "Events are taken at /sendgrid-events"),
        (("--create", "--url", f"{URL}?a=b"), "Events are taken at /sendgrid-events"),
        (("--create", "--url", "ftp://x/sendgrid-events"), "SendGrid posts over HTTPS only"),
    ):
        assert words in run(*options)[1]
    assert not fake.service.account.webhooks
    assert keys(account) == []
