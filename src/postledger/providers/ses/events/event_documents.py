"""What SES, SNS and SQS are told so that SES reports to one topic, and it to one queue; pure."""

import json
from collections.abc import Iterable, Mapping, Sequence

from postledger.providers.ses.documents import EventDestinationState

# In the order of the console. Open and Click are never among them: see TRACKING_TYPES.
EVENT_TYPES = (
    "SEND",
    "RENDERING_FAILURE",
    "REJECT",
    "DELIVERY",
    "BOUNCE",
    "COMPLAINT",
    "DELIVERY_DELAY",
)
# For these SES rewrites the links of every mail, and adds a picture to it.
TRACKING_TYPES = ("OPEN", "CLICK")
RETENTION_SECONDS = 14 * 24 * 3600  # the longest that SQS has

_VERSION = "2012-10-17"


def write_topic_attributes(topic_arn: str, configuration_set: str) -> dict[str, str]:
    """Only SES may publish to the topic, and only for this configuration set."""
    _, partition, _, region, owner, _ = topic_arn.split(":")
    set_arn = f"arn:{partition}:ses:{region}:{owner}:configuration-set/{configuration_set}"
    policy = _write_policy(
        service="ses.amazonaws.com",
        action="sns:Publish",
        resource=topic_arn,
        condition={"StringEquals": {"AWS:SourceAccount": owner, "AWS:SourceArn": set_arn}},
    )
    return {"Policy": policy, "SignatureVersion": "2"}  # SHA-256


def write_queue_attributes(queue_arn: str, topic_arn: str) -> dict[str, str]:
    """Only this topic may send to the queue."""
    policy = _write_policy(
        service="sns.amazonaws.com",
        action="sqs:SendMessage",
        resource=queue_arn,
        condition={"ArnEquals": {"aws:SourceArn": topic_arn}},
    )
    return {"Policy": policy, "MessageRetentionPeriod": str(RETENTION_SECONDS)}


def write_destination(topic_arn: str) -> dict[str, object]:
    return {
        "Enabled": True,
        "MatchingEventTypes": list(EVENT_TYPES),
        "SnsDestination": {"TopicArn": topic_arn},
    }


def list_tracking_types(destinations: Iterable[EventDestinationState]) -> Sequence[str]:
    """The events among those asked for by which SES changes mail."""
    types = _collect_types(destinations)
    return [name for name in TRACKING_TYPES if name in types]


def list_missing_types(destinations: Iterable[EventDestinationState]) -> Sequence[str]:
    """The events that no topic gets."""
    types = _collect_types(item for item in destinations if item.sns_destination.topic_arn)
    return [name for name in EVENT_TYPES if name not in types]


def _collect_types(destinations: Iterable[EventDestinationState]) -> set[str]:
    return {name for item in destinations if item.enabled for name in item.matching_event_types}


def find_changes(wanted: Mapping[str, str], actual: Mapping[str, str]) -> dict[str, str]:
    """The attributes that have to be set; a policy may be written differently and mean the same."""
    return {
        name: value
        for name, value in wanted.items()
        if name not in actual or not _is_same(value, actual[name])
    }


def name_types(types: Iterable[str]) -> str:
    """As the console names them."""
    return ", ".join(name.replace("_", " ").capitalize() for name in types)


def _write_policy(
    *, service: str, action: str, resource: str, condition: Mapping[str, Mapping[str, str]]
) -> str:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": action,
        "Resource": resource,
        "Condition": condition,
    }
    return json.dumps({"Version": _VERSION, "Statement": [statement]})


def _is_same(wanted: str, actual: str) -> bool:
    return _parse(wanted) == _parse(actual)


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
