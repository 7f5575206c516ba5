"""`postledger ses` and the doctor on a fake SES: each thing that can be wrong, and its remedy."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

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


def test_an_account_that_is_ready_is_created_with_its_sender_and_every_line_is_ok(
    fake: FakeSes, secret: Path, acme: int
) -> None:
    fake.service.account.identities["acme.example"].mail_from_domain = "bounce.acme.example"

    output, error = connect(fake, secret)

    assert not error
    assert output.splitlines() == [
        'Created account "mail" (ses) in workspace "acme".',
        f'Created sender {FROM} in workspace "acme".',
        f"warning  endpoint      The account talks to {fake.endpoint} on this machine, not to AWS.",
        (
            f"{'':23}Run postledger account update acme mail --unset endpoint. Region and keys"
            " have to be those of AWS then."
        ),
        "ok       access        SES in us-east-1 accepts the keys.",
        "ok       sending       Sending is enabled.",
        ("ok       quota         0 of any number sent in the last 24 hours; any number a second."),
        "ok       production    The account has production access.",
        "ok       identity      acme.example is verified.",
        "ok       dkim          Mail from acme.example is signed.",
        "ok       mail-from     bounce.acme.example is the MAIL FROM domain of acme.example.",
        "ok       config-set    The configuration set main exists.",
        (
            "ok       events        SES reports Send, Rendering failure, Reject, Delivery, Bounce,"
            " Complaint, Delivery delay."
        ),
        'Account "mail" can send.',
    ]
    [sender] = queries.senders(acme)
    assert sender.account
    assert (sender.address, sender.account.kind) == (FROM, "ses")
    assert sealing.unseal_settings(sender.account) == {
        "region": REGION,
        "configuration_set": "main",
        "endpoint": fake.endpoint,
        "access_key_id": ACCESS_KEY_ID,
        "secret_access_key": SECRET_ACCESS_KEY,
    }


def test_connecting_again_changes_what_is_named_and_checks_anew(
    fake: FakeSes, secret: Path
) -> None:
    fake.service.account.add_configuration_sets("other")
    connect(fake, secret)

    changed, _ = run("ses", "connect", "acme", "mail", "--configuration-set", "other")
    unchanged, _ = run("ses", "connect", "acme", "mail")

    assert changed.startswith('Updated account "mail" in workspace "acme".')
    assert "configuration set other exists" in changed
    assert unchanged.startswith("warning  endpoint")
    settings = sealing.unseal_settings(ProviderAccount.objects.get())
    assert settings["access_key_id"] == ACCESS_KEY_ID
    assert AuditEntry.objects.filter(action="account.updated").count() == 1


DOMAIN = Identity("acme.example")
TOKENS = "._domainkey.acme.example CNAME "

# What is wrong, in the words of the fake; then the line and the remedy.
WRONG_IDENTITIES = {
    "unverified": (
        replace(DOMAIN, verification=Status.PENDING, dkim=Status.PENDING),
        "identity",
        "problem",
        ["acme.example is not verified (PENDING)", "Publish these records in DNS", TOKENS],
    ),
    "dkim": (
        replace(DOMAIN, dkim=Status.PENDING),
        "dkim",
        "warning",
        ["is not signed (DKIM is PENDING)", "Publish these records in DNS", TOKENS],
    ),
    "mail-from": (
        replace(DOMAIN, mail_from_domain="bounce.acme.example", mail_from=Status.FAILED),
        "mail-from",
        "warning",
        [
            "The MAIL FROM domain bounce.acme.example is not in order (FAILED): amazonses.com",
            "bounce.acme.example MX 10 feedback-smtp.us-east-1.amazonses.com",
            'bounce.acme.example TXT "v=spf1 include:amazonses.com ~all"',
        ],
    ),
    "mail-from-refused": (
        replace(
            DOMAIN,
            mail_from_domain="bounce.acme.example",
            mail_from=Status.PENDING,
            rejects_on_mail_from_failure=True,
        ),
        "mail-from",
        "problem",
        ["(PENDING): SES refuses its mail", "bounce.acme.example MX 10"],
    ),
}


def test_an_identity_that_is_not_ready_is_told_with_the_records_to_publish(
    fake: FakeSes, secret: Path
) -> None:
    connect(fake, secret)
    for case, (identity, subject, level, words) in WRONG_IDENTITIES.items():
        fake.service.account.identities["acme.example"] = identity
        output, error = run("ses", "connect", "acme", "mail")

        found = findings(output)
        assert (found[subject][0], bool(error)) == (level, level == "problem"), case
        assert [word for word in words if word not in found[subject][1]] == [], case
        assert [name for name, (level_, _) in found.items() if level_ != "ok"] == [subject], case


def test_an_identity_that_does_not_exist_is_to_be_created(fake: FakeSes, secret: Path) -> None:
    fake.service.account.identities.clear()

    output, error = connect(fake, secret)

    level, text = findings(output)["identity"]
    assert level == "problem"
    assert "SES in us-east-1 has no identity acme.example" in text
    assert "create-email-identity --region us-east-1 --email-identity acme.example" in text
    assert error.startswith("The account is stored. Problems: 1.")


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


WRONG_ACCOUNTS: dict[str, tuple[dict[str, object], str, str, list[str]]] = {
    "sandbox": (
        {"has_production_access": False},
        "production",
        "problem",
        ["SES sends to verified addresses only", "Request production access"],
    ),
    "paused": (
        {"is_sending_enabled": False},
        "sending",
        "problem",
        ["Sending is paused for the account (HEALTHY)", "put-account-sending-attributes"],
    ),
    "shutdown": (
        {"enforcement_status": "SHUTDOWN"},
        "sending",
        "problem",
        ["Sending is paused for the account (SHUTDOWN)", "answer AWS's case"],
    ),
    "probation": (
        {"enforcement_status": "PROBATION"},
        "sending",
        "warning",
        ["AWS reviews the account (PROBATION)", "Reputation metrics"],
    ),
    "no-set": (
        {"configuration_sets": {}},
        "config-set",
        "problem",
        [
            "There is no configuration set main",
            "postledger account update acme mail --set configuration_set=CONFIGURATION_SET",
        ],
    ),
}


def test_an_account_that_cannot_send_is_told_with_what_to_do(fake: FakeSes, secret: Path) -> None:
    connect(fake, secret)
    account = fake.service.account
    for case, (changes, subject, level, words) in WRONG_ACCOUNTS.items():
        former = {name: getattr(account, name) for name in changes}
        change(account, changes)
        output, error = run("ses", "connect", "acme", "mail")
        change(account, former)

        found_level, text = findings(output)[subject]
        assert (found_level, bool(error)) == (level, level == "problem"), case
        assert [word for word in words if word not in text] == [], case


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


def test_wrong_keys_are_named_and_never_shown(
    fake: FakeSes, secret: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret.write_text("hunter2-hunter2")

    with caplog.at_level(logging.DEBUG):
        output, error = connect(fake, secret)

    [(level, text)] = findings(output).values()
    assert level == "problem"
    assert "SES refuses the keys: InvalidSignatureException" in text
    assert "--set access_key_id=ACCESS_KEY_ID --secret secret_access_key=-" in text
    shown = output + error + caplog.text + json.dumps(list(AuditEntry.objects.values("data")))
    assert "hunter2" not in shown
    assert SECRET_ACCESS_KEY not in shown


def test_a_region_or_a_scheme_that_is_not_that_of_the_endpoint_is_named_and_not_the_keys(
    fake: FakeSes, secret: Path
) -> None:
    elsewhere, _ = connect(fake, secret, "--region", "eu-west-1")
    https = fake.endpoint.replace("http:", "https:")
    encrypted, _ = connect(fake, secret, "--region", REGION, "--endpoint", https)

    [(level, text)] = findings(elsewhere).values()
    assert level == "problem"
    assert f"{fake.endpoint} is not in eu-west-1, the region of the account" in text
    assert "--set region=REGION --set endpoint=ENDPOINT. The keys need no change." in text
    assert "access_key_id" not in text
    [(level, text)] = findings(encrypted).values()
    assert level == "problem"
    assert f"If the server there speaks plain HTTP, the endpoint is {fake.endpoint}." in text


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


def test_a_secret_on_the_command_line_is_refused(fake: FakeSes, secret: Path) -> None:
    _, error = connect(fake, secret, "--set", "secret_access_key=hunter2")

    assert "secret_access_key is a secret, and other users can see a command line" in error
    assert "hunter2" not in error
    assert not ProviderAccount.objects.exists()


def test_an_ses_that_does_not_answer_is_told_once(fake: FakeSes, secret: Path) -> None:
    nobody, _ = connect(fake, secret, "--endpoint", f"http://{DEAD}")
    fake.set_faults(Rule(DelayAnswer(60), operation="GetAccount"))
    silent, _ = connect(fake, secret)

    [(nobody_level, nobody_text)] = findings(nobody).values()
    [(silent_level, silent_text)] = findings(silent).values()
    assert nobody_level == silent_level == "problem"
    assert "SES does not answer about the account: nothing takes connections" in nobody_text
    assert "--set region=REGION --set endpoint=ENDPOINT" in nobody_text
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


def test_a_question_that_was_throttled_is_asked_again(fake: FakeSes, secret: Path) -> None:
    fake.set_faults(Rule(AnswerError("TooManyRequestsException"), operation="Get*", times=1))

    _, error = connect(fake, secret)

    assert not error


def test_an_answer_that_ses_did_not_write_is_no_finding_about_the_identity(
    fake: FakeSes, secret: Path
) -> None:
    fake.set_faults(Rule(AnswerGateway(502), operation="GetEmailIdentity"))

    output, _ = connect(fake, secret)

    level, text = findings(output)["identity"]
    assert (level, text.splitlines()[-1]) == ("warning", "Try again later.")


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


def test_a_sender_without_an_account_gets_this_one_and_is_tried_again(
    fake: FakeSes, secret: Path
) -> None:
    run("sender", "create", "acme", FROM)
    block_sender()

    output, _ = connect(fake, secret)

    assert f'Mail of {FROM} is now sent through account "mail".' in output
    assert "is held" not in output


def block_sender() -> None:
    assert ledger.hold_sender(
        Sender.objects.get().pk,
        reason=Reason.SENDER_BLOCKED,
        actor="dispatcher",
        block=Block("SES_CREDENTIALS", Category.CONFIGURATION),
    )


def test_a_held_sender_is_named_and_new_settings_let_it_be_tried_again(
    fake: FakeSes, secret: Path
) -> None:
    connect(fake, secret)
    block_sender()

    unchanged, _ = run("ses", "connect", "acme", "mail")
    changed, _ = connect(fake, secret)

    assert f"to send again: postledger sender release acme {FROM}." in unchanged
    assert "is held" not in changed
    [[hold]] = mail_queries.find_sender_holds([Sender.objects.get().pk]).values()
    assert hold.until is not None
    assert hold.fails_at is None


def test_an_account_of_another_workspace_is_another_account(fake: FakeSes, secret: Path) -> None:
    globex = workspaces.create_workspace("globex", actor="test")
    connect(fake, secret)

    _, error = run("ses", "connect", "globex", "mail")

    assert "a new one needs --region" in error
    assert not queries.accounts(globex)
    _, unknown = run("ses", "connect", "initech", "mail")
    assert unknown.startswith("There is no workspace “initech”")


def test_without_a_sender_no_identity_is_checked_and_the_command_says_so(
    fake: FakeSes, secret: Path
) -> None:
    output, _ = run(
        *("ses", "connect", "acme", "mail", "--region", REGION, "--endpoint", fake.endpoint),
        *("--access-key-id", ACCESS_KEY_ID, "--secret", f"secret_access_key={secret}"),
    )

    level, text = findings(output)["identity"]
    assert level == "warning"
    assert text.splitlines() == [
        "No sender uses this account, so no identity was checked.",
        "Run postledger ses connect acme mail --from ADDRESS.",
    ]


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


def test_an_endpoint_on_this_machine_is_named_until_it_is_removed(
    fake: FakeSes, secret: Path
) -> None:
    connect(fake, secret)

    [found] = doctor()
    # With an endpoint, nobody asks AWS; without one, no test does.
    [warning] = [line for line in found["remedy"].splitlines() if "--unset" in line]
    run("account", "update", "acme", "mail", "--unset", "endpoint")
    unset = sealing.unseal_settings(ProviderAccount.objects.get())
    run("account", "update", "acme", "mail", "--set", "endpoint=")
    emptied = SesSettings.model_validate(sealing.unseal_settings(ProviderAccount.objects.get()))

    assert found["level"] == "warning"
    assert found["message"] == (
        f"The account mail of acme: The account talks to {fake.endpoint} on this machine,"
        " not to AWS."
    )
    assert warning.startswith("Run postledger account update acme mail --unset endpoint.")
    assert "endpoint" not in unset
    assert not emptied.actual_endpoint.is_here


def test_the_doctor_finds_the_same_and_shortens_addresses(fake: FakeSes, secret: Path) -> None:
    connect(fake, secret)
    [here] = doctor()
    fake.service.account.add_identities("only@globex.example")
    connect(fake, secret, "--from", "only@globex.example")
    fake.service.account.identities["acme.example"].verification = Status.FAILED

    _, unverified, unsigned = doctor()

    assert "on this machine, not to AWS" in here["message"]
    assert unverified["level"] == "problem"
    assert unverified["message"].startswith(
        "The account mail of acme: acme.example is not verified (FAILED)"
    )
    assert TOKENS in unverified["remedy"]
    assert unsigned["level"] == "warning"
    assert "Mail from o***@globex.example is not signed" in unsigned["message"]
    assert "only@" not in unsigned["remedy"]


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
        output, error = run("ses", "connect", "acme", "mail")
        level, text = findings(output)["events"]
        assert (level, error) == ("warning", ""), words
        assert words in text
