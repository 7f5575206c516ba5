"""The SNS topics that accounts listen to: registered, removed, and looked up by their ARN."""

import time
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import constraints, provider_accounts, sealing, trail
from postledger.accounts.models import ProviderAccount
from postledger.accounts.trail import Action
from postledger.feedback.models import Topic
from postledger.lib.errors import ConflictError, RefusedError
from postledger.lib.sentences import say
from postledger.providers.ses.events.topic_arn import TopicArn, parse_topic_arn
from postledger.providers.ses.settings import SesSettings

_SES = "ses"
_LONGEST_ARN = 400
_KEPT_FOR = 5.0  # seconds; so long a removed topic may still be listened to


class TopicTakenError(ConflictError):
    code = "topic_taken"


class QueueTakenError(ConflictError):
    code = "queue_taken"


class InvalidTopicError(RefusedError):
    code = "invalid_topic"


@dataclass(frozen=True, slots=True)
class ListenedTopic:
    """A topic whose messages are believed, for this workspace and account."""

    id: int
    workspace_id: int
    account_id: int
    arn: str
    queue_url: str
    certificate_origin: str  # the only one that its signing certificates come from


def register_topic(
    workspace_id: int, account_id: int, *, arn: str, queue_url: str, actor: str
) -> int:
    """Listens to a topic from now on, by its queue or, if `queue_url` is empty, by HTTPS.

    Another registration by the same account changes the queue. Refused while another account
    listens to the topic or polls the queue.
    """
    topic_taken = TopicTakenError(
        say(
            "Another account of this installation listens to the topic %(arn)s. Remove it there,"
            " or create a topic of its own for this account.",
            arn=arn,
        )
    )
    queue_taken = QueueTakenError(
        say(
            "Another topic's messages are read from the queue %(queue_url)s. Create a queue of its"
            " own for this topic.",
            queue_url=queue_url,
        )
    )
    with constraints.refusing(feedback_topic_once=topic_taken, feedback_queue_once=queue_taken):
        account = _lock_account(workspace_id, account_id)
        _check(_read_settings(account), arn, queue_url)
        topic, is_new = Topic.objects.select_for_update().get_or_create(
            arn=arn,
            account_id=account_id,
            removed_at=None,
            defaults={"workspace_id": workspace_id, "queue_url": queue_url},
        )
        if is_new or topic.queue_url != queue_url:
            Topic.objects.filter(pk=topic.pk).update(queue_url=queue_url, trouble="")
            _note(topic, "topic.registered", actor, queue_url=queue_url)
    return topic.pk


def remove_topic(workspace_id: int, account_id: int, *, arn: str, actor: str) -> bool:
    """Stops listening to a topic; False if the account does not listen to it.

    Processes notice it within five seconds. Messages that are stored already are applied.
    """
    own = Topic.objects.filter(
        workspace_id=workspace_id, account_id=account_id, arn=arn, removed_at=None
    )
    with transaction.atomic():
        topic = own.select_for_update().first()
        if topic is None:
            return False
        Topic.objects.filter(pk=topic.pk).update(removed_at=Now())
        _note(topic, "topic.removed", actor)
    return True


def list_topics(account_id: int) -> list[Topic]:
    """The topics that an account listens to, with what is known of their subscriptions."""
    return list(Topic.objects.filter(account_id=account_id, removed_at=None).order_by("arn"))


_known: dict[str, tuple[float, ListenedTopic]] = {}  # by ARN, with the end of its time


def find_topic(arn: str) -> ListenedTopic | None:
    """The topic with this ARN, as it was at most five seconds ago; None if nobody listens to it.

    An unknown ARN is looked up each time: a topic is heard as soon as it is registered.
    """
    until, topic = _known.get(arn, (0.0, None))
    if topic is not None and time.monotonic() < until:
        return topic
    if len(arn) > _LONGEST_ARN or parse_topic_arn(arn) is None:
        return None
    row = Topic.objects.select_related("account").filter(arn=arn, removed_at=None).first()
    if row is None:
        _known.pop(arn, None)
        return None
    topic = _listened(row)
    _known[arn] = (time.monotonic() + _KEPT_FOR, topic)
    return topic


