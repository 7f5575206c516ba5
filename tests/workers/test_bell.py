"""Ringing costs nothing, whatever the broker does, and says each thing once."""

import time

from postledger.workers.bell import Bell
from tests.workers import brokers

STREAM = 1_382_979_469_313


def wait_for_bells(prefix: str, expected: int) -> int:
    """The bells at the broker, once so many were there and no more come."""
    count, end = 0, time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.2)
        more = brokers.taken(prefix)
        count += more
        if count >= expected and not more:
            break
    return count


def test_a_hundred_rings_of_one_stream_are_a_few_messages() -> None:
    with brokers.own_queues() as prefix:
        brokers.declare(prefix)
        with brokers.hung_up(brokers.celery_app(prefix)):
            bell = Bell()
            for _ in range(100):
                bell.ring(STREAM)
            count = wait_for_bells(prefix, 1)

    assert 1 <= count <= 10


def test_every_stream_that_rings_is_heard() -> None:
    with brokers.own_queues() as prefix:
        brokers.declare(prefix)
        with brokers.hung_up(brokers.celery_app(prefix)):
            bell = Bell()
            for number in range(20):
                bell.ring(STREAM + number)
            count = wait_for_bells(prefix, 20)

    assert count == 20


def test_ringing_never_waits_nor_raises_when_the_broker_is_away() -> None:
    with brokers.hung_up(brokers.celery_app("nobody", brokers.dead_url())):
        bell = Bell()
        began = time.monotonic()
        for number in range(1000):
            bell.ring(STREAM + number % 10)
        time.sleep(0.1)  # the publisher has failed by now
        for number in range(1000):
            bell.ring(STREAM + number % 10)
        took = time.monotonic() - began

    assert took < 10
    assert len(bell._rung) <= 10


def test_the_bell_rings_again_after_its_line_was_cut() -> None:
    with brokers.own_queues() as prefix, brokers.line() as line:
        brokers.declare(prefix)
        with brokers.hung_up(brokers.celery_app(prefix, line.url)):
            bell = Bell()
            heard = []
            for _ in range(3):
                heard.append(ring_until_heard(bell, prefix))
                line.cut()

    assert heard == [True, True, True]


def ring_until_heard(bell: Bell, prefix: str) -> bool:
    """What is rung just after a cut may be lost; what is rung later must not be."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        bell.ring(STREAM)
        time.sleep(0.2)
        if brokers.taken(prefix):
            return True
    return False
