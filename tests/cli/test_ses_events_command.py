"""`postledger ses connect --create` and `--remove`, on a fake of SES and SNS and on moto's SQS."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from moto.server import ThreadedMotoServer

from postledger.accounts import sealing, workspaces
from postledger.accounts.models import AuditEntry, ProviderAccount
from postledger.feedback import topics
from postledger.feedback.models import Topic
from postledger.providers import set_up
from postledger.providers.ses import aws_client
from postledger.providers.ses.events import event_documents
from postledger.providers.ses.settings import SesSettings
from tests.cli.installations import DEAD
from tools.fakes.http.faults import AnswerError, Rule
from tools.fakes.http.server import serving_in_thread
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

pytestmark = pytest.mark.django_db

FROM = "news@acme.example"
URL = "http://127.0.0.1:9/ses-events"  # where nobody answers
TYPES = {
    *("SEND", "REJECT", "BOUNCE", "COMPLAINT"),
    *("DELIVERY", "DELIVERY_DELAY", "RENDERING_FAILURE"),
}


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def fake() -> Iterator[FakeSes]:
    with serving_in_thread(FakeSes()) as fake:
        fake.service.account.add_identities("acme.example")
        yield fake


@pytest.fixture(autouse=True)
def secret(tmp_path: Path, fake: FakeSes, moto: str) -> None:
    """An account that sends, and of whose mail SES reports nothing."""
    workspaces.create_workspace("acme", actor="test")
    file = tmp_path / "secret"
    file.write_text(SECRET_ACCESS_KEY)
    run(
        *("connect", "acme", "mail", "--region", "us-east-1", "--from", FROM),
        *("--endpoint", fake.endpoint, "--set", f"sqs_endpoint={moto}"),
        *("--access-key-id", ACCESS_KEY_ID, "--secret", f"secret_access_key={file}"),
    )


def run(*arguments: str) -> tuple[str, str]:
    out = StringIO()
    try:
        call_command("ses", *arguments, stdout=out, stderr=StringIO())
    except CommandError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), ""


def connect(*options: str) -> tuple[dict[str, str], str]:
    """The state of each step by its subject, and the error."""
    output, error = run("connect", "acme", "mail", *options)
    return read_steps(output), error


def read_steps(output: str) -> dict[str, str]:
    states = {"done", "already there", "waiting", "not there", "left"}
    return {
        line[15:29].strip(): line[:15].strip()
        for line in output.splitlines()
        if line[:15].strip() in states
    }


def settings() -> SesSettings:
    return SesSettings.model_validate(sealing.unseal_settings(ProviderAccount.objects.get()))


def sqs() -> Any:
    return aws_client.open_client(settings(), "sqs")


def own_topic(fake: FakeSes) -> Any:
    [topic] = fake.service.account.topics.by_arn.values()
    return topic


def snapshot(fake: FakeSes) -> object:
    """All that was created, anywhere."""
    account, [listened] = fake.service.account, topics.list_topics(ProviderAccount.objects.get().pk)
    queue = sqs().get_queue_attributes(QueueUrl=listened.queue_url, AttributeNames=["All"])
    return (
        {name: item.event_destinations for name, item in account.configuration_sets.items()},
        own_topic(fake).attributes,
        [(item.protocol, item.endpoint) for item in own_topic(fake).subscriptions.values()],
        {name: queue["Attributes"].get(name) for name in ("Policy", "MessageRetentionPeriod")},
        (listened.arn, listened.queue_url),
        settings(),
    )


def test_create_makes_what_ses_needs_to_report_and_lets_nobody_else_publish(fake: FakeSes) -> None:
    steps, error = connect("--create")

    assert not error
    assert set(steps.values()) == {"done"}
    assert [*steps] == ["config-set", "topic", "queue", "subscription", "destination", "account"]
    [listened] = Topic.objects.all()
    topic, name = own_topic(fake), settings().configuration_set
    assert (listened.arn, topic.name) == (topic.arn, name)
    assert name.startswith("postledger-acme-mail-")
    [statement] = json.loads(topic.attributes["Policy"])["Statement"]
    assert statement["Principal"] == {"Service": "ses.amazonaws.com"}
    assert statement["Condition"]["StringEquals"] == {
        "AWS:SourceAccount": "123456789012",
        "AWS:SourceArn": f"arn:aws:ses:us-east-1:123456789012:configuration-set/{name}",
    }
    assert topic.signature_version == "2"
    queue = sqs().get_queue_attributes(QueueUrl=listened.queue_url, AttributeNames=["All"])
    [statement] = json.loads(queue["Attributes"]["Policy"])["Statement"]
    assert statement["Condition"] == {"ArnEquals": {"aws:SourceArn": topic.arn}}
    assert statement["Action"] == "sqs:SendMessage"
    assert queue["Attributes"]["MessageRetentionPeriod"] == str(14 * 24 * 3600)
    [subscription] = topic.subscriptions.values()
    assert subscription.endpoint == queue["Attributes"]["QueueArn"]
    assert not subscription.is_raw
    [created] = fake.service.account.configuration_sets.values()
    [destination] = created.event_destinations.values()
    assert destination["Enabled"]
    assert set(destination["MatchingEventTypes"]) == TYPES
    assert not TYPES & set(event_documents.TRACKING_TYPES)  # neither opens nor clicks
    before, audit_count = snapshot(fake), AuditEntry.objects.count()
    output, _ = run("connect", "acme", "mail", "--create")
    assert "ok       events        SES reports Send," in output

    assert set(read_steps(output).values()) == {"already there"}
    assert snapshot(fake) == before
    assert AuditEntry.objects.count() == audit_count


def test_what_a_run_left_half_done_is_completed_by_the_next(fake: FakeSes) -> None:
    for operation in (
        "CreateConfigurationSet",
        "CreateTopic",
        "SetTopicAttributes",
        "Subscribe",
        "CreateConfigurationSetEventDestination",
    ):
        fake.set_faults(Rule(AnswerError("AccessDeniedException"), operation=operation))
        _, error = connect("--create")
        assert f"AWS refuses {operation} (AccessDeniedException)" in error
        assert "postledger ses policy" in error
        assert not settings().configuration_set, operation
    fake.set_faults()

    steps, error = connect("--create")

    assert not error
    assert steps["destination"] == "done"
    completed = snapshot(fake)
    connect("--create")
    assert snapshot(fake) == completed


@pytest.mark.slow
def test_a_queue_service_that_does_not_answer_stops_the_set_up_until_the_next_run(
    fake: FakeSes, moto: str
) -> None:
    _, error = connect("--create", "--set", f"sqs_endpoint=http://{DEAD}")
    assert error.startswith("AWS was not reached")
    _, error = connect("--create", "--set", f"sqs_endpoint={moto}")
    assert not error

    _, error = connect("--create", "--set", "sqs_endpoint=")
    assert "no stand-in for SQS is named" in error


def test_a_set_whose_links_ses_rewrites_is_refused_before_anything_is_created(
    fake: FakeSes,
) -> None:
    fake.service.account.add_configuration_sets("main")
    theirs = {**event_documents.write_destination("arn:aws:sns:us-east-1:123456789012:theirs")}
    fake.service.account.configuration_sets["main"].event_destinations["theirs"] = theirs
    for event in event_documents.TRACKING_TYPES:
        theirs["MatchingEventTypes"] = ["BOUNCE", event]
        steps, error = connect("--create", "--configuration-set", "main")
        words = f"destination theirs of the configuration set main reports {event.title()}"
        assert words in error
        assert not steps, event
    assert not fake.service.account.topics.by_arn
    assert not Topic.objects.exists()


def test_what_somebody_changed_of_what_was_created_is_corrected(fake: FakeSes) -> None:
    connect("--create")
    before = snapshot(fake)
    [listened] = Topic.objects.all()
    sqs().set_queue_attributes(
        QueueUrl=listened.queue_url, Attributes={"MessageRetentionPeriod": "60"}
    )
    [subscription] = own_topic(fake).subscriptions.values()
    subscription.attributes["RawMessageDelivery"] = "true"
    [created] = fake.service.account.configuration_sets.values()
    [destination] = created.event_destinations.values()
    destination["MatchingEventTypes"].append("OPEN")

    steps, error = connect("--create")

    assert not error
    assert {steps[name] for name in ("queue", "subscription", "destination")} == {"done"}
    assert not subscription.is_raw
    assert set(created.event_destinations[created.name]["MatchingEventTypes"]) == TYPES
    assert snapshot(fake) == before


def test_a_url_waits_for_its_confirmation_and_needs_no_queue_but_leaves_one_as_it_is(
    fake: FakeSes, moto: str
) -> None:
    connect("--set", "sqs_endpoint=")
    first, error = connect("--create", "--url", URL)
    assert not error
    [subscription] = own_topic(fake).subscriptions.values()
    subscription.token = ""
    second, _ = connect("--create", "--url", URL)

    assert (first["subscription"], second["subscription"]) == ("waiting", "already there")
    assert "queue" not in first
    assert (subscription.protocol, subscription.endpoint) == ("http", URL)
    assert not Topic.objects.get().queue_url

    connect("--create", "--set", f"sqs_endpoint={moto}")
    queue_url = Topic.objects.get().queue_url
    connect("--create", "--url", URL)
    assert queue_url
    assert Topic.objects.get().queue_url == queue_url
    assert {item.protocol for item in own_topic(fake).subscriptions.values()} == {"sqs", "http"}


def test_what_cannot_be_meant_is_refused(fake: FakeSes) -> None:
    posts = "SNS posts over HTTPS only"
    refused: list[tuple[tuple[str, ...], str]] = [
        (("--create", "--url", "mail.acme.example/ses-events"), posts),
        (("--create", "--url", "https://a:b@acme.example/"), posts),
        (("--create", "--url", "https://[x/ses-events"), posts),
        (("--create", "--url", "https://acme.example:99999/"), posts),
        (("--create", "--url", "https://acme example/"), posts),
        (("--url", URL), "--url belongs to --create"),
        (("--create", "--queue", URL), "--queue to --topic"),
        (("--create", "--remove"), "not allowed with argument"),
        (("--topic", "arn:aws:sns:eu-west-1:123456789012:other"), "The topic is in eu-west-1"),
    ]
    for options, words in refused:
        steps, error = connect(*options)
        assert words in error
        assert not steps, options
    assert not fake.service.account.topics.by_arn

    stored = ProviderAccount.objects.get()  # plain HTTP is for a fake alone
    public = {**sealing.unseal_settings(stored), "endpoint": "", "sqs_endpoint": ""}
    ProviderAccount.objects.update(sealed_settings=sealing.seal(stored.workspace_id, public))
    _, error = connect("--create", "--url", URL)
    assert posts in error


def test_a_topic_that_somebody_made_is_listened_to_and_stays_when_it_is_removed(
    fake: FakeSes,
) -> None:
    theirs = fake.service.account.topics.create("theirs")

    steps, error = connect("--topic", theirs.arn)
    assert (steps, error) == ({"topic": "done"}, "")
    assert Topic.objects.get().arn == theirs.arn
    steps, error = connect("--remove")

    assert not error
    assert steps["account"] == "left"
    assert theirs.arn in fake.service.account.topics.by_arn
    assert not Topic.objects.filter(removed_at=None).exists()


def test_remove_undoes_what_was_created_and_leaves_the_set_of_somebody_else(
    fake: FakeSes,
) -> None:
    fake.service.account.add_configuration_sets("main")
    connect("--create", "--configuration-set", "main")
    listened = Topic.objects.get()
    sqs().send_message(QueueUrl=listened.queue_url, MessageBody="an event")

    first, error = connect("--remove")  # the queue is read on until it is empty
    assert not error
    assert (first["destination"], first["queue"]) == ("done", "left")
    assert [topic.queue_url for topic in topics.list_topics(listened.account_id)] == [
        listened.queue_url
    ]
    sqs().purge_queue(QueueUrl=listened.queue_url)
    second, error = connect("--remove")
    again, _ = connect("--remove")

    assert not error
    assert {name: second[name] for name in ("queue", "config-set", "account")} == {
        "queue": "done",
        "config-set": "left",
        "account": "done",
    }
    assert not fake.service.account.topics.by_arn
    assert fake.service.account.configuration_sets["main"].event_destinations == {}
    assert listened.queue_url not in sqs().list_queues().get("QueueUrls", [])
    assert not Topic.objects.filter(removed_at=None).exists()
    assert settings().configuration_set == "main"
    assert set(again.values()) == {"not there", "left"}


def test_our_own_set_goes_when_no_mail_can_name_it_any_more(fake: FakeSes) -> None:
    connect("--create")

    first, error = connect("--remove")
    assert not error
    assert first["config-set"] == "left"
    assert not settings().configuration_set
    assert fake.service.account.configuration_sets
    ProviderAccount.objects.update(updated_at=datetime.now(UTC) - timedelta(minutes=2))
    second, error = connect("--remove")

    assert not error
    assert second["config-set"] == "done"
    assert not fake.service.account.configuration_sets


def test_names_in_aws_tell_accounts_apart_that_look_alike() -> None:
    long = "ä b/c" * 20

    names = {set_up.name_resources(long, "mail", tag) for tag in ("1a2b3c4d", "5e6f7a8b")}

    assert len(names) == 2
    assert max(map(len, names)) <= 64
    assert all(name.replace("-", "").isalnum() and name.isascii() for name in names)
