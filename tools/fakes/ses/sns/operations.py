"""The operations of SNS that the fake has; each changes topics and says what is to be posted."""

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from tools.fakes.ses.errors import SesError
from tools.fakes.ses.sns.certificate import VERSIONS
from tools.fakes.ses.sns.envelopes import NoticeType
from tools.fakes.ses.sns.queries import Field, Form, list_entries, list_members, read_map
from tools.fakes.ses.sns.topics import ACCOUNT_ID, Subscription, Topic, Topics

MAX_NAME = 256
PAGE = 100
_NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_-")
_PENDING = "pending confirmation"
_TOPIC_ATTRIBUTES = frozenset(("DeliveryPolicy", "DisplayName", "Policy", "SignatureVersion"))
_SUBSCRIPTION_ATTRIBUTES = frozenset(
    ("DeliveryPolicy", "FilterPolicy", "RawMessageDelivery", "RedrivePolicy")
)
# Anyone who has the link may do these, as the links in messages need it.
UNSIGNED = frozenset(("ConfirmSubscription", "Unsubscribe"))
READING = ("Get", "List")  # how the operations begin that change nothing


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A message to one subscription about itself."""

    type: NoticeType
    subscription: Subscription
    token: str


@dataclass(frozen=True, slots=True)
class Result:
    fields: Mapping[str, Field]
    confirmations: Sequence[Confirmation] = ()


@dataclass(frozen=True, slots=True)
class Query:
    topics: Topics
    form: Form
    is_signed: bool

    def required(self, name: str) -> str:
        value = self.form.get(name, "")
        if not value:
            raise invalid(f"{name} must not be empty")
        return value

    def topic(self) -> Topic:
        topic = self.topics.by_arn.get(self.required("TopicArn"))
        if topic is None:
            raise SesError("NotFound", "Topic does not exist", 404)
        return topic

    def subscription(self) -> Subscription:
        subscription = self.topics.find_subscription(self.required("SubscriptionArn"))
        if subscription is None:
            raise SesError("NotFound", "Subscription does not exist", 404)
        return subscription

    def page(self, items: Sequence[Field], name: str) -> Result:
        token = self.form.get("NextToken", "")
        if token and not token.isdecimal():
            raise invalid("NextToken is not valid")
        begin = int(token or 0)
        end = begin + PAGE
        more = {"NextToken": str(end)} if end < len(items) else {}
        return Result({name: list_members(items[begin:end]), **more})


def invalid(message: str) -> SesError:
    return SesError("InvalidParameter", f"Invalid parameter: {message}", 400)


def run(query: Query) -> Result:
    operation = _OPERATIONS.get(query.form.get("Action", ""))
    if operation is None:
        raise SesError("UnknownOperationException")
    return operation(query)


def _create_topic(query: Query) -> Result:
    name, given = query.required("Name"), read_map(query.form, "Attributes.entry")
    if len(name) > MAX_NAME or not _NAME_CHARACTERS.issuperset(name):
        raise invalid("Topic Name")
    _check_topic_attributes(given)
    topic = query.topics.create(name)
    if any(topic.attributes.setdefault(key, value) != value for key, value in given.items()):
        raise invalid("Attributes Reason: Topic already exists with different attributes")
    topic.tags.update(read_map(query.form, "Tags.member", "Key", "Value"))
    return Result({"TopicArn": topic.arn})


def _delete_topic(query: Query) -> Result:
    """A topic that does not exist is deleted already."""
    query.topics.by_arn.pop(query.required("TopicArn"), None)
    return Result({})


def _get_topic_attributes(query: Query) -> Result:
    topic = query.topic()
    confirmed = len(topic.confirmed())
    attributes = {
        "TopicArn": topic.arn,
        "Owner": ACCOUNT_ID,
        "DisplayName": "",
        "SubscriptionsConfirmed": str(confirmed),
        "SubscriptionsPending": str(len(topic.subscriptions) - confirmed),
        "SubscriptionsDeleted": "0",
        **topic.attributes,
    }
    return Result({"Attributes": list_entries(attributes)})


def _set_topic_attributes(query: Query) -> Result:
    topic = query.topic()
    changed = {query.required("AttributeName"): query.form.get("AttributeValue", "")}
    _check_topic_attributes(changed)
    topic.attributes.update(changed)
    return Result({})


def _check_topic_attributes(attributes: Mapping[str, str]) -> None:
    for name, value in attributes.items():
        if name not in _TOPIC_ATTRIBUTES:
            raise invalid(f"AttributeName {name}")
        if name == "SignatureVersion" and value not in VERSIONS:
            raise invalid("SignatureVersion must be 1 or 2")


def _list_topics(query: Query) -> Result:
    arns: list[Field] = [{"TopicArn": arn} for arn in sorted(query.topics.by_arn)]
    return query.page(arns, "Topics")


def _subscribe(query: Query) -> Result:
    topic, protocol = query.topic(), query.required("Protocol")
    endpoint = query.required("Endpoint")
    _check_endpoint(protocol, endpoint)
    attributes = read_map(query.form, "Attributes.entry")
    _check_subscription_attributes(attributes)
    subscription = topic.subscribe(protocol, endpoint, is_confirmed=protocol == "sqs")
    subscription.attributes.update(attributes)
    shows_arn = subscription.is_confirmed or query.form.get("ReturnSubscriptionArn") == "true"
    fields = {"SubscriptionArn": subscription.arn if shows_arn else _PENDING}
    if subscription.is_confirmed:
        return Result(fields)
    asked = Confirmation(NoticeType.SUBSCRIPTION, subscription, subscription.token)
    return Result(fields, [asked])


def _check_endpoint(protocol: str, endpoint: str) -> None:
    if protocol == "sqs":
        if not endpoint.startswith("arn:aws:sqs:"):
            raise invalid("SQS endpoint ARN")
    elif protocol not in {"http", "https"}:
        raise invalid("This fake has subscriptions of http, https and sqs only")
    elif urlsplit(endpoint).scheme != protocol:
        raise invalid("Endpoint must match the specified protocol")


def _confirm(query: Query) -> Result:
    topic, token = query.topic(), query.required("Token")
    for subscription in topic.subscriptions.values():
        if subscription.token == token:
            subscription.token = ""
            subscription.is_kept_for_owner = (
                query.is_signed and query.form.get("AuthenticateOnUnsubscribe") == "true"
            )
            return Result({"SubscriptionArn": subscription.arn})
    raise invalid("Token")


def _unsubscribe(query: Query) -> Result:
    """One that does not exist has ended already."""
    subscription = query.topics.find_subscription(query.required("SubscriptionArn"))
    if subscription is None:
        return Result({})
    if subscription.is_kept_for_owner and not query.is_signed:
        raise SesError("AuthorizationError", "Only the owner may unsubscribe", 403)
    del query.topics.by_arn[subscription.topic_arn].subscriptions[subscription.arn]
    if subscription.protocol == "sqs" or not subscription.is_confirmed:
        return Result({})
    # Nothing takes this token: a message that nobody answers must not bring it back.
    ended = Confirmation(NoticeType.UNSUBSCRIPTION, subscription, "0" * 128)
    return Result({}, [ended])


def _get_subscription_attributes(query: Query) -> Result:
    subscription = query.subscription()
    attributes = {
        "SubscriptionArn": subscription.arn,
        "TopicArn": subscription.topic_arn,
        "Owner": ACCOUNT_ID,
        "Protocol": subscription.protocol,
        "Endpoint": subscription.endpoint,
        "PendingConfirmation": str(not subscription.is_confirmed).lower(),
        "ConfirmationWasAuthenticated": str(subscription.is_kept_for_owner).lower(),
        "RawMessageDelivery": "false",
        **subscription.attributes,
    }
    return Result({"Attributes": list_entries(attributes)})


def _set_subscription_attributes(query: Query) -> Result:
    subscription = query.subscription()
    changed = {query.required("AttributeName"): query.form.get("AttributeValue", "")}
    _check_subscription_attributes(changed)
    subscription.attributes.update(changed)
    return Result({})


def _check_subscription_attributes(attributes: Mapping[str, str]) -> None:
    for name in attributes:
        if name not in _SUBSCRIPTION_ATTRIBUTES:
            raise invalid(f"AttributeName {name}")


def _list_subscriptions(query: Query) -> Result:
    subscriptions = [_describe(entry) for entry in query.topics.all_subscriptions()]
    return query.page(subscriptions, "Subscriptions")


def _list_subscriptions_by_topic(query: Query) -> Result:
    subscriptions = [_describe(entry) for entry in query.topic().subscriptions.values()]
    return query.page(subscriptions, "Subscriptions")


def _describe(subscription: Subscription) -> Field:
    return {
        "SubscriptionArn": subscription.arn if subscription.is_confirmed else "PendingConfirmation",
        "Owner": ACCOUNT_ID,
        "Protocol": subscription.protocol,
        "Endpoint": subscription.endpoint,
        "TopicArn": subscription.topic_arn,
    }


def _tag_resource(query: Query) -> Result:
    topic = query.topics.by_arn.get(query.required("ResourceArn"))
    if topic is None:
        raise SesError("ResourceNotFound", "Resource does not exist", 404)
    topic.tags.update(read_map(query.form, "Tags.member", "Key", "Value"))
    return Result({})


_OPERATIONS: Mapping[str, Callable[[Query], Result]] = {
    "ConfirmSubscription": _confirm,
    "CreateTopic": _create_topic,
    "DeleteTopic": _delete_topic,
    "GetSubscriptionAttributes": _get_subscription_attributes,
    "GetTopicAttributes": _get_topic_attributes,
    "ListSubscriptions": _list_subscriptions,
    "ListSubscriptionsByTopic": _list_subscriptions_by_topic,
    "ListTopics": _list_topics,
    "SetSubscriptionAttributes": _set_subscription_attributes,
    "SetTopicAttributes": _set_topic_attributes,
    "Subscribe": _subscribe,
    "TagResource": _tag_resource,
    "Unsubscribe": _unsubscribe,
}
NAMES = frozenset(_OPERATIONS)