def _listened(row: Topic) -> ListenedTopic:
    return ListenedTopic(
        id=row.pk,
        workspace_id=row.workspace_id,
        account_id=row.account_id,
        arn=row.arn,
        queue_url=row.queue_url,
        certificate_origin=_find_certificate_origin(_read_settings(row.account), row.arn),
    )


def _find_certificate_origin(settings: SesSettings, arn: str) -> str:
    endpoint = settings.actual_endpoint
    # A stand-in on this machine is SNS too.
    return endpoint.url if endpoint.is_here else _parse(arn).sns_origin


type QueueKey = tuple[int, str, datetime]  # a topic's id, its queue, the account's revision


def list_queues() -> dict[QueueKey, str]:
    """The ARNs of the topics with a queue; a key changes with all that a reader relies on."""
    rows = Topic.objects.filter(removed_at=None).exclude(queue_url="")
    columns = rows.values_list("pk", "queue_url", "account__updated_at", "arn")
    return {(id_, queue_url, updated_at): arn for id_, queue_url, updated_at, arn in columns}


def note_poll(topic_id: int, *, trouble: str = "") -> None:
    """Records that a queue answered or, with a trouble, why it cannot be read."""
    row = Topic.objects.filter(pk=topic_id)
    if trouble:
        row.update(trouble=trouble)
    else:
        row.update(trouble="", last_polled_at=Now())


def read_queue_settings(topic: ListenedTopic) -> SesSettings:
    """As `read_account_settings`; refused if the queue is no longer where the account's are."""
    settings = read_account_settings(topic)
    _check(settings, topic.arn, topic.queue_url)
    return settings


def read_account_settings(topic: ListenedTopic) -> SesSettings:
    """The current settings of the topic's account, credentials included."""
    return _read_settings(ProviderAccount.objects.get(pk=topic.account_id))


def _read_settings(account: ProviderAccount) -> SesSettings:
    return SesSettings.model_validate(sealing.unseal_settings(account))


def _lock_account(workspace_id: int, account_id: int) -> ProviderAccount:
    account = provider_accounts.lock_account(workspace_id, account_id)
    if account.kind != _SES:
        raise InvalidTopicError(
            say(
                "The account “%(name)s” is not one of Amazon SES, so no topic of SNS reports its"
                " mail. Use an account of kind ses.",
                name=account.name,
            )
        )
    return account


def _check(settings: SesSettings, arn: str, queue_url: str) -> None:
    topic = _parse(arn)
    if topic.region != settings.region:
        raise InvalidTopicError(
            say(
                "The topic is in %(topic_region)s, the account in %(region)s. SES publishes to"
                " topics of its own region only: use one of them.",
                topic_region=topic.region,
                region=settings.region,
            )
        )
    if not queue_url:
        return
    if settings.actual_endpoint.is_here and not settings.sqs_endpoint:
        raise InvalidTopicError(
            say(
                "The account uses a stand-in for SES on this machine, which has no queues. Set its"
                " sqs_endpoint to a stand-in for SQS, or listen to the topic by HTTPS."
            )
        )
    # The account's credentials sign each poll, so they go to no other host.
    origin = settings.sqs_endpoint.rstrip("/") or topic.sqs_origin
    if not _is_of_origin(queue_url, origin):
        raise InvalidTopicError(
            say(
                "The queue's URL must begin with %(origin)s/, because queues of the account are"
                " there.",
                origin=origin,
            )
        )


def _parse(arn: str) -> TopicArn:
    topic = parse_topic_arn(arn)
    if topic is None:
        raise InvalidTopicError(
            say(
                "'%(arn)s' is not the ARN of a standard topic: write it as AWS does, such as"
                " arn:aws:sns:eu-west-1:123456789012:postledger.",
                arn=arn[:300],
            )
        )
    return topic


def _is_of_origin(url: str, origin: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_plain = len(parts.path) > 1 and not (parts.query or parts.fragment)
    return f"{parts.scheme}://{parts.netloc}" == origin and is_plain


def _note(topic: Topic, action: Action, actor: str, **data: trail.Fact) -> None:
    trail.note(
        topic.workspace_id,
        actor=actor,
        action=action,
        subject=f"account {topic.account_id}",
        data={"arn": topic.arn, **data},
    )
