"""`postledger ses` and the doctor on a fake SES: each thing that can be wrong, and its remedy."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from postledger.accounts import queries, sealing, workspaces
from postledger.accounts.models import AuditEntry, ProviderAccount, Sender
from postledger.deliveries import ledger
from postledger.deliveries import queries as mail_queries
from postledger.deliveries.entries import Block
from postledger.deliveries.reasons import Reason
from postledger.providers.base import Category
from postledger.providers.ses.events import event_documents
from postledger.providers.ses.settings import SesSettings
from tests.cli.installations import DEAD
from tools.fakes.http.faults import AnswerError, AnswerGateway, DelayAnswer, Rule
from tools.fakes.http.server import serving_in_thread
from tools.fakes.ses.account import Account, Identity, Status
from tools.fakes.ses.quota import UNLIMITED, Quota
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

pytestmark = pytest.mark.django_db

FROM = "news@acme.example"
REGION = "us-east-1"


@pytest.fixture
def fake() -> Iterator[FakeSes]:
    with serving_in_thread(FakeSes()) as fake:
        fake.service.account.add_identities("acme.example")
        fake.service.account.add_configuration_sets("main")
        report_to_topic(fake, *event_documents.EVENT_TYPES)
        yield fake


def report_to_topic(fake: FakeSes, *types: str) -> None:
    """As if SES had been set up to report these events."""
    definition = event_documents.write_destination("arn:aws:sns:us-east-1:123456789012:reports")
    definition["MatchingEventTypes"] = list(types)
    fake.service.account.configuration_sets["main"].event_destinations["reports"] = definition


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET_ACCESS_KEY}\n")
    return file


@pytest.fixture(autouse=True)
def acme() -> int:
    return workspaces.create_workspace("acme", actor="test")


def connect(fake: FakeSes, secret: Path, *more: str) -> tuple[str, str]:
    """What the command prints, and what it ends with if there are problems."""
    return run(
        *("ses", "connect", "acme", "mail", "--region", REGION, "--from", FROM),
        *("--configuration-set", "main", "--endpoint", fake.endpoint),
        *("--access-key-id", ACCESS_KEY_ID, "--secret", f"secret_access_key={secret}", *more),
    )


def run(*arguments: str) -> tuple[str, str]:
    out = StringIO()
    try:
        call_command(*arguments, stdout=out, stderr=StringIO())
    except CommandError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), ""


def check() -> tuple[dict[str, tuple[str, str]], str]:
    """What is found when the account is connected once more."""
    output, error = run("ses", "connect", "acme", "mail")
    return findings(output), error


def findings(output: str) -> dict[str, tuple[str, str]]:
    """The level and the whole text of each finding about SES, by its subject.

    That the endpoint is a fake is no such finding.
    """
    found: dict[str, tuple[str, str]] = {}
    subject = ""
    for line in output.splitlines():
        level = line[:9].strip()
        if level in {"ok", "warning", "problem"}:
            subject = line[9:23].strip()
            found[subject] = (level, line[23:])
        elif line.startswith(" " * 23):
            found[subject] = (found[subject][0], f"{found[subject][1]}\n{line[23:]}")
    found.pop("endpoint", None)
    return found


def test_an_account_that_is_ready_is_created_and_connecting_again_changes_what_is_named(
    fake: FakeSes, secret: Path, acme: int
) -> None:
    fake.service.account.add_configuration_sets("other")
    fake.service.account.identities["acme.example"].mail_from_domain = "bounce.acme.example"

    output, error = connect(fake, secret)

    assert not error
    assert output.splitlines()[:2] == [
        'Created account "mail" (ses) in workspace "acme".',
        f'Created sender {FROM} in workspace "acme".',
    ]
    assert [*findings(output)] == [
        *("access", "sending", "quota", "production"),
        *("identity", "dkim", "mail-from", "config-set", "events"),
    ]
    assert {level for level, _ in findings(output).values()} == {"ok"}
    [sender] = queries.senders(acme)
    assert sender.account
    assert (sender.address, sender.account.kind) == (FROM, "ses")
    stored = {
        "region": REGION,
        "configuration_set": "main",
        "endpoint": fake.endpoint,
        "access_key_id": ACCESS_KEY_ID,
        "secret_access_key": SECRET_ACCESS_KEY,
    }
    assert sealing.unseal_settings(sender.account) == stored

    changed, _ = run("ses", "connect", "acme", "mail", "--configuration-set", "other")
    unchanged, _ = run("ses", "connect", "acme", "mail")

    assert changed.startswith('Updated account "mail" in workspace "acme".')
    assert "configuration set other exists" in changed
    assert unchanged.startswith("warning  endpoint")
    settings = sealing.unseal_settings(ProviderAccount.objects.get())
    assert settings == {**stored, "configuration_set": "other"}
    assert AuditEntry.objects.filter(action="account.updated").count() == 1


def identity(**changes: Any) -> dict[str, object]:
    return {"identities": {"acme.example": replace(Identity("acme.example"), **changes)}}


TOKENS = "._domainkey.acme.example CNAME "
BOUNCE = "bounce.acme.example"


# What is wrong, in the words of the fake; then the line and the remedy.
# What is wrong with the account; then the subject, the level, and a word of the remedy.
WRONG: list[tuple[dict[str, object], str, str, str]] = [
    (
        identity(verification=Status.PENDING, dkim=Status.PENDING),
        *("identity", "problem", TOKENS),
    ),
    (identity(dkim=Status.PENDING), "dkim", "warning", TOKENS),
    (
        identity(mail_from_domain=BOUNCE, mail_from=Status.FAILED),
        *("mail-from", "warning", f"{BOUNCE} MX 10 feedback-smtp.us-east-1.amazonses.com"),
    ),
    (
        identity(
            mail_from_domain=BOUNCE, mail_from=Status.PENDING, rejects_on_mail_from_failure=True
        ),
        *("mail-from", "problem", f'{BOUNCE} TXT "v=spf1 include:amazonses.com ~all"'),
    ),
    (
        {"identities": {}},
        *("identity", "problem", "create-email-identity --region us-east-1"),
    ),
    ({"has_production_access": False}, "production", "problem", "Request production access"),
    ({"is_sending_enabled": False}, "sending", "problem", "put-account-sending-attributes"),
    ({"enforcement_status": "SHUTDOWN"}, "sending", "problem", "answer AWS's case"),
    ({"enforcement_status": "PROBATION"}, "sending", "warning", "Reputation metrics"),
    ({"configuration_sets": {}}, "config-set", "problem", "--set configuration_set="),
]


def test_what_is_wrong_with_an_account_is_told_with_its_remedy(fake: FakeSes, secret: Path) -> None:
    connect(fake, secret)
    account = fake.service.account
    for changes, subject, level, remedy in WRONG:
        former = {name: getattr(account, name) for name in changes}
        change(account, changes)
        found, error = check()
        change(account, former)

        assert (found[subject][0], bool(error)) == (level, level == "problem"), changes
        assert remedy in found[subject][1], changes
        assert [name for name, (level_, _) in found.items() if level_ != "ok"] == [subject], changes


def test_a_domain_above_and_an_address_alone_are_identities_too(
    fake: FakeSes, secret: Path
) -> None:
    fake.service.account.add_identities("only@mail.globex.example")

    above, _ = connect(fake, secret, "--from", "shop@mail.eu.acme.example")
    alone, error = connect(fake, secret, "--from", "only@mail.globex.example")

    assert findings(above)["identity"] == ("ok", "acme.example is verified.")
    assert "only@mail.globex.example is verified." in alone
    assert "is not signed (DKIM is NOT_STARTED)" in alone
    assert "Verify the domain of this address in SES" in alone
    assert not error


def change(account: Account, changes: dict[str, object]) -> None:
    for name, value in changes.items():
        setattr(account, name, value)


def test_a_set_that_is_paused_and_a_missing_name_are_told(fake: FakeSes, secret: Path) -> None:
    options = {"SendingOptions": {"SendingEnabled": False}}
    fake.service.account.configuration_sets["main"].options.update(options)
    paused, _ = connect(fake, secret)
    unnamed, _ = connect(fake, secret, "--configuration-set", "")
    fake.service.account.add_configuration_sets("default")
    fake.service.account.identities["acme.example"].configuration_set = "default"
    by_identity, _ = connect(fake, secret, "--configuration-set", "")

    assert "Sending is switched off for the configuration set main" in paused
    assert findings(unnamed)["config-set"][0] == "warning"
    assert "SES reports neither bounces nor complaints" in unnamed
    assert "The configuration set default exists." in by_identity


def test_wrong_keys_are_named_and_no_secret_is_shown_or_taken_from_the_command_line(
    fake: FakeSes, secret: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret.write_text("hunter2-hunter2")

    with caplog.at_level(logging.DEBUG):
        _, refused = connect(fake, secret, "--set", "secret_access_key=hunter2")
        assert not ProviderAccount.objects.exists()
        output, error = connect(fake, secret)

    assert "secret_access_key is a secret, and other users can see a command line" in refused
    [(level, text)] = findings(output).values()
    assert level == "problem"
    assert "SES refuses the keys: InvalidSignatureException" in text
    assert "--set access_key_id=ACCESS_KEY_ID --secret secret_access_key=-" in text
    shown = refused + output + error + caplog.text
    shown += json.dumps(list(AuditEntry.objects.values("data")))
    assert "hunter2" not in shown
    assert SECRET_ACCESS_KEY not in shown


def test_a_region_or_a_scheme_that_is_not_that_of_the_endpoint_is_named_and_not_the_keys(
    fake: FakeSes, secret: Path
) -> None:
    https = fake.endpoint.replace("http:", "https:")
    for options, words in (
        (("--region", "eu-west-1"), f"{fake.endpoint} is not in eu-west-1"),
        (("--region", REGION, "--endpoint", https), f"the endpoint is {fake.endpoint}."),
    ):
        output, _ = connect(fake, secret, *options)
        [(level, text)] = findings(output).values()
        assert level == "problem", options
        assert words in text
        assert "access_key_id" not in text, options


def test_keys_of_a_user_take_the_place_of_temporary_ones_with_their_token(
    fake: FakeSes, secret: Path, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("the-token")
    connect(fake, secret, "--access-key-id", "ASIAFAKE", "--secret", f"session_token={token}")

    _, by_hand = run("account", "update", "acme", "mail", "--set", f"access_key_id={ACCESS_KEY_ID}")
    _, error = connect(fake, secret)

    assert "session_token belongs to temporary keys" in by_hand
    assert "--unset session_token" in by_hand
    assert not error
    assert "session_token" not in sealing.unseal_settings(ProviderAccount.objects.get())


def test_keys_of_the_machine_are_used_without_a_line_of_the_log(
    fake: FakeSes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)

    output, error = run(
        *("ses", "connect", "acme", "mail", "--region", REGION, "--from", FROM),
        *("--configuration-set", "main", "--endpoint", fake.endpoint),
    )

    assert not error
    assert findings(output)["access"] == ("ok", "SES in us-east-1 accepts the keys.")
    assert [line for line in caplog.records if line.name.startswith("botocore")] == []


@pytest.mark.slow
def test_an_ses_that_does_not_answer_is_told_once_and_asked_again_where_it_throttles(
    fake: FakeSes, secret: Path
) -> None:
    fake.set_faults(Rule(AnswerError("TooManyRequestsException"), operation="Get*", times=1))
    _, throttled = connect(fake, secret)
    fake.set_faults(Rule(AnswerGateway(502), operation="GetEmailIdentity"))
    gateway, _ = check()
    fake.set_faults(Rule(DelayAnswer(60), operation="GetAccount"))
    silent, _ = check()
    nobody, _ = connect(fake, secret, "--endpoint", f"http://{DEAD}")

    assert not throttled
    level, text = gateway["identity"]
    assert (level, text.splitlines()[-1]) == ("warning", "Try again later.")
    [(silent_level, silent_text)] = silent.values()
    [(nobody_level, nobody_text)] = findings(nobody).values()
    assert nobody_level == silent_level == "problem"
    assert "SES does not answer about the account: nothing takes connections" in nobody_text
    assert "SES does not answer about the account: ANSWER: timeout" in silent_text


def test_keys_that_may_only_send_are_told_which_policy_they_lack(
    fake: FakeSes, secret: Path
) -> None:
    fake.set_faults(Rule(AnswerError("AccessDeniedException"), operation="Get*"))

    output, error = connect(fake, secret)

    assert not error
    assert {level for level, _ in findings(output).values()} == {"warning"}
    assert set(findings(output)) == {"account", "identity", "config-set", "events"}
    assert all("postledger ses policy" in text for _, text in findings(output).values())


def test_what_cannot_be_used_is_refused_before_anything_is_stored(
    fake: FakeSes, secret: Path
) -> None:
    _, elsewhere = connect(fake, secret, "--endpoint", "https://mail.example.com")
    _, half = run("ses", "connect", "acme", "mail", "--region", REGION, "--access-key-id", "AKIA")
    _, nowhere = run("ses", "connect", "acme", "mail")
    said, nobody = connect(fake, secret, "--from", "news")

    assert "mail and credentials go to AWS only" in elsewhere
    assert "give both access_key_id and secret_access_key" in half
    assert "a new one needs --region, such as eu-west-1" in nowhere
    assert "is not an email address" in nobody
    assert not said
    assert not ProviderAccount.objects.exists()


def test_a_sender_of_another_account_stays_there(fake: FakeSes, secret: Path) -> None:
    run("sender", "create", "acme", FROM, "--sandbox")

    output, _ = connect(fake, secret)

    assert f"postledger sender attach acme {FROM} --account mail." in output
    assert Sender.objects.get().account != ProviderAccount.objects.get(name="mail")
    _, error = run("ses", "connect", "acme", "sandbox", "--region", REGION)
    assert error == "The account “sandbox” is of kind sandbox: choose another name."


def test_a_sender_without_an_account_gets_this_one_and_new_settings_let_a_held_one_be_tried_again(
    fake: FakeSes, secret: Path
) -> None:
    run("sender", "create", "acme", FROM)
    block_sender()
    attached, _ = connect(fake, secret)
    block_sender()
    unchanged, _ = run("ses", "connect", "acme", "mail")
    changed, _ = connect(fake, secret)

    assert f'Mail of {FROM} is now sent through account "mail".' in attached
    assert f"to send again: postledger sender release acme {FROM}." in unchanged
    assert "is held" not in attached + changed
    [[hold]] = mail_queries.find_sender_holds([Sender.objects.get().pk]).values()
    assert hold.until is not None
    assert hold.fails_at is None


def block_sender() -> None:
    assert ledger.hold_sender(
        Sender.objects.get().pk,
        reason=Reason.SENDER_BLOCKED,
        actor="dispatcher",
        block=Block("SES_CREDENTIALS", Category.CONFIGURATION),
    )


def test_an_account_of_another_workspace_is_another_account(fake: FakeSes, secret: Path) -> None:
    globex = workspaces.create_workspace("globex", actor="test")
    connect(fake, secret)

    _, error = run("ses", "connect", "globex", "mail")

    assert "a new one needs --region" in error
    assert not queries.accounts(globex)
    _, unknown = run("ses", "connect", "initech", "mail")
    assert unknown.startswith("There is no workspace “initech”")


def test_the_policy_allows_what_is_sent_and_checked_and_no_more() -> None:
    output, _ = run(
        *("ses", "policy", "--region", "eu-west-1", "--from", "news@mail.acme.example"),
        *("--configuration-set", "main"),
    )
    anything, _ = run("ses", "policy", "--region", "cn-north-1")

    statements = {item["Sid"]: item for item in json.loads(output)["Statement"]}
    send, check = statements["Send"], statements["Check"]
    assert send["Action"] == ["ses:SendEmail", "ses:SendRawEmail"]
    assert send["Resource"] == [
        "arn:aws:ses:eu-west-1:*:identity/mail.acme.example",
        "arn:aws:ses:eu-west-1:*:identity/acme.example",
        "arn:aws:ses:eu-west-1:*:identity/news@mail.acme.example",
        "arn:aws:ses:eu-west-1:*:configuration-set/main",
    ]
    assert all(action.startswith("ses:Get") for action in check["Action"])
    own = ["arn:aws:sns:eu-west-1:*:postledger-*", "arn:aws:sqs:eu-west-1:*:postledger-*"]
    assert statements["ReceiveEvents"]["Resource"] == own
    assert statements["SetUpEvents"]["Resource"] == [send["Resource"][-1], *own]
    assert statements["FindTopics"]["Action"] == ["sns:ListTopics"]
    assert json.loads(anything)["Statement"][0]["Resource"] == [
        "arn:aws-cn:ses:cn-north-1:*:identity/*",
        "arn:aws-cn:ses:cn-north-1:*:configuration-set/*",
    ]


def test_no_policy_is_written_for_what_cannot_be_used() -> None:
    for options, sentence in (
        (("--region", "moon"), "region: write it as AWS does, such as eu-west-1"),
        (("--region", REGION, "--configuration-set", "a/b"), "configuration_set: use up to 64"),
        (("--region", REGION, "--from", "acme.example"), "is not an email address"),
    ):
        output, error = run("ses", "policy", *options)
        assert sentence in error
        assert not output


def doctor() -> list[dict[str, str]]:
    """What the doctor finds about senders that is not in order."""
    return [finding for finding in doctor_lines() if finding["level"] != "ok"]


def doctor_lines() -> list[dict[str, str]]:
    out, _ = run("doctor", "--json")
    return [finding for finding in json.loads(out) if finding["subject"] == "senders"]


def test_the_doctor_finds_the_same_and_shortens_addresses(fake: FakeSes, secret: Path) -> None:
    connect(fake, secret)
    fake.service.account.add_identities("only@globex.example")
    connect(fake, secret, "--from", "only@globex.example")
    fake.service.account.identities["acme.example"].verification = Status.FAILED

    here, unverified, unsigned = doctor()

    assert f"The account talks to {fake.endpoint} on this machine, not to AWS" in here["message"]
    assert unverified["level"] == "problem"
    assert unverified["message"].startswith(
        "The account mail of acme: acme.example is not verified (FAILED)"
    )
    assert TOKENS in unverified["remedy"]
    assert unsigned["level"] == "warning"
    assert "Mail from o***@globex.example is not signed" in unsigned["message"]
    assert "only@" not in unsigned["remedy"]
    run("account", "update", "acme", "mail", "--unset", "endpoint")
    unset = sealing.unseal_settings(ProviderAccount.objects.get())
    run("account", "update", "acme", "mail", "--set", "endpoint=")
    emptied = SesSettings.model_validate(sealing.unseal_settings(ProviderAccount.objects.get()))
    assert "endpoint" not in unset
    assert not emptied.actual_endpoint.is_here


def test_the_doctor_and_the_command_show_how_much_of_the_quota_is_used(
    fake: FakeSes, secret: Path
) -> None:
    quota = fake.service.account.quota = Quota(50_000, UNLIMITED)
    quota.count(1_234, datetime.now(UTC))
    quota.max_send_rate = 14

    output, _ = connect(fake, secret)
    shown = "1,234 of 50,000 sent in the last 24 hours; 14 a second."
    assert findings(output)["quota"] == ("ok", shown)
    assert f"The account mail of acme: {shown}" in [line["message"] for line in doctor_lines()]

    quota.max_send_rate = UNLIMITED
    quota.count(45_000, datetime.now(UTC))
    output, error = connect(fake, secret)
    level, text = findings(output)["quota"]
    assert (level, error) == ("warning", "")
    assert "46,234 of 50,000" in text
    assert "Request a higher one in the console" in text


def test_a_set_that_does_not_report_what_is_needed_is_told(fake: FakeSes, secret: Path) -> None:
    connect(fake, secret)
    clicks = (*event_documents.EVENT_TYPES, "CLICK")
    for types, words in (
        ((), "SES reports nothing of mail with main"),
        (("DELIVERY", "BOUNCE"), "SES does not report Send, Rendering failure, Reject, Complaint"),
        (clicks, "SES rewrites the links of mail with main, because an event destination asks for"),
    ):
        report_to_topic(fake, *types)
        found, error = check()
        level, text = found["events"]
        assert (level, error) == ("warning", ""), words
        assert words in text
