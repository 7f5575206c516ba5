"""The key of hashed addresses: no copy of the database has it, and no new secret changes it."""

from hashlib import sha256
from uuid import uuid4

import pytest
from django.db import connection
from pytest_django import Settings

from postledger.accounts import hash_key
from postledger.contacts import suppressions
from postledger.contacts.actions import suppression
from postledger.contacts.models import Suppression
from postledger.contacts.states import SuppressionReason
from postledger.lib.secrets import UnsealableError
from tests.cli import command_line
from tests.contacts import people
from tests.contacts.people import R1


@pytest.fixture
def other_secret() -> str:
    """A secret that no other test has used: a process remembers what each of them unsealed."""
    return f"another-secret-of-the-tests-{uuid4().hex}"


@pytest.fixture
def acme(db: None) -> int:
    workspace_id = people.workspace("acme")
    suppression.suppress(workspace_id, address=R1, reason=SuppressionReason.BY_HAND, actor="alice")
    return workspace_id


def read_stored_bytes() -> set[bytes]:
    """The values of all binary columns of all tables."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attrelid::regclass::text, quote_ident(attname) FROM pg_attribute"
            " JOIN pg_class ON pg_class.oid = attrelid"
            " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
            " AND NOT relispartition AND atttypid = 'bytea'::regtype AND NOT attisdropped"
        )
        columns = cursor.fetchall()
        values = set()
        for table, column in columns:
            cursor.execute(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL")
            values |= {bytes(value) for (value,) in cursor.fetchall()}
    return values


def test_nothing_in_the_database_tells_whose_hash_it_is(acme: int) -> None:
    stored = bytes(Suppression.objects.get().address_hash)

    keys = read_stored_bytes()

    assert stored in keys
    assert [key for key in (b"", *keys) if sha256(key + R1.encode()).digest()[:16] == stored] == []
    assert sha256(hash_key.read() + R1.encode()).digest()[:16] == stored


def test_the_key_is_useless_under_another_secret_until_the_old_one_is_named_and_all_resealed(
    acme: int, settings: Settings, other_secret: str
) -> None:
    old, key = settings.SECRET_KEY, hash_key.read()
    settings.SECRET_KEY = other_secret

    with pytest.raises(UnsealableError, match="SECRET_KEY_PREVIOUS"):
        suppressions.find_status(acme, address=R1)

    settings.SECRET_KEY_FALLBACKS = [old]
    assert hash_key.read() == key
    assert suppressions.find_status(acme, address=R1).reason is SuppressionReason.BY_HAND
    command_line.run("account", "reseal")
    settings.SECRET_KEY_FALLBACKS = []
    assert suppressions.find_status(acme, address=R1).reason is SuppressionReason.BY_HAND


@pytest.mark.django_db
def test_a_text_has_another_hash_for_another_purpose() -> None:
    hashes = {hash_key.hash_text("order-5", purpose=purpose) for purpose in ("key", "request")}

    assert len(hashes) == 2
    assert hash_key.hash_text("order-5", purpose="key") in hashes
