"""Messages of Amazon SNS: read strictly, and checked against the certificate that signed them.

The signature proves only that SNS sent a message: anybody can let a topic of their own post to us.
So callers compare the topic with those they listen to first, and fetch nothing before that.
"""

import json
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA1, SHA256, HashAlgorithm
from cryptography.x509.oid import NameOID

from postledger.providers.ses.events.topic_arn import parse_topic_arn

# SNS sends 256 KiB at most, which escapes of JSON inside JSON may double.
LARGEST = 512 * 1024
_MOST_OBJECTS = 5_000  # those of the text inside count, too; an event has a few hundred

_MESSAGE_ID = re.compile(r"[A-Za-z0-9-]{1,100}", re.ASCII)
_CERTIFICATE_PATH = re.compile(r"/SimpleNotificationService-[0-9a-f]{1,64}\.pem", re.ASCII)
_TEST_MESSAGE = "Successfully validated SNS topic for Amazon SES event publishing."
# SHA-1 is what a topic uses until it is told otherwise.
_HASHES: Mapping[str, HashAlgorithm] = {"1": SHA1(), "2": SHA256()}  # noqa: S303  the vendor's choice
_PADDING = PKCS1v15()


class Kind(StrEnum):
    NOTIFICATION = "Notification"
    SUBSCRIPTION = "SubscriptionConfirmation"
    UNSUBSCRIPTION = "UnsubscribeConfirmation"


_CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
# What is signed, in its order; a Subject is signed if there is one.
_SIGNED: Mapping[Kind, Sequence[str]] = {
    Kind.NOTIFICATION: ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    Kind.SUBSCRIPTION: _CONFIRMATION,
    Kind.UNSUBSCRIPTION: _CONFIRMATION,
}
_OPTIONAL = "Subject"


@dataclass(frozen=True, slots=True)
class Signature:
    version: str
    value: str  # in base64
    certificate_url: str


@dataclass(frozen=True, slots=True)
class Envelope:
    kind: Kind
    message_id: str
    topic_arn: str
    message: str
    sent_at: datetime
    token: str  # of a confirmation
    signed: bytes
    signature: Signature | None

    @property
    def is_test(self) -> bool:
        """Whether SES sent it to see that it may publish to the topic."""
        return self.kind is Kind.NOTIFICATION and self.message.strip() == _TEST_MESSAGE


@dataclass(frozen=True, slots=True)
class Malformed:
    why: str  # a sentence that repeats nothing of the message


@dataclass(frozen=True, slots=True)
class SigningCertificate:
    key: RSAPublicKey
    names: Sequence[str]
    begins_at: datetime
    ends_at: datetime


class _UnreadableError(ValueError):
    """Ends the reading of a message; becomes a value where the reading began."""


def parse(body: bytes) -> Envelope | Malformed:
    """Reads one message; nothing in it is believed yet."""
    try:
        return _read(_read_object(body))
    except _UnreadableError as error:
        return Malformed(str(error))


def _read_object(body: bytes) -> Mapping[str, object]:
    if len(body) > LARGEST:
        raise _UnreadableError(f"It has more than {LARGEST // 1024} KiB.")
    if body.count(b"{") > _MOST_OBJECTS:
        raise _UnreadableError("It is made of too many objects.")
    try:
        value = json.loads(
            body.decode(), object_pairs_hook=_refuse_repeated, parse_constant=_refuse_constant
        )
    except _UnreadableError:
        raise
    except (ValueError, RecursionError):
        raise _UnreadableError("It is not JSON in UTF-8.") from None
    if not isinstance(value, dict):
        raise _UnreadableError("It is not a JSON object.")
    return value


def _refuse_repeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Readers disagree about which of two equal names counts."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _UnreadableError("A name occurs twice in it.")
    return fields


def _refuse_constant(_: str) -> None:
    raise _UnreadableError("It contains NaN or Infinity, which JSON does not have.")


def _read(fields: Mapping[str, object]) -> Envelope:
    try:
        kind = Kind(_text(fields, "Type"))
    except _UnreadableError:
        raise
    except ValueError:
        raise _UnreadableError("Its Type is none of SNS's.") from None
    texts = {
        name: _text(fields, name)
        for name in _SIGNED[kind]
        if name != _OPTIONAL or fields.get(name) is not None
    }
    if not _MESSAGE_ID.fullmatch(texts["MessageId"]):
        raise _UnreadableError("Its MessageId is none of SNS's.")
    return Envelope(
        kind=kind,
        message_id=texts["MessageId"],
        topic_arn=texts["TopicArn"],
        message=texts["Message"],
        sent_at=_read_time(texts["Timestamp"]),
        token=texts.get("Token", ""),
        signed=_canonical(texts),
        signature=_read_signature(fields),
    )


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise _UnreadableError(f"It has no text {name}: SNS sends it in an envelope with one.")
    return value


def _read_time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise _UnreadableError("Its Timestamp is not a time with a zone.")
    return time


def _canonical(texts: Mapping[str, str]) -> bytes:
    try:
        return "".join(f"{name}\n{text}\n" for name, text in texts.items()).encode()
    except UnicodeEncodeError:
        raise _UnreadableError("It contains an unpaired surrogate.") from None


def _read_signature(fields: Mapping[str, object]) -> Signature | None:
    """None without one: a queue's policy stands for it."""
    if "Signature" not in fields:
        return None
    return Signature(
        version=_text(fields, "SignatureVersion"),
        value=_text(fields, "Signature"),
        certificate_url=_text(fields, "SigningCertURL"),
    )


def is_certificate_url(url: str, *, origin: str) -> bool:
    """Whether it is exactly a certificate at this origin: no port, user, query or fragment."""
    return url.startswith(origin) and _CERTIFICATE_PATH.fullmatch(url, len(origin)) is not None


def load_certificate(pem: bytes) -> SigningCertificate | None:
    """None if it is no certificate of an RSA key."""
    try:
        certificate = x509.load_pem_x509_certificate(pem)
        key = certificate.public_key()
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    except Exception:  # noqa: BLE001  its parsers raise many types for bytes of others
        return None
    if not isinstance(key, RSAPublicKey):
        return None
    return SigningCertificate(
        key=key,
        names=[str(name.value) for name in names],
        begins_at=certificate.not_valid_before_utc,
        ends_at=certificate.not_valid_after_utc,
    )


def find_forgery(
    envelope: Envelope, certificate: SigningCertificate, *, now: datetime
) -> str | None:
    """Why the certificate does not prove that SNS sent the message, as a sentence; None if it does.

    The certificate must come from SNS's own host in the region of the message's topic.
    """
    signature, topic = envelope.signature, parse_topic_arn(envelope.topic_arn)
    if signature is None or topic is None:
        return "It has no signature, or no topic of SNS."
    if not certificate.begins_at <= now <= certificate.ends_at:
        return "The certificate that signed it is not valid today."
    if len(certificate.names) != 1 or certificate.names[0] not in topic.signers:
        return "The certificate that signed it is not one of SNS."
    algorithm = _HASHES.get(signature.version)
    if algorithm is None:
        return "Its SignatureVersion is neither 1 nor 2."
    try:
        value = b64decode(signature.value, validate=True)
        certificate.key.verify(value, envelope.signed, _PADDING, algorithm)
    except (InvalidSignature, ValueError):
        return "Its signature does not fit its content."
    return None
