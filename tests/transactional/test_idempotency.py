"""Keys of requests: stored as hashes that nobody can guess from, and deleted in the end."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from django.db import connection

from postledger.deliveries import entries
from postledger.lib.ids import DeliveryId
from postledger.privacy import erasure
from postledger.transactional import idempotency
from postledger.transactional.models import IdempotencyKey
from tests import cast
from tests.transactional.mails import SOUND
from tests.transactional.test_accepting import accept

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC)
KEY = "order of alice@example.com"


def settle(mail_id: str, *, days_ago: float) -> None:
    """Lets a mail be accepted by its provider some days ago."""
    delivery = DeliveryId.parse(mail_id)
    assert delivery is not None
    cast.book(delivery.stream_id, lambda at: entries.accepted(at, message_id=f"<{at}>"))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_delivery SET settled_at = %s WHERE stream_id = %s AND position = %s",
            [datetime.now(UTC) - timedelta(days=days_ago), delivery.stream_id, delivery.position],
        )


def pass_days(days: float) -> None:
    """Lets the key be due to be looked at."""
    IdempotencyKey.objects.update(look_at=datetime.now(UTC) - timedelta(days=days))


def test_a_key_and_its_request_are_stored_as_hashes_that_need_our_secret() -> None:
    accept(key=KEY)

    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(k)::text FROM transactional_idempotencykey AS k")
        [(row,)] = cursor.fetchall()
    assert KEY not in row
    assert sha256(KEY.encode()).hexdigest() not in row
    assert idempotency.digest_request([SOUND]).hex() not in row
    assert KEY not in repr(idempotency.make_key(KEY, [SOUND]))


def test_a_key_expires_thirty_days_after_the_last_of_its_mails_got_its_result() -> None:
    for settled, days in (
        ([NOW - timedelta(days=30)], None),
        ([NOW - timedelta(days=29)], 1),
        ([NOW - timedelta(days=90), NOW - timedelta(days=10)], 20),
        ([NOW - timedelta(days=90), None], 1),
        ([None], 1),
    ):
        expected = None if days is None else NOW + timedelta(days=days)

        assert idempotency.next_look(settled, now=NOW) == expected, settled


def test_an_expired_key_is_deleted_and_may_be_used_again() -> None:
    receipt = accept(key=KEY)
    settle(receipt.ids[0], days_ago=31)
    pass_days(0)

    assert idempotency.delete_expired(datetime.now(UTC)) == 1

    assert not IdempotencyKey.objects.exists()
    assert accept(key=KEY).ids != receipt.ids


def test_a_key_stays_while_its_mail_waits_and_for_a_month_after() -> None:
    receipt = accept(key=KEY)
    assert idempotency.delete_expired(datetime.now(UTC) + timedelta(days=29.9)) == 0
    assert IdempotencyKey.objects.get().look_at < datetime.now(UTC) + timedelta(days=30)
    for days_ago in (None, 29):
        if days_ago is not None:
            settle(receipt.ids[0], days_ago=days_ago)
        pass_days(0)

        assert idempotency.delete_expired(datetime.now(UTC)) == 0, days_ago

        assert IdempotencyKey.objects.get().look_at > datetime.now(UTC), days_ago
        assert accept(key=KEY).ids == receipt.ids, days_ago


def test_a_repeat_after_the_recipient_was_erased_sends_nothing_and_has_no_request_id() -> None:
    receipt = accept(key=KEY, request_id="r-1")
    settle(receipt.ids[0], days_ago=0)
    erasure.erase(
        cast.sender("acme").workspace_id, address=SOUND.to, actor="bob", now=datetime.now(UTC)
    )

    again = accept(key=KEY, request_id="r-2")

    assert (again.request_id, again.ids) == ("", receipt.ids)
