"""A token gives access to its own workspace, until it ends, and exactly as it was printed."""

import random
import string
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from pytest_django import DjangoAssertNumQueries

from postledger.accounts import keys
from postledger.accounts.keys import Caller, NewKey, Scope
from postledger.accounts.models import ApiKey

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)


def make(workspace_id: int, *, is_test: bool = False) -> NewKey:
    return keys.create_key(
        workspace_id, name="shop", scopes=[Scope.SEND], is_test=is_test, actor="alice"
    )


def mutations(token: str, *, seed: int) -> Iterator[str]:
    """Tokens near the real one: one sign changed, lost, doubled, moved or added."""
    rng = random.Random(seed)
    signs = string.ascii_letters + string.digits + "-_.=+/ \0é٣"
    while True:
        place = rng.randrange(len(token))
        head, sign, tail = token[:place], token[place], token[place + 1 :]
        yield head + rng.choice(signs) + tail
        yield head + tail
        yield head + sign + sign + tail
        yield head + sign.swapcase() + tail
        yield head + tail[:1] + sign + tail[1:]
        yield head + rng.choice(signs) + sign + tail
        yield token + rng.choice(signs)


def test_a_token_is_recognised_as_its_key(acme: int) -> None:
    key = make(acme, is_test=True)

    caller = keys.recognise(key.token, now=NOW)

    assert caller == Caller(
        workspace_id=acme,
        key_id=key.key_id,
        prefix=key.prefix,
        scopes=frozenset({"mail:send"}),
        is_test=True,
    )


def test_a_token_tells_its_kind_carries_256_bits_and_is_in_no_repr(acme: int) -> None:
    live, test = make(acme), make(acme, is_test=True)

    assert live.token.startswith("pl_live_")
    assert test.token.startswith("pl_test_")
    secret = live.token.partition(".")[2]
    assert len(urlsafe_b64decode(secret + "=")) == 32
    assert secret not in repr(live)


def test_no_mutated_token_is_recognised(acme: int) -> None:
    token = make(acme).token
    mutated: set[str] = set()
    for text in mutations(token, seed=7):
        mutated |= {text} - {token}
        if len(mutated) == 2000:
            break

    accepted = [text for text in mutated if keys.recognise(text, now=NOW)]

    assert keys.recognise(token, now=NOW)
    assert accepted == []


def test_another_spelling_of_the_same_bits_is_not_recognised(acme: int) -> None:
    """The last sign of a secret carries four bits, so four signs stand for the same ones."""
    token = make(acme).token
    secret = token.partition(".")[2]
    twins = [
        token[:-1] + sign
        for sign in string.ascii_letters + string.digits + "-_"
        if urlsafe_b64decode(secret[:-1] + sign + "=") == urlsafe_b64decode(secret + "=")
    ]

    recognised = [twin for twin in twins if keys.recognise(twin, now=NOW)]

    assert len(twins) == 4
    assert recognised == [token]


def test_neither_the_secret_of_another_key_nor_what_was_never_a_token_is_recognised(
    acme: int,
) -> None:
    one, other = make(acme), make(acme)
    swapped = f"{one.prefix}.{other.token.partition('.')[2]}"
    for token in (swapped, "", ".", "pl_live_", "Bearer x", "pl_live_abcdefgh." + "A" * 43):
        assert keys.recognise(token, now=NOW) is None, token


def test_a_key_works_until_it_expires_and_not_a_moment_longer(acme: int) -> None:
    key = make(acme)
    ApiKey.objects.filter(pk=key.key_id).update(expires_at=NOW)

    assert keys.recognise(key.token, now=NOW - MOMENT)
    assert keys.recognise(key.token, now=NOW) is None


def test_a_use_is_noted_once_a_minute(acme: int) -> None:
    key = make(acme)
    moments = [NOW + timedelta(seconds=seconds) for seconds in (0, 1, 59, 60, 61, 121)]

    noted = []
    for moment in moments:
        keys.recognise(key.token, now=moment)
        noted.append(ApiKey.objects.get(pk=key.key_id).last_used_at)

    assert noted == [moments[i] for i in (0, 0, 0, 3, 3, 5)]


def test_a_key_in_use_costs_one_statement(
    acme: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    key = make(acme)
    keys.recognise(key.token, now=NOW)

    with django_assert_num_queries(1):
        keys.recognise(key.token, now=NOW + timedelta(seconds=1))
    used_at = ApiKey.objects.get(pk=key.key_id).last_used_at
    with django_assert_num_queries(1):
        keys.recognise(key.token[:-3] + "AAA", now=NOW + timedelta(hours=1))
    with django_assert_num_queries(0):
        keys.recognise("no token at all", now=NOW)
    assert ApiKey.objects.get(pk=key.key_id).last_used_at == used_at
