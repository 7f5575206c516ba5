"""What was set up for events: it is written to the journal, and read back after a restart."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from tools.fakes.events.disturbances import Disturbances
from tools.fakes.ses.account import Account, ConfigurationSet
from tools.fakes.ses.events.outcomes import Shares
from tools.fakes.ses.events.publisher import Publisher
from tools.fakes.ses.operations.event_destinations import EVENT_TYPES

DESTINATION = "events"  # the name of an event destination that `connect` makes


def connect(
    account: Account, topic_name: str, configuration_sets: Iterable[str], endpoints: Iterable[str]
) -> str:
    """The ARN of a topic that gets all events of these configuration sets.

    Its subscriptions, URLs or ARNs of queues, are confirmed already. What exists stays as it is.
    """
    topic = account.topics.create(topic_name)
    for endpoint in endpoints:
        protocol = "sqs" if endpoint.startswith("arn:") else endpoint.partition(":")[0]
        topic.subscribe(protocol, endpoint, is_confirmed=True)
    for name in configuration_sets:
        configuration_set = account.configuration_sets.setdefault(name, ConfigurationSet(name))
        if topic.arn not in configuration_set.list_topics():
            configuration_set.event_destinations[DESTINATION] = {
                "Enabled": True,
                "MatchingEventTypes": sorted(EVENT_TYPES),
                "SnsDestination": {"TopicArn": topic.arn},
            }
    return topic.arn


def write(account: Account, publisher: Publisher) -> Mapping[str, object]:
    return {
        "configuration_sets": [asdict(entry) for entry in account.configuration_sets.values()],
        "topics": [asdict(topic) for topic in account.topics.by_arn.values()],
        "events": asdict(publisher.disturbances),
        "reports": asdict(publisher.shares),
    }


def restore(document: Mapping[str, Any], account: Account, publisher: Publisher) -> None:
    account.configuration_sets.update(
        {entry["name"]: ConfigurationSet(**entry) for entry in document["configuration_sets"]}
    )
    account.topics.restore(document["topics"])
    publisher.disturb(Disturbances(**document["events"]))
    publisher.shares = Shares(**document["reports"])
