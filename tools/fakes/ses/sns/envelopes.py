"""The messages of SNS: their canonical text, which is signed, and their envelope."""

import json
from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from urllib.parse import urlencode

from tools.fakes.ses.sns.certificate import Signer
from tools.fakes.ses.sns.topics import Subscription


class NoticeType(StrEnum):
    NOTIFICATION = "Notification"
    SUBSCRIPTION = "SubscriptionConfirmation"
    UNSUBSCRIPTION = "UnsubscribeConfirmation"


@dataclass(frozen=True, slots=True)
class Notice:
    """One message to a topic or, if it has a token, to one subscription."""

    type: NoticeType
    topic_arn: str
    message_id: str
    text: str
    at: datetime
    subject: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True)
class SignedNotice:
    """A message with what is the same in every subscription's envelope."""

    notice: Notice
    fields: tuple[tuple[str, str], ...]

    def write_envelope(self, subscription: Subscription, endpoint: str) -> str:
        fields = dict(self.fields)
        if self.notice.type is NoticeType.NOTIFICATION:
            query = urlencode({"Action": "Unsubscribe", "SubscriptionArn": subscription.arn})
            fields["UnsubscribeURL"] = f"{endpoint}/?{query}"
        return json.dumps(fields, indent=2)


def sign(notice: Notice, signer: Signer, version: str, endpoint: str) -> SignedNotice:
    """Signs a message; URLs in it begin with the endpoint."""
    fields = _read_fields(notice, endpoint)
    canonical = "".join(f"{name}\n{fields[name]}\n" for name in sorted(fields))
    signature = b64encode(signer.sign(canonical.encode(), version)).decode()
    return SignedNotice(
        notice,
        (
            *fields.items(),
            ("SignatureVersion", version),
            ("Signature", signature),
            ("SigningCertURL", f"{endpoint}{signer.path}"),
        ),
    )


def _read_fields(notice: Notice, endpoint: str) -> dict[str, str]:
    """The fields that are signed."""
    fields = {
        "Type": str(notice.type),
        "MessageId": notice.message_id,
        "TopicArn": notice.topic_arn,
        "Message": notice.text,
        "Timestamp": format_time(notice.at),
    }
    if notice.subject:
        fields["Subject"] = notice.subject
    if notice.token:
        query = {"Action": "ConfirmSubscription", "TopicArn": notice.topic_arn}
        fields["Token"] = notice.token
        fields["SubscribeURL"] = f"{endpoint}/?{urlencode({**query, 'Token': notice.token})}"
    return fields


def format_time(time: datetime) -> str:
    """As SNS and SES write a time: in UTC, with milliseconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03d}Z"
