"""A topic belongs to one account; it is heard as soon as it is registered, and removed for good."""

import pytest

from postledger.accounts import provider_accounts
from postledger.accounts.models import AuditEntry
from postledger.accounts.provider_accounts import AccountUnknownError
from postledger.feedback import topics
from postledger.feedback.topics import InvalidTopicError, QueueTakenError, TopicTakenError
from tests.feedback.topics import listen, new_account, new_arn

pytestmark = pytest.mark.django_db

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/events"


def register(ids: tuple[int, int], arn: str, queue_url: str = "") -> int:
    return topics.register_topic(*ids, arn=arn, queue_url=queue_url, actor="alice")


def test_a_topic_is_heard_as_soon_as_it_is_registered_and_gets_another_queue() -> None:
    arn, ids = new_arn(), new_account()
    assert topics.find_topic(arn) is None

    topic_id = register(ids, arn)

    topic = topics.find_topic(arn)
    assert topic is not None
    assert (topic.id, topic.workspace_id, topic.account_id) == (topic_id, *ids)
    assert topic.certificate_origin == "https://sns.eu-west-1.amazonaws.com"
    assert register(ids, arn, QUEUE) == topic_id
    [row] = topics.list_topics(ids[1])
    assert (row.arn, row.queue_url) == (arn, QUEUE)
    entries = AuditEntry.objects.filter(workspace_id=ids[0], action="topic.registered")
    assert [entry.data["queue_url"] for entry in entries.order_by("pk")] == ["", QUEUE]


def test_a_topic_or_a_queue_of_another_account_is_refused() -> None:
    arn = new_arn()
    listen(arn, queue_url=QUEUE)

    for workspace in ("acme", "globex"):
        with pytest.raises(TopicTakenError, match="Another account"):
            register(new_account(workspace), arn)
    with pytest.raises(QueueTakenError):
        register(new_account(), new_arn(), QUEUE)


def test_a_removed_topic_is_free_for_others() -> None:
    arn, ids = new_arn(), new_account()
    register(ids, arn)

    assert topics.remove_topic(*ids, arn=arn, actor="alice")
    assert not topics.remove_topic(*ids, arn=arn, actor="alice")

    assert topics.find_topic(arn) is None
    assert topics.list_topics(ids[1]) == []
    assert register(new_account("globex"), arn)
    assert AuditEntry.objects.get(action="topic.removed").data == {"arn": arn}


def test_another_workspace_neither_registers_for_an_account_nor_removes_its_topic() -> None:
    arn, (acme, account_id), (globex, _) = new_arn(), new_account(), new_account("globex")
    register((acme, account_id), arn)

    with pytest.raises(AccountUnknownError):
        register((globex, account_id), new_arn())
    assert not topics.remove_topic(globex, account_id, arn=arn, actor="mallory")


def test_an_arn_that_cannot_be_the_accounts_is_refused() -> None:
    ids = new_account()
    for arn in (
        "",
        "arn:aws:sqs:eu-west-1:123456789012:events",
        "arn:aws:sns:eu-west-1:123456789012:events.fifo",
        "arn:aws:sns:s3-us-west-2.x:123456789012:events",
        "arn:aws:sns:cn-north-1:123456789012:events",
        "arn:aws-cn:sns:eu-west-1:123456789012:events",
        "arn:aws:sns:us-east-1:123456789012:another-region",
        "arn:aws:sns:eu-west-1:123456789012:events\n",
    ):
        with pytest.raises(InvalidTopicError):
            register(ids, arn)


def test_a_queue_on_another_host_is_refused() -> None:
    ids = new_account()
    for queue_url in (
        "https://sqs.us-east-1.amazonaws.com/123456789012/events",
        "https://sqs.eu-west-1.amazonaws.com.evil.example/123456789012/events",
        "https://user@sqs.eu-west-1.amazonaws.com/123456789012/events",
        "http://sqs.eu-west-1.amazonaws.com/123456789012/events",
        "https://sqs.eu-west-1.amazonaws.com/",
        "https://[",
    ):
        with pytest.raises(InvalidTopicError, match="URL must begin with"):
            register(ids, new_arn(), queue_url)


def test_an_account_of_another_kind_has_no_topics_and_a_stand_in_for_ses_no_queues() -> None:
    workspace_id, _ = new_account()
    account_id = provider_accounts.create_account(
        workspace_id, name="box", kind="sandbox", settings={}, actor="alice"
    )

    with pytest.raises(InvalidTopicError, match="kind ses"):
        register((workspace_id, account_id), new_arn())
    with pytest.raises(InvalidTopicError, match="sqs_endpoint"):
        register(new_account(endpoint="http://127.0.0.1:9"), new_arn(), QUEUE)
