"""Removes what `event_setup` created for an account, and says what it leaves."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from postledger.providers.ses import aws_client
from postledger.providers.ses.events import event_setup
from postledger.providers.ses.events.event_setup import Clients
from postledger.providers.set_up import Step, StepState

_COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


def remove(
    clients: Clients, *, name: str, configuration_set: str, has_queue: bool, is_set_idle: bool
) -> Iterator[Step]:
    """Raises AwsError. Only what has our name is removed.

    SES is told first, so that nothing new comes. A queue stays while messages wait in it, and a
    configuration set while mail may still name it: a later run removes them.
    """
    with aws_client.explaining_errors():
        yield _remove_destination(clients.ses, name, configuration_set)
        queue_url = event_setup.find_queue(clients.sqs, name) if has_queue else None
        waiting_count = _count_messages(clients.sqs, queue_url) if queue_url else 0
        if waiting_count:
            yield Step(
                "queue",
                StepState.LEFT,
                f"About {waiting_count} messages wait in the queue, and the topic stays with it:"
                " run this again when the workers have read them.",
            )
        else:
            yield _remove_topic(clients.sns, name)
            if has_queue:
                yield _remove_queue(clients.sqs, queue_url)
        yield _remove_set(clients.ses, name, configuration_set, is_idle=is_set_idle)


def _remove_destination(ses: Any, name: str, configuration_set: str) -> Step:
    destinations = event_setup.list_destinations(ses, configuration_set) or ()
    if not any(destination.name == name for destination in destinations):
        return Step("destination", StepState.ABSENT, "SES has no event destination of ours.")
    ses.delete_configuration_set_event_destination(
        ConfigurationSetName=configuration_set, EventDestinationName=name
    )
    message = f"SES no longer reports mail with {configuration_set} to the topic."
    return Step("destination", StepState.DONE, message)


def _count_messages(sqs: Any, queue_url: str) -> int:
    attributes = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=list(_COUNTS))
    return sum(int(attributes["Attributes"].get(name, 0)) for name in _COUNTS)


def _remove_topic(sns: Any, name: str) -> Step:
    """Its subscriptions go with it."""
    pages = sns.get_paginator("list_topics").paginate()
    arns = [item["TopicArn"] for page in pages for item in page["Topics"]]
    own = [arn for arn in arns if arn.endswith(f":{name}")]
    for arn in own:
        sns.delete_topic(TopicArn=arn)
    if own:
        return Step("topic", StepState.DONE, "Deleted the SNS topic with its subscriptions.")
    return Step("topic", StepState.ABSENT, "There is no SNS topic of ours.")


def _remove_queue(sqs: Any, queue_url: str | None) -> Step:
    if queue_url is None:
        return Step("queue", StepState.ABSENT, "There is no SQS queue of ours.")
    sqs.delete_queue(QueueUrl=queue_url)
    return Step("queue", StepState.DONE, "Deleted the SQS queue, which was empty.")


def _remove_set(ses: Any, name: str, configuration_set: str, *, is_idle: bool) -> Step:
    if configuration_set != name:
        message = f"The configuration set {configuration_set} is not of our making."
        return Step("config-set", StepState.LEFT, message)
    if event_setup.list_destinations(ses, name):
        message = f"The configuration set {name} has other event destinations."
        return Step("config-set", StepState.LEFT, message)
    if not is_idle:
        message = (
            f"Mail on its way may name the configuration set {name}: run this again in a minute."
        )
        return Step("config-set", StepState.LEFT, message)
    try:
        ses.delete_configuration_set(ConfigurationSetName=name)
    except ClientError as error:
        if aws_client.find_code(error) != "NotFoundException":
            raise
        return Step("config-set", StepState.ABSENT, "There is no configuration set of ours.")
    return Step("config-set", StepState.DONE, f"Deleted the configuration set {name}.")
