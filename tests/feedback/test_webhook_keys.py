"""A webhook's key belongs to one account; it is believed once registered, and removed for good."""

from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.db import connection
from django.test.utils import CaptureQueriesContext

from postledger.accounts import provider_accounts
from postledger.accounts.models import AuditEntry
from postledger.accounts.provider_accounts import AccountUnknownError
from postledger.feedback import webhook_keys
from postledger.feedback.models import WebhookKey
from postledger.feedback.webhook_keys import InvalidKeyError, KeyTakenError, TooManyKeysError
from tests.feedback import topics
from tests.feedback.sendgrid import Webhook, listen, new_account

pytestmark = pytest.mark.django_db


def register(ids: tuple[int, int], public_key: str, webhook_id: str = "") -> int:
    return webhook_keys.register_key(
        *ids, public_key=public_key, webhook_id=webhook_id, actor="alice"
    )


def remove(ids: tuple[int, int], public_key: str) -> bool:
    return webhook_keys.remove_key(*ids, public_key=public_key, actor="alice")


def written(key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey) -> str:
    return b64encode(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()


def test_a_key_is_believed_as_soon_as_it_is_registered_also_by_an_archived_account() -> None:
    ids, webhook = new_account(), Webhook()
    assert webhook_keys.find_listener(ids[1]) is None

    key_id = register(ids, f" {webhook.public_key}\n")

    listener = webhook_keys.find_listener(ids[1])
    assert listener is not None
    assert (listener.workspace_id, listener.account_id) == ids
    assert list(listener.keys) == [key_id]
    [row] = webhook_keys.list_keys(ids[1])
    assert (row.public_key, row.webhook_id, row.last_used_at) == (webhook.public_key, "", None)
    assert [register(ids, webhook.public_key, *of) for of in (["w1"], [])] == [key_id] * 2
    assert [row.webhook_id for row in webhook_keys.list_keys(ids[1])] == ["w1"]
    entries = AuditEntry.objects.filter(action="webhook_key.registered").order_by("pk")
    assert [entry.data["public_key"] for entry in entries] == [webhook.public_key] * 2
    assert [entry.data.get("webhook_id") for entry in entries] == ["", "w1"]
    provider_accounts.archive_account(ids[0], account_id=ids[1], actor="alice")
    assert webhook_keys.find_listener(ids[1]) == listener, "its mail is still reported"
    next_id = register(ids, Webhook().public_key)
    listener = webhook_keys.find_listener(ids[1])
    assert listener is not None
    assert list(listener.keys) == [key_id, next_id]


def test_up_to_ten_keys_are_believed_until_one_is_removed() -> None:
    ids, old, new = new_account(), Webhook(), Webhook()
    old_id, new_id = register(ids, old.public_key), register(ids, new.public_key)
    assert [row.pk for row in webhook_keys.list_keys(ids[1])] == [old_id, new_id]

    assert remove(ids, old.public_key)
    assert not remove(ids, old.public_key)

    listener = webhook_keys.find_listener(ids[1])
    assert listener is not None
    assert list(listener.keys) == [new_id]
    assert AuditEntry.objects.get(action="webhook_key.removed").data == {
        "public_key": old.public_key
    }
    for _ in range(9):
        register(ids, Webhook().public_key)
    with pytest.raises(TooManyKeysError):
        register(ids, Webhook().public_key)
    assert len(webhook_keys.list_keys(ids[1])) == 10


def test_a_key_of_another_account_is_refused_until_it_is_removed_there() -> None:
    for workspace in ("acme", "globex"):
        ids, webhook = new_account(), Webhook()
        register(ids, webhook.public_key)
        other = new_account(workspace)

        with pytest.raises(KeyTakenError, match="Another account"):
            register(other, webhook.public_key)
        remove(ids, webhook.public_key)

        assert register(other, webhook.public_key), workspace


def test_another_workspace_or_kind_of_account_neither_registers_a_key_nor_removes_one() -> None:
    (acme, account_id), (globex, _), webhook = new_account(), new_account("globex"), Webhook()
    register((acme, account_id), webhook.public_key)

    with pytest.raises(AccountUnknownError):
        register((globex, account_id), Webhook().public_key)
    assert not remove((globex, account_id), webhook.public_key)
    with pytest.raises(InvalidKeyError, match="kind sendgrid"):
        register(topics.new_account(), Webhook().public_key)


def _encode_other_point(good: str) -> str:
    """A curve has two points for one x; the bit of y that is flipped leads to neither."""
    *head, last = b64decode(good)
    return b64encode(bytes([*head, last ^ 1])).decode()


def _other_keys() -> dict[str, str]:
    good = Webhook().public_key
    return {
        "nothing": "",
        "no base64": "?" * 124,
        "no key": b64encode(b"x" * 91).decode(),
        "cut off": good[:-8],
        "with a tail": b64encode(b64decode(good) + b"\0").decode(),
        "in the middle of something": f"key {good}",
        "huge": "A" * 1_000_000,
        "not ASCII": good[:-4] + "éééé",
        "of P-384": written(ec.generate_private_key(ec.SECP384R1()).public_key()),
        "of secp256k1": written(ec.generate_private_key(ec.SECP256K1()).public_key()),
        "of Ed25519": written(ed25519.Ed25519PrivateKey.generate().public_key()),
        "a point that is not on the curve": _encode_other_point(good),
    }


def test_what_is_no_key_of_p256_is_refused() -> None:
    ids = new_account()
    for name, text in _other_keys().items():
        with pytest.raises(InvalidKeyError, match="Copy all of it"):
            register(ids, text)
        assert webhook_keys.list_keys(ids[1]) == [], name
    for webhook_id in ("x" * 101, "a\nb"):
        with pytest.raises(InvalidKeyError, match="webhook's id"):
            register(ids, Webhook().public_key, webhook_id)


def test_an_account_that_listens_is_looked_up_like_one_that_does_not_or_that_nobody_has() -> None:
    listening, silent = listen().account_id, new_account()[1]

    for account_id in (listening, listening, silent, silent):
        with CaptureQueriesContext(connection) as queries:
            webhook_keys.find_listener(account_id)
        assert len(queries) == 1
    for account_id in (0, 2**31, 2**63, 10**300):
        assert webhook_keys.find_listener(account_id) is None, account_id


def test_the_use_of_a_key_is_noted_once_a_minute() -> None:
    webhook, now = listen(), datetime.now(UTC)
    [row] = webhook_keys.list_keys(webhook.account_id)

    webhook_keys.note_use(row.pk, now)

    assert WebhookKey.objects.get(pk=row.pk).last_used_at == now
    with connection.execute_wrapper(_refuse):
        webhook_keys.note_use(row.pk, now + timedelta(seconds=30))
    webhook_keys._noted.clear()  # as another process
    webhook_keys.note_use(row.pk, now + timedelta(seconds=30))
    assert WebhookKey.objects.get(pk=row.pk).last_used_at == now
    webhook_keys._noted.clear()
    webhook_keys.note_use(row.pk, now + timedelta(seconds=61))
    assert WebhookKey.objects.get(pk=row.pk).last_used_at == now + timedelta(seconds=61)


def _refuse(*_: object) -> None:
    raise AssertionError("a statement")
