"""Subscriptions of SNS topics: confirmed through the API, never by the URL in a message."""

import threading
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db.models import Q
from django.db.models.functions import Now

from postledger.feedback import topics
from postledger.feedback.models import Topic
from postledger.feedback.topics import ListenedTopic

# So long SNS accepts the token of a message.
_TOKEN_LIVES: Final = timedelta(days=3)
_ANSWERS_WITHIN = 8.0  # seconds; SNS waits 15 for us
_ENDED = (
    "SNS reported that the subscription of this installation was ended. Subscribe it again, if"
    " nobody meant that: postledger ses connect."
)

_log = structlog.get_logger(__name__)
# One call at a time: however many confirmations come, they leave threads to other requests.
_calling = threading.Lock()


def confirm(topic: ListenedTopic, *, token: str, sent_at: datetime, now: datetime) -> bool:
    """Confirms a subscription with the account's own credentials; False if SNS should ask again.

    From then on only the account can end the subscription. A message whose token has ended is
    old, and changes nothing. Call it outside a transaction.
    """
    if now - sent_at > _TOKEN_LIVES:
        return True
    if not _calling.acquire(blocking=False):
        return False
    try:
        trouble = _call_sns(topic, token)
    finally:
        _calling.release()
    row = Topic.objects.filter(pk=topic.id)
    if trouble:
        _log.warning("subscription_not_confirmed", topic=topic.arn, error=trouble)
        row.update(trouble=f"SNS did not confirm the subscription: {trouble}.")
        return False
    _log.info("subscription_confirmed", topic=topic.arn)
    row.update(confirmed_at=Now(), trouble="")
    return True


def _call_sns(topic: ListenedTopic, token: str) -> str:
    """Returns the name of what went wrong, or an empty text."""
    from botocore.exceptions import BotoCoreError, ClientError

    from postledger.providers.ses.aws_client import open_client

    settings = topics.read_account_settings(topic)
    try:
        client = open_client(settings, "sns", read_timeout=_ANSWERS_WITHIN)
        client.confirm_subscription(
            TopicArn=topic.arn, Token=token, AuthenticateOnUnsubscribe="true"
        )
    except ClientError as error:
        return str(error.response.get("Error", {}).get("Code", "no code"))
    except BotoCoreError as error:
        return type(error).__name__
    return ""


def note_end(topic: ListenedTopic, *, sent_at: datetime) -> None:
    """Keeps for people that a subscription was ended; nothing is subscribed again by itself.

    A message from before the last confirmation is old, and changes nothing.
    """
    _log.warning("subscription_ended", topic=topic.arn)
    is_news = Q(confirmed_at=None) | Q(confirmed_at__lt=sent_at)
    Topic.objects.filter(is_news, pk=topic.id, queue_url="").update(trouble=_ENDED)
