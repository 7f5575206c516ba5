"""Only the webhook's own key signs a post, and it signs every byte and the time."""

import json
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA384

from postledger.providers.sendgrid import event_signature
from postledger.providers.sendgrid.event_signature import Claim, Forged
from tests.feedback import mutations
from tests.feedback.sendgrid import NOON, Webhook, event, write_body

NOW = datetime.fromtimestamp(NOON, UTC)
AT = str(NOON)
WEBHOOK, OTHER = Webhook(), Webhook()
BODY = write_body([event("bounce", "user@recipient.example", "a-reference")])
SIGNATURE = WEBHOOK.sign(BODY, AT)


def find_signer(
    body: bytes = BODY,
    signature: str = SIGNATURE,
    timestamp: str = AT,
    keys: tuple[Webhook, ...] = (WEBHOOK,),
    now: datetime = NOW,
) -> int | str | None:
    """The place of the key that signed, None if none did, or why the headers are forged."""
    claim = event_signature.read_headers(signature, timestamp, now=now)
    if isinstance(claim, Forged):
        return claim.why
    loaded = {number: key.private_key.public_key() for number, key in enumerate(keys)}
    return event_signature.find_signer(claim, body, loaded)


def test_a_post_is_signed_by_its_webhooks_key_wherever_that_stands_among_the_keys() -> None:
    assert event_signature.load_key(WEBHOOK.public_key) == WEBHOOK.private_key.public_key()
    assert find_signer() == 0
    assert find_signer(keys=(OTHER, WEBHOOK)) == 1
    assert find_signer(keys=(OTHER,)) is None
    assert find_signer(keys=()) is None


def test_the_timestamp_and_the_bytes_are_signed() -> None:
    again = json.dumps(json.loads(BODY)).encode()

    assert json.loads(again) == json.loads(BODY)
    assert find_signer(again) is None
    assert find_signer(timestamp=str(NOON + 1)) is None


def test_a_post_is_believed_for_25_hours_and_by_clocks_that_are_minutes_apart() -> None:
    for age, is_believed in [
        (timedelta(hours=25), True),
        (timedelta(hours=25, seconds=1), False),
        (timedelta(minutes=-5), True),
        (timedelta(minutes=-5, seconds=-1), False),
    ]:
        found = find_signer(now=NOW + age)

        assert found == 0 if is_believed else str(found).startswith("The post was signed"), age


def test_a_timestamp_is_ten_digits() -> None:
    for timestamp in [
        "",
        "177789600",  # a digit of it could be the first letter of the body
        "17778960001",
        f" {AT}",
        f"{AT}\n",
        f"+{NOON}",
        f"{AT}.0",
        "1_77789600",
        "0x69f88a40",
        "١٧٧٧٨٩٦٠٠٠",
        "9" * 1_000_000,
        "NaN",
    ]:
        assert isinstance(find_signer(timestamp=timestamp), str), timestamp


def _long_form(der: bytes) -> bytes:
    """The same numbers with a length in the long form: BER, and no DER."""
    return der[:1] + b"\x81" + der[1:]


OTHER_SIGNATURES = {
    "nothing": "",
    "no base64": "!" * 96,
    "base64 for URLs": SIGNATURE[:20] + "-_" + SIGNATURE[22:],
    "without padding": b64encode(b64decode(SIGNATURE)[:70] + b"x").decode().rstrip("="),
    "with a space": f" {SIGNATURE}",
    "with a newline": f"{SIGNATURE}\n",
    "not ASCII": "é" + SIGNATURE[1:],
    "huge": "A" * 1_000_000,
    "empty DER": b64encode(b"\x30\x00").decode(),
    "no DER": b64encode(b"x" * 70).decode(),
    "cut off": b64encode(b64decode(SIGNATURE)[:-1]).decode(),
    "with a tail": b64encode(b64decode(SIGNATURE) + b"\0").decode(),
    "BER": b64encode(_long_form(b64decode(SIGNATURE))).decode(),
    "zeros": b64encode(encode_dss_signature(0, 0)).decode(),
    "ones": b64encode(encode_dss_signature(1, 1)).decode(),
    "negative": b64encode(b"\x30\x06\x02\x01\xff\x02\x01\xff").decode(),
    "of another key": OTHER.sign(BODY, AT),
    "of the body alone": WEBHOOK.sign(BODY, ""),
    "by another hash": b64encode(
        WEBHOOK.private_key.sign(AT.encode() + BODY, ec.ECDSA(SHA384()))
    ).decode(),
    "of the hash's text": b64encode(WEBHOOK.private_key.sign(b"x", ec.ECDSA(SHA256()))).decode(),
}


def test_another_signature_is_not_believed() -> None:
    for name, signature in OTHER_SIGNATURES.items():
        assert find_signer(signature=signature) != 0, name


@pytest.mark.slow
@pytest.mark.sample
def test_none_of_20000_mutated_bodies_is_believed() -> None:
    chance = Random(21)
    claim = event_signature.read_headers(SIGNATURE, AT, now=NOW)
    assert isinstance(claim, Claim)
    keys = {1: WEBHOOK.private_key.public_key()}
    assert event_signature.find_signer(claim, BODY, keys) == 1

    believed = sum(
        event_signature.find_signer(claim, mutations.mutate(BODY, chance), keys) is not None
        for _ in range(20_000)
    )

    assert believed == 0
