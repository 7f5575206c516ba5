"""The fake publishes events of accepted mail as SES and SNS do."""

import json
from collections import Counter
from typing import Any

import pytest

from tests.fakes import ses, sns
from tests.fakes.sns import Sink
from tools.fakes.events.disturbances import Disturbances
from tools.fakes.ses import set_up
from tools.fakes.ses.server import FakeSes


@pytest.fixture
def topic(fake: FakeSes, sink: Sink) -> str:
    """A topic with all events of the set `main`, which go to the sink."""
    return set_up.connect(fake.service.account, "events", ["main"], [sink.url])


def send(client: Any, *recipients: str, **more: Any) -> str:
    answer = client.send_email(**ses.mail(*recipients, ConfigurationSetName="main", **more))
    return str(answer["MessageId"])


def test_a_mail_is_reported_with_its_tags_in_a_signed_envelope(
    fake: FakeSes, client: Any, topic: str, sink: Sink
) -> None:
    tags = [{"Name": "postledger-id", "Value": "abc_1_def"}]
    message_id = send(client, EmailTags=tags)

    posts = sink.wait(2)

    events = {post.event["eventType"]: post.event for post in posts}
    sent, delivered = events["Send"], events["Delivery"]
    assert sent["mail"]["messageId"] == message_id
    assert sent["mail"]["destination"] == [ses.RECIPIENT]
    assert sent["mail"]["tags"]["postledger-id"] == ["abc_1_def"]
    assert sent["mail"]["tags"]["ses:configuration-set"] == ["main"]
    assert sent["mail"]["commonHeaders"]["subject"] == "Hi"
    assert {"name": "Message-ID", "value": "<1@acme.example>"} in sent["mail"]["headers"]
    assert delivered["delivery"]["recipients"] == [ses.RECIPIENT]
    for post in posts:
        assert post.headers["x-amz-sns-message-type"] == "Notification"
        assert post.headers["x-amz-sns-topic-arn"] == post.envelope["TopicArn"] == topic
        assert post.headers["x-amz-sns-message-id"] == post.envelope["MessageId"]
        assert post.envelope["SigningCertURL"].startswith(f"{fake.endpoint}/")
        sns.verify(post.envelope)


def test_the_address_decides_which_events_follow(client: Any, topic: str, sink: Sink) -> None:
    client.put_suppressed_destination(EmailAddress="listed@example.com", Reason="BOUNCE")
    for address, events in [
        ("ann@example.com", ["Send", "Delivery"]),
        ("success@simulator.amazonses.com", ["Send", "Delivery"]),
        ("bounce@simulator.amazonses.com", ["Send", "Bounce Permanent/General"]),
        (
            "suppressionlist@simulator.amazonses.com",
            ["Send", "Bounce Permanent/OnAccountSuppressionList"],
        ),
        ("ooto@simulator.amazonses.com", ["Send", "Delivery", "Bounce Transient/General"]),
        ("complaint@simulator.amazonses.com", ["Send", "Delivery", "Complaint abuse"]),
        ("bounce+7@example.com", ["Send", "Bounce Permanent/General"]),
        ("softbounce+7@example.com", ["Send", "Bounce Transient/MailboxFull"]),
        ("complaint+7@example.com", ["Send", "Delivery", "Complaint abuse"]),
        ("notspam@example.com", ["Send", "Delivery", "Complaint not-spam"]),
        ("drop@example.com", ["Send", "Reject"]),
        ("delay@example.com", ["Send", "DeliveryDelay", "Delivery"]),
        ("listed@example.com", ["Send", "Bounce Permanent/OnAccountSuppressionList"]),
    ]:
        sink.posts.clear()

        send(client, address)

        sink.wait(len(events))
        # SNS promises no order.
        described = Counter(describe(event) for event in sink.events())
        assert described == Counter(events), address


def describe(event: dict[str, Any]) -> str:
    match event:
        case {"eventType": "Bounce", "bounce": bounce}:
            return f"Bounce {bounce['bounceType']}/{bounce['bounceSubType']}"
        case {"eventType": "Complaint", "complaint": complaint}:
            return f"Complaint {complaint['complaintFeedbackType']}"
        case _:
            return str(event["eventType"])


