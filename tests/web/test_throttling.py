"""A key keeps to its rate with Redis, without it, and with a Redis that hangs."""

import socket
import time
from contextlib import suppress
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from postledger.web.shared import bodies, throttle
from postledger.web.shared.guesses import GuessLimit
from postledger.web.shared.throttle import RateExceededError, Throttle
from tests.web.callers import caller, forget_visits

DEAD = "redis://127.0.0.1:1/0"


@pytest.fixture
def key_id() -> int:
    return uuid4().int >> 80


def count_taken(limiter: Throttle, key_id: int, tries: int) -> int:
    count = 0
    for _ in range(tries):
        try:
            limiter.take(key_id)
        except RateExceededError:
            continue
        count += 1
    return count


# A process by itself counts from full hour to full hour: the test must not stand between two.
@pytest.mark.parametrize(
    ("redis", "rate", "window"), [("up", "3/hour", 3600), ("down", "3/year", 31_104_000)]
)
def test_a_key_beyond_its_rate_is_told_when_to_come_back(
    redis: str, rate: str, window: int, settings: LazySettings, patient_throttle: None, db: None
) -> None:
    settings.API_RATE = rate
    if redis == "down":
        settings.REDIS_URL = DEAD
    alice, bob = caller("acme"), caller("acme")
    if redis == "up":
        # Keys of an earlier run had the same numbers, and Redis remembers them.
        counted = throttle.with_rate(rate)
        for who in (alice, bob):
            counted._shared.clear(counted._rate, str(who.key_id))

    replies = [alice.get("/v1/email") for _ in range(5)]

    assert [reply.status for reply in replies] == [200, 200, 200, 429, 429]
    assert replies[-1].body["code"] == "rate_exceeded"
    assert 1 <= int(replies[-1].headers["Retry-After"]) <= window
    assert bob.get("/v1/email").status == 200


@pytest.mark.server
@pytest.mark.usefixtures("patient_throttle")
def test_processes_share_a_rate_in_redis(settings: LazySettings, key_id: int) -> None:
    first, other = (Throttle("10/hour", settings.REDIS_URL) for _ in range(2))

    assert count_taken(first, key_id, 6) + count_taken(other, key_id, 20) == 10


@pytest.mark.usefixtures("patient_throttle")
def test_a_rate_drawn_in_blocks_is_used_up_to_the_last(settings: LazySettings, key_id: int) -> None:
    for rate in ("10/hour", "1000/hour", "1050/hour"):
        limiter = Throttle(rate, settings.REDIS_URL)

        assert count_taken(limiter, key_id, 1200) == int(rate.removesuffix("/hour")), rate


def test_without_redis_each_process_counts_for_itself(key_id: int) -> None:
    first, other = (Throttle("10/year", DEAD) for _ in range(2))

    assert (count_taken(first, key_id, 20), count_taken(other, key_id, 20)) == (10, 10)


def test_a_redis_that_hangs_delays_one_request_and_no_more(
    key_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttle, "_BACK_OFF", 600.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        limiter = Throttle("1000/hour", f"redis://127.0.0.1:{silent.getsockname()[1]}/0")

        started = time.monotonic()
        count_taken(limiter, key_id, 1)
        took = time.monotonic() - started
        asked = waiting_at(silent)
        count_taken(limiter, key_id, 500)
        asked_again = waiting_at(silent)

    assert took < 60
    assert (asked, asked_again) == (1, 0)


def waiting_at(silent: socket.socket) -> int:
    """How many came since this was last asked, to wait for an answer."""
    silent.settimeout(0)
    count = 0
    with suppress(BlockingIOError):
        while True:
            silent.accept()[0].close()
            count += 1
    return count


def wrong_key() -> str:
    return f"pl_live_{uuid4().hex[:8]}.{'a' * 43}"


def status_of(token: str, ip: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return Client().get("/v1/email", headers=headers, REMOTE_ADDR=ip).status_code


@pytest.mark.usefixtures("patient_throttle")
def test_wrong_keys_of_one_network_are_limited_and_the_familiar_key_is_not(
    settings: LazySettings, django_assert_num_queries: DjangoAssertNumQueries, db: None
) -> None:
    settings.WRONG_KEYS_OF_ONE = "3/hour"
    network = f"2001:db8:{uuid4().hex[:4]}:{uuid4().hex[:4]}"
    alice, bob = caller("acme"), caller("acme")
    assert status_of(alice.token, f"{network}::1") == 200

    tried = [status_of(wrong_key(), f"{network}::{n}") for n in range(5)]

    assert tried == [401, 401, 401, 429, 429]
    with django_assert_num_queries(0):
        assert status_of(wrong_key(), f"{network}::9") == 429
    assert status_of(alice.token, f"{network}::9") == 200
    # Nobody has seen this one here, so it might be a guess.
    assert status_of(bob.token, f"{network}::9") == 429
    assert status_of(bob.token, "192.0.2.200") == 200


@pytest.mark.usefixtures("patient_throttle")
def test_a_key_that_worked_before_works_in_a_new_process_too(
    settings: LazySettings, db: None
) -> None:
    settings.WRONG_KEYS_OF_ONE = "1/hour"
    network = f"2001:db8:{uuid4().hex[:4]}:{uuid4().hex[:4]}::1"
    familiar, revoked = uuid4().hex, uuid4().hex
    before = GuessLimit("wrong key", of_one="WRONG_KEYS_OF_ONE", of_all="WRONG_KEYS_OF_ALL")
    for key in (familiar, revoked):
        before.note_right(key)
    before.note_wrong(revoked, network)

    after = GuessLimit("wrong key", of_one="WRONG_KEYS_OF_ONE", of_all="WRONG_KEYS_OF_ALL")

    after.check(familiar, network)
    for key in (revoked, uuid4().hex):
        with pytest.raises(RateExceededError):
            after.check(key, network)


@pytest.mark.usefixtures("patient_throttle")
def test_wrong_keys_of_all_networks_are_limited(settings: LazySettings, db: None) -> None:
    settings.WRONG_KEYS_OF_ALL = f"{uuid4().int % 50 + 20}/hour"  # no other test counts by it
    most = int(settings.WRONG_KEYS_OF_ALL.removesuffix("/hour"))
    forget_visits(settings.WRONG_KEYS_OF_ALL, "wrong key")

    tried = [status_of(wrong_key(), f"192.0.2.{n}") for n in range(most + 2)]

    assert tried == [401] * most + [429, 429]


def test_a_request_that_runs_again_with_its_body_is_counted_once(
    settings: LazySettings, db: None
) -> None:
    settings.API_RATE, settings.REDIS_URL = "3/year", DEAD
    headers = {"Authorization": f"Bearer {caller('acme').token}"}
    again = {bodies.IS_COUNTED: True}

    statuses = [
        Client().get("/v1/email", headers=headers, **more).status_code  # type: ignore[arg-type]
        for more in ({}, again, {}, again, {}, again, {})
    ]

    assert statuses == [200] * 6 + [429]
