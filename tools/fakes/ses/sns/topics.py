"""The topics of SNS and their subscriptions, as values that can be written to the journal."""

import secrets
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

ACCOUNT_ID = "123456789012"


@dataclass(slots=True)
class Subscription:
    arn: str
    topic_arn: str
    protocol: str  # http, https or sqs
    endpoint: str  # a URL, or the ARN of a queue
    token: str = ""  # confirms it; empty when it is confirmed
    is_kept_for_owner: bool = False  # only a signed request may end it
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def is_confirmed(self) -> bool:
        return not self.token

    @property
    def is_raw(self) -> bool:
        """Whether messages come without an envelope, and so without a signature."""
        return self.attributes.get("RawMessageDelivery", "").lower() == "true"


@dataclass(slots=True)
class Topic:
    arn: str
    attributes: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    subscriptions: dict[str, Subscription] = field(default_factory=dict)  # by ARN

    @property
    def name(self) -> str:
        return self.arn.rpartition(":")[2]

    @property
    def signature_version(self) -> str:
        return self.attributes.get("SignatureVersion") or "1"

    def confirmed(self) -> list[Subscription]:
        return [entry for entry in self.subscriptions.values() if entry.is_confirmed]

    def find_endpoint(self, protocol: str, endpoint: str) -> Subscription | None:
        for subscription in self.subscriptions.values():
            if (subscription.protocol, subscription.endpoint) == (protocol, endpoint):
                return subscription
        return None

    def subscribe(self, protocol: str, endpoint: str, *, is_confirmed: bool) -> Subscription:
        """A new subscription; the same endpoint again is the same one."""
        existing = self.find_endpoint(protocol, endpoint)
        if existing is not None:
            return existing
        token = "" if is_confirmed else secrets.token_hex(64)
        arn = f"{self.arn}:{uuid.uuid4()}"
        self.subscriptions[arn] = Subscription(arn, self.arn, protocol, endpoint, token)
        return self.subscriptions[arn]


@dataclass(slots=True)
class Topics:
    region: str = "us-east-1"
    by_arn: dict[str, Topic] = field(default_factory=dict)

    def create(self, name: str) -> Topic:
        """The topic with this name, which may exist already."""
        arn = f"arn:aws:sns:{self.region}:{ACCOUNT_ID}:{name}"
        return self.by_arn.setdefault(arn, Topic(arn))

    def find_subscription(self, arn: str) -> Subscription | None:
        topic = self.by_arn.get(arn.rpartition(":")[0])
        return topic.subscriptions.get(arn) if topic else None

    def all_subscriptions(self) -> Iterator[Subscription]:
        for topic in self.by_arn.values():
            yield from topic.subscriptions.values()

    def restore(self, documents: list[dict[str, Any]]) -> None:
        """Adds topics as `dataclasses.asdict` wrote them."""
        for document in documents:
            subscriptions = {
                arn: Subscription(**fields) for arn, fields in document["subscriptions"].items()
            }
            topic = Topic(document["arn"], document["attributes"], document["tags"], subscriptions)
            self.by_arn[topic.arn] = topic