def test_recipients_with_one_outcome_share_an_event(client: Any, topic: str, sink: Sink) -> None:
    send(client, "ann@example.com", "bounce@example.com", "bob@example.com")

    sink.wait(3)

    events = {event["eventType"]: event for event in sink.events()}
    assert len(events["Send"]["mail"]["destination"]) == 3
    assert events["Delivery"]["delivery"]["recipients"] == ["ann@example.com", "bob@example.com"]
    bounced = events["Bounce"]["bounce"]["bouncedRecipients"]
    assert [recipient["emailAddress"] for recipient in bounced] == ["bounce@example.com"]


def test_only_events_of_matching_types_are_published(
    fake: FakeSes, client: Any, sns_client: Any, sink: Sink
) -> None:
    topic_arn = sns_client.create_topic(Name="bounces")["TopicArn"]
    fake.service.account.topics.by_arn[topic_arn].subscribe("http", sink.url, is_confirmed=True)
    client.create_configuration_set(ConfigurationSetName="main")
    client.create_configuration_set_event_destination(
        ConfigurationSetName="main",
        EventDestinationName="bounces",
        EventDestination={
            "Enabled": True,
            "MatchingEventTypes": ["BOUNCE"],
            "SnsDestination": {"TopicArn": topic_arn},
        },
    )
    [validated] = sink.wait(1)
    assert validated.envelope["Message"] == (
        "Successfully validated SNS topic for Amazon SES event publishing."
    )
    sns.verify(validated.envelope)

    send(client, "ann@example.com")
    send(client, "bounce@example.com")

    assert [post.event["eventType"] for post in sink.wait(2)[1:]] == ["Bounce"]


def create_queue(sqs: Any, name: str) -> tuple[str, str]:
    """Its URL, and its ARN."""
    queue_url = sqs.create_queue(QueueName=name)["QueueUrl"]
    attributes = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])
    return queue_url, attributes["Attributes"]["QueueArn"]


def test_a_queue_gets_the_same_envelopes(fake: FakeSes, client: Any, queue_endpoint: str) -> None:
    """Also those that are too large to be sent together."""
    sqs = sns.connect(queue_endpoint, "sqs")
    queue_url, queue_arn = create_queue(sqs, "events")
    fake.service.publisher.fanout.sqs_endpoint = queue_endpoint
    set_up.connect(fake.service.account, "events", ["main"], [queue_arn])
    fake.service.publisher.disturb(Disturbances(is_paused=True))
    large = b"X-Large: " + b"\\" * 9_000 + b"\r\n" + ses.RAW
    for number in range(12):
        send(client, f"r{number}@example.com", raw=large if number % 2 else ses.RAW)

    fake.run(resume(fake))

    envelopes = [json.loads(body) for body in sns.receive(sqs, queue_url, 24)]
    assert len({envelope["MessageId"] for envelope in envelopes}) == 24
    assert fake.service.publisher.counts["failed"] == 0
    for envelope in envelopes[:2]:
        sns.verify(envelope)


async def resume(fake: FakeSes) -> None:
    fake.service.publisher.disturb(Disturbances())


def test_a_raw_subscription_gets_the_event_alone(
    fake: FakeSes, client: Any, topic: str, sink: Sink, queue_endpoint: str
) -> None:
    sqs = sns.connect(queue_endpoint, "sqs")
    queue_url, queue_arn = create_queue(sqs, "raw")
    fake.service.publisher.fanout.sqs_endpoint = queue_endpoint
    set_up.connect(fake.service.account, "events", ["main"], [queue_arn])
    for subscription in fake.service.account.topics.by_arn[topic].confirmed():
        subscription.attributes["RawMessageDelivery"] = "true"

    send(client)

    posts = sink.wait(2)
    assert {post.headers["x-amz-sns-rawdelivery"] for post in posts} == {"true"}
    bodies = sns.receive(sqs, queue_url, 2)
    assert {post.body.decode() for post in posts} == set(bodies)
    assert {json.loads(body)["eventType"] for body in bodies} == {"Send", "Delivery"}
