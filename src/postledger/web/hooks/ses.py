"""`POST /ses-events`: what Amazon SNS posts of the topics that accounts listen to.

SNS repeats a message only after an answer of 500 or more, and takes every other one for success.
So trouble that may pass is answered with 503, and 4xx only says that a message is never believed.
"""

from datetime import datetime
from typing import assert_never

import structlog
from django.http import HttpRequest, HttpResponse

from postledger.feedback import certificates, inbox, subscriptions, topics
from postledger.feedback.inbox import IncomingMessage
from postledger.feedback.topics import ListenedTopic
from postledger.lib.errors import BadRequestError, ForbiddenError
from postledger.lib.secrets import UnsealableError
from postledger.providers.ses.events import sns_envelope
from postledger.providers.ses.events.sns_envelope import Envelope, Kind, Malformed
from postledger.web.hooks import posts
from postledger.web.hooks.posts import NotNowError, Outcome, SignatureInvalidError

_log = structlog.get_logger(__name__)


class RawDeliveryError(BadRequestError):
    code = "raw_delivery"


class InvalidEnvelopeError(BadRequestError):
    code = "invalid_envelope"


class TopicUnknownError(ForbiddenError):
    code = "topic_unknown"


def receive_events(request: HttpRequest) -> HttpResponse:
    """Stores one message, durably, and answers; it is applied later."""
    return posts.answer(request, _take)


def _take(request: HttpRequest, now: datetime) -> Outcome:
    body = posts.read_body(request)
    if request.META.get("HTTP_X_AMZ_SNS_RAWDELIVERY", "").lower() == "true":
        raise RawDeliveryError(
            "Raw message delivery is on, and raw messages have no signature. Disable raw message"
            " delivery for this subscription in SNS."
        )
    envelope = sns_envelope.parse(body)
    if isinstance(envelope, Malformed):
        raise InvalidEnvelopeError(f"The body is not a message of SNS. {envelope.why}")
    try:
        topic = _find_topic(envelope)
        _verify(envelope, topic, now)
        return _act(envelope, topic, now)
    except UnsealableError as error:
        _log.error("account_unsealable", error=error)
        raise NotNowError("The topic's account cannot be read. Send it again.") from None


def _find_topic(envelope: Envelope) -> ListenedTopic:
    topic = topics.find_topic(envelope.topic_arn)
    if topic is None:
        raise TopicUnknownError(
            "No account of this installation listens to the topic of this message. Register the"
            " topic, or remove its subscription."
        )
    return topic


def _verify(envelope: Envelope, topic: ListenedTopic, now: datetime) -> None:
    """Fetches a certificate only from SNS, and only for a topic that an account listens to."""
    signature = envelope.signature
    if signature is None:
        raise SignatureInvalidError("The message has no signature.")
    url = signature.certificate_url
    if not sns_envelope.is_certificate_url(url, origin=topic.certificate_origin):
        raise SignatureInvalidError(
            "SigningCertURL is not a certificate of SNS in the region of the topic."
        )
    certificate = certificates.find_certificate(url)
    if certificate is None:
        raise NotNowError(
            "The certificate that signed the message cannot be had at the moment. Send it again."
        )
    forgery = sns_envelope.find_forgery(envelope, certificate, now=now)
    if forgery:
        raise SignatureInvalidError(forgery)


def _act(envelope: Envelope, topic: ListenedTopic, now: datetime) -> Outcome:
    match envelope.kind:
        case Kind.NOTIFICATION:
            return _store(envelope, topic)
        case Kind.SUBSCRIPTION:
            is_confirmed = subscriptions.confirm(
                topic, token=envelope.token, sent_at=envelope.sent_at, now=now
            )
            if not is_confirmed:
                raise NotNowError("The subscription could not be confirmed. Send it again.")
            return Outcome.CONFIRMED
        case Kind.UNSUBSCRIPTION:
            subscriptions.note_end(topic, sent_at=envelope.sent_at)
            return Outcome.ENDED
        case unreachable:
            assert_never(unreachable)


def _store(envelope: Envelope, topic: ListenedTopic) -> Outcome:
    if envelope.is_test:
        return Outcome.TEST
    message = IncomingMessage(envelope.message_id, envelope.message, envelope.sent_at)
    is_new = inbox.store(topic.account_id, [message])
    return Outcome.STORED if is_new else Outcome.REPEATED
