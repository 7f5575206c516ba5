"""A wake-up never waits for the broker, and names each stream once."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from postledger.lib.wake import WakeSender
from postledger.workers import tasks
from tests.workers import brokers

pytestmark = pytest.mark.server

STREAM = 1_382_979_469_313


@contextmanager
def sending(url: str = "") -> Iterator[tuple[WakeSender, str]]:
    """A sender of wake-ups at this broker, and the prefix of its queues."""
    with brokers.own_queues() as prefix:
        brokers.declare(prefix)
        with brokers.default_app(brokers.celery_app(prefix, url)):
            yield WakeSender(tasks.publish_wake_up), prefix


def wait_for_wake_ups(prefix: str, expected: int) -> int:
    """The wake-ups at the broker, once so many were there and no more come."""
    count, end = 0, time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.2)
        more = brokers.take_wake_ups(prefix)
        count += more
        if count >= expected and not more:
            break
    return count


def test_a_hundred_wake_ups_of_one_stream_are_a_few_messages() -> None:
    with sending() as (sender, prefix):
        for _ in range(100):
            sender.notify(STREAM)
        count = wait_for_wake_ups(prefix, 1)

    assert 1 <= count <= 10


def test_every_stream_is_woken() -> None:
    with sending() as (sender, prefix):
        for number in range(20):
            sender.notify(STREAM + number)
        count = wait_for_wake_ups(prefix, 20)

    assert count == 20


def test_a_wake_up_never_waits_nor_raises_when_the_broker_is_away() -> None:
    with brokers.default_app(brokers.celery_app("nobody", brokers.dead_url())):
        sender = WakeSender(tasks.publish_wake_up)
        began = time.monotonic()
        for number in range(1000):
            sender.notify(STREAM + number % 10)
        time.sleep(0.1)  # the publisher has failed by now
        for number in range(1000):
            sender.notify(STREAM + number % 10)
        took = time.monotonic() - began

    assert took < 60  # two thousand connections that are waited for would take longer
    assert len(sender._pending) <= 10


@pytest.mark.slow
def test_wake_ups_are_sent_again_after_the_connection_was_cut() -> None:
    heard = []
    with brokers.line() as line, sending(line.url) as (sender, prefix):
        for _ in range(3):
            heard.append(notify_until_heard(sender, prefix))
            line.cut()

    assert heard == [True, True, True]


def notify_until_heard(sender: WakeSender, prefix: str) -> bool:
    """A wake-up just after a cut may be lost; a later one must not be."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        sender.notify(STREAM)
        time.sleep(0.2)
        if brokers.take_wake_ups(prefix):
            return True
    return False
