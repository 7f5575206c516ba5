"""The query API of SNS, driven by the real client."""

from typing import Any

import httpx
import pytest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from tests.fakes import ses, sns
from tests.fakes.sns import Sink
from tests.fakes.wire import PATIENCE
from tools.drill.waiting import until
from tools.fakes.ses.server import FakeSes

LAST_WORD = "UnsubscribeConfirmation"


def test_an_endpoint_is_asked_first_and_confirmed_through_the_api(
    fake: FakeSes, sns_client: Any, sink: Sink
) -> None:
    topic_arn = sns_client.create_topic(Name="events", Attributes={"SignatureVersion": "2"})[
        "TopicArn"
    ]
    pending = sns_client.subscribe(TopicArn=topic_arn, Protocol="http", Endpoint=sink.url)
    [asked] = sink.wait(1)

    assert pending["SubscriptionArn"] == "pending confirmation"
    assert list_subscriptions(sns_client, topic_arn) == ["PendingConfirmation"]
    assert asked.headers["x-amz-sns-message-type"] == "SubscriptionConfirmation"
    assert asked.envelope["SignatureVersion"] == "2"
    sns.verify(asked.envelope)
    with pytest.raises(ClientError, match="Token"):
        sns_client.confirm_subscription(TopicArn=topic_arn, Token="another")

    confirmed = sns_client.confirm_subscription(
        TopicArn=topic_arn, Token=asked.envelope["Token"], AuthenticateOnUnsubscribe="true"
    )

    assert list_subscriptions(sns_client, topic_arn) == [confirmed["SubscriptionArn"]]


def list_subscriptions(sns_client: Any, topic_arn: str) -> list[str]:
    answer = sns_client.list_subscriptions_by_topic(TopicArn=topic_arn)
    return [subscription["SubscriptionArn"] for subscription in answer["Subscriptions"]]


def test_an_ended_subscription_gets_a_last_word_and_only_its_owner_ends_it(
    fake: FakeSes, sns_client: Any, sink: Sink
) -> None:
    topic = fake.service.account.topics.create("events")
    subscription = topic.subscribe("http", sink.url, is_confirmed=False)
    sns_client.confirm_subscription(
        TopicArn=topic.arn, Token=subscription.token, AuthenticateOnUnsubscribe="true"
    )
    link = {"Action": "Unsubscribe", "SubscriptionArn": subscription.arn}
    assert httpx.get(fake.endpoint, params=link, trust_env=False).status_code == 403
    assert list_subscriptions(sns_client, topic.arn) == [subscription.arn]

    sns_client.unsubscribe(SubscriptionArn=subscription.arn)

    until(lambda: any(post.envelope["Type"] == LAST_WORD for post in sink.posts), seconds=PATIENCE)
    sns.verify(sink.posts[-1].envelope)
    assert list_subscriptions(sns_client, topic.arn) == []
    sns_client.unsubscribe(SubscriptionArn=subscription.arn)  # has ended already


def test_topics_are_created_shown_changed_and_deleted(sns_client: Any) -> None:
    topic_arn = sns_client.create_topic(Name="events", Tags=[{"Key": "of", "Value": "us"}])[
        "TopicArn"
    ]
    assert sns_client.create_topic(Name="events")["TopicArn"] == topic_arn
    assert sns_client.list_topics()["Topics"] == [{"TopicArn": topic_arn}]

    sns_client.set_topic_attributes(
        TopicArn=topic_arn, AttributeName="SignatureVersion", AttributeValue="2"
    )
    sns_client.tag_resource(ResourceArn=topic_arn, Tags=[{"Key": "a", "Value": "<b>"}])
    shown = sns_client.get_topic_attributes(TopicArn=topic_arn)["Attributes"]
    assert (shown["TopicArn"], shown["SignatureVersion"]) == (topic_arn, "2")
    with pytest.raises(ClientError, match="SignatureVersion"):
        sns_client.create_topic(Name="other", Attributes={"SignatureVersion": "3"})
    with pytest.raises(sns_client.exceptions.InvalidParameterException, match="Name"):
        sns_client.create_topic(Name="no spaces")

    sns_client.delete_topic(TopicArn=topic_arn)
    sns_client.delete_topic(TopicArn=topic_arn)
    with pytest.raises(sns_client.exceptions.NotFoundException):
        sns_client.get_topic_attributes(TopicArn=topic_arn)


def test_requests_must_be_signed_for_sns_with_a_known_key(fake: FakeSes) -> None:
    wrong = Credentials(ses.CREDENTIALS.access_key, "wrong")
    unknown = Credentials("AKIAUNKNOWN", "wrong")
    for credentials, code in ((wrong, "SignatureDoesNotMatch"), (unknown, "InvalidClientTokenId")):
        client = sns.connect(fake.endpoint, credentials=credentials)
        with pytest.raises(ClientError) as caught:
            client.list_topics()
        assert caught.value.response["Error"]["Code"] == code
    unsigned = httpx.post(fake.endpoint, data={"Action": "ListTopics"}, trust_env=False)
    assert (unsigned.status_code, "MissingAuthenticationToken" in unsigned.text) == (403, True)
