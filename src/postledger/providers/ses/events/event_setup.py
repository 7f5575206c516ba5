"""Creates what SES needs in order to report to us: a topic, a queue or a URL, a destination.

Each step reads first and changes only what differs: a second run changes nothing, and what a run
left half done is completed by the next.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.providers.ses import aws_client
from postledger.providers.ses.documents import EventDestinationsState, EventDestinationState
from postledger.providers.ses.events import event_documents
from postledger.providers.ses.settings import SesSettings
from postledger.providers.set_up import Step, StepState

# SES lets about one such call a second through, and refuses the others.
_TRIES_OF_SES = 6
_TRIES = 3
_NO_QUEUE = frozenset(("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"))
PENDING = frozenset(("PendingConfirmation", "pending confirmation"))


class TrackingError(RefusedError):
    code = "tracking_enabled"


class Clients:
    """The three services of one account; one that is not needed is not opened."""

    def __init__(self, settings: SesSettings) -> None:
        self._settings = settings

    @cached_property
    def ses(self) -> Any:
        return aws_client.open_client(self._settings, "sesv2", tries=_TRIES_OF_SES)

    @cached_property
    def sns(self) -> Any:
        return aws_client.open_client(self._settings, "sns", tries=_TRIES)

    @cached_property
    def sqs(self) -> Any:
        return aws_client.open_client(self._settings, "sqs", tries=_TRIES)


# Stores a topic, with the URL of its queue, or with an empty one.
type Register = Callable[[str, str], None]


def create(
    clients: Clients, *, name: str, configuration_set: str, url: str, register: Register
) -> Iterator[Step]:
    """Raises AwsError, or TrackingError before anything is changed.

    The topic is registered before anything can come from it, and SES is told of it last: no event
    is published that nobody receives.
    """
    if url:
        subscriber: _Queue | _Url = _Url(url)
    else:
        subscriber = _Queue(clients.sqs, name)
    with aws_client.explaining_errors():
        destinations = list_destinations(clients.ses, configuration_set)
        _refuse_tracking(configuration_set, name, destinations or ())
        yield _ensure_set(clients.ses, configuration_set, is_present=destinations is not None)
        topic_arn, step = _ensure_topic(clients.sns, name, configuration_set)
        yield step
        yield from subscriber.prepare(topic_arn)
        register(topic_arn, subscriber.queue_url)
        yield _ensure_subscription(clients.sns, topic_arn, subscriber)
        own = next((item for item in destinations or () if item.name == name), None)
        yield _ensure_destination(clients.ses, name, configuration_set, topic_arn, own)


def list_destinations(ses: Any, configuration_set: str) -> list[EventDestinationState] | None:
    """None if there is no such configuration set."""
    try:
        answer = ses.get_configuration_set_event_destinations(
            ConfigurationSetName=configuration_set
        )
    except ClientError as error:
        if aws_client.find_code(error) != "NotFoundException":
            raise
        return None
    return EventDestinationsState.model_validate(answer).event_destinations


def find_queue(sqs: Any, name: str) -> str | None:
    """The URL of a queue."""
    try:
        answer = sqs.get_queue_url(QueueName=name)
    except ClientError as error:
        if aws_client.find_code(error) not in _NO_QUEUE:
            raise
        return None
    return str(answer["QueueUrl"])


def _refuse_tracking(
    configuration_set: str, name: str, destinations: Iterable[EventDestinationState]
) -> None:
    """Our own destination is corrected; that of somebody else is not ours to change."""
    for destination in destinations:
        tracked = event_documents.list_tracking_types([destination])
        if tracked and destination.name != name:
            raise TrackingError(
                say(
                    "The event destination %(destination)s of the configuration set %(name)s"
                    " reports %(types)s: for that SES rewrites the links of every mail, those to"
                    " unsubscribe included. Remove these events from it in the console, or name"
                    " another set with --configuration-set.",
                    destination=destination.name,
                    name=configuration_set,
                    types=event_documents.name_types(tracked),
                )
            )


def _ensure_set(ses: Any, name: str, *, is_present: bool) -> Step:
    if is_present:
        message = say("The configuration set %(name)s exists.", name=name)
        return Step("config-set", StepState.PRESENT, message)
    ses.create_configuration_set(ConfigurationSetName=name)
    message = say("Created the configuration set %(name)s.", name=name)
    return Step("config-set", StepState.DONE, message)


def _ensure_topic(sns: Any, name: str, configuration_set: str) -> tuple[str, Step]:
    """A topic whose policy is ours was finished before: CreateTopic does not tell."""
    topic_arn = sns.create_topic(Name=name)["TopicArn"]
    actual = sns.get_topic_attributes(TopicArn=topic_arn)["Attributes"]
    wanted = event_documents.write_topic_attributes(topic_arn, configuration_set)
    changes = event_documents.find_changes(wanted, actual)
    for attribute, value in changes.items():
        sns.set_topic_attributes(TopicArn=topic_arn, AttributeName=attribute, AttributeValue=value)
    message = say(
        "Only SES publishes to the SNS topic, for %(name)s alone.", name=configuration_set
    )
    return topic_arn, Step("topic", _state(changes), message)


class _Queue:
    """The way by SQS, which keeps what comes while we are away."""

    protocol = "sqs"
    message: str = say("The topic sends to the queue.")

    def __init__(self, sqs: Any, name: str) -> None:
        self._sqs = sqs
        self._name = name
        self.queue_url = ""
        self.endpoint = ""  # as SNS names it

    def prepare(self, topic_arn: str) -> Iterator[Step]:
        existing = find_queue(self._sqs, self._name)
        self.queue_url = existing or self._sqs.create_queue(QueueName=self._name)["QueueUrl"]
        actual = self._sqs.get_queue_attributes(
            QueueUrl=self.queue_url,
            AttributeNames=["QueueArn", "Policy", "MessageRetentionPeriod"],
        )["Attributes"]
        self.endpoint = actual["QueueArn"]
        wanted = event_documents.write_queue_attributes(self.endpoint, topic_arn)
        changes = event_documents.find_changes(wanted, actual)
        if changes:
            self._sqs.set_queue_attributes(QueueUrl=self.queue_url, Attributes=changes)
        message = say("Only the topic sends to the SQS queue, which keeps messages for 14 days.")
        yield Step("queue", _state(changes), message)


class _Url:
    """The way by HTTPS; SNS gives up after about a minute in which nobody answers."""

    queue_url = ""

    def __init__(self, url: str) -> None:
        self.protocol = urlsplit(url).scheme
        self.endpoint = url
        self.message = say("The topic posts to %(url)s.", url=url)

    def prepare(self, _topic_arn: str) -> Iterator[Step]:
        yield from ()


def _ensure_subscription(sns: Any, topic_arn: str, subscriber: _Queue | _Url) -> Step:
    arn = _find_subscription(sns, topic_arn, subscriber)
    if arn is None or arn in PENDING:
        # SNS asks a URL once more.
        answer = sns.subscribe(
            TopicArn=topic_arn, Protocol=subscriber.protocol, Endpoint=subscriber.endpoint
        )
        is_pending = answer.get("SubscriptionArn", "") in PENDING
        return _waiting(subscriber) if is_pending else _subscribed(subscriber, StepState.DONE)
    attributes = sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]
    if attributes.get("RawMessageDelivery") != "true":
        return _subscribed(subscriber, StepState.PRESENT)
    # Without its envelope a message has neither a topic nor an id.
    sns.set_subscription_attributes(
        SubscriptionArn=arn, AttributeName="RawMessageDelivery", AttributeValue="false"
    )
    return _subscribed(subscriber, StepState.DONE)


def _subscribed(subscriber: _Queue | _Url, state: StepState) -> Step:
    return Step("subscription", state, subscriber.message)


def _waiting(subscriber: _Queue | _Url) -> Step:
    return Step(
        "subscription",
        StepState.WAITING,
        say(
            "SNS asks %(url)s, and this installation confirms; run this again to see.",
            url=subscriber.endpoint,
        ),
    )


def _find_subscription(sns: Any, topic_arn: str, subscriber: _Queue | _Url) -> str | None:
    pages = sns.get_paginator("list_subscriptions_by_topic").paginate(TopicArn=topic_arn)
    arns = (
        str(item["SubscriptionArn"])
        for page in pages
        for item in page["Subscriptions"]
        if (item["Protocol"], item["Endpoint"]) == (subscriber.protocol, subscriber.endpoint)
    )
    # One that was refused or ran out may be listed beside that which holds.
    return min(arns, key=lambda arn: arn in PENDING, default=None)


def _ensure_destination(
    ses: Any, name: str, configuration_set: str, topic_arn: str, own: EventDestinationState | None
) -> Step:
    wanted = event_documents.write_destination(topic_arn)
    types = event_documents.name_types(event_documents.EVENT_TYPES)
    message = say("SES reports %(types)s.", types=types)
    if own is not None and _is_as_wanted(own, wanted):
        return Step("destination", StepState.PRESENT, message)
    change = (
        ses.create_configuration_set_event_destination
        if own is None
        else ses.update_configuration_set_event_destination
    )
    change(
        ConfigurationSetName=configuration_set,
        EventDestinationName=name,
        EventDestination=wanted,
    )
    return Step("destination", StepState.DONE, message)


def _is_as_wanted(own: EventDestinationState, wanted: Mapping[str, object]) -> bool:
    """SES may list the types in another order."""
    expected = EventDestinationState.model_validate({"Name": own.name, **wanted})
    types = set(own.matching_event_types)
    is_same_set = types == set(expected.matching_event_types)
    same_types = {"matching_event_types": expected.matching_event_types}
    return is_same_set and own.model_copy(update=same_types) == expected


def _state(changes: object) -> StepState:
    return StepState.DONE if changes else StepState.PRESENT
