import threading
import time
from datetime import timedelta
from functools import partial

import pytest

from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import SeenDelivery, StreamKind
from postledger.deliveries.ledger import sql
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def _retire() -> int:
    return ledger.retire_idle_streams(idle=timedelta())


def _has_lane(stream: int) -> bool:
    return bool(
        sql.rows("SELECT 1 FROM deliveries_lane WHERE stream_id = %(stream)s", {"stream": stream})
    )


def _finish(stream: int) -> None:
    while claim := collide.claim(stream, limit=50):
        windows = collide.whole(claim)
        assert collide.arm(claim, *windows) == windows
        ledger.settle(claim, windows, results=collide.accept_all(*windows))


def test_a_lane_is_not_retired_while_work_is_being_added() -> None:
    stream = cast.stream()

    with collide.uncommitted(partial(cast.enqueue, stream, range(3))):
        assert collide.start(_retire).answer() == 0

    assert _has_lane(stream)
    assert ledger.next_streams(limit=5) == [stream]


def test_work_added_while_the_lane_is_being_retired_waits_and_brings_it_back() -> None:
    stream = cast.stream()

    with collide.uncommitted(_retire) as retire:
        enqueue = collide.waiting(partial(cast.enqueue, stream, range(3)))
        assert retire.answer() == 1

    assert enqueue.answer() == [0, 1, 2]
    assert ledger.next_streams(limit=5) == [stream]


def test_a_requeue_while_the_lane_is_being_retired_waits_and_brings_it_back() -> None:
    stream = cast.stream(mails=1)
    claim, window = cast.armed(stream)
    ledger.settle(claim, [window], results=[entries.refused(0, code="550")])

    with collide.uncommitted(_retire) as retire:
        requeue = collide.waiting(
            lambda: ledger.requeue(stream, [SeenDelivery(0, 1)], actor="alice")
        )
        assert retire.answer() == 1

    assert requeue.answer() == [0]
    assert ledger.next_streams(limit=5) == [stream]


@pytest.mark.slow
@pytest.mark.sample
def test_a_stream_with_work_always_has_its_lane_however_often_lanes_are_retired() -> None:
    streams = [cast.stream(StreamKind.TRANSACTIONAL), cast.stream(StreamKind.CAMPAIGN)]
    rounds = dict.fromkeys(streams, 0)
    retired: list[int] = []

    with (
        collide.meanwhile([partial(_keep_retiring, retired)] * 2),
        collide.meanwhile([partial(_add_and_finish, stream, rounds) for stream in streams]),
    ):
        began = time.monotonic()
        while time.monotonic() < began + 2 or min(rounds.values()) < 4 or sum(retired) < 4:
            assert collide.findings(*streams) == []
            assert time.monotonic() < began + collide.PATIENCE, (rounds, retired)


def _keep_retiring(retired: list[int], ends: threading.Event) -> None:
    while not ends.is_set():
        if count := _retire():
            retired.append(count)


def _add_and_finish(stream: int, rounds: dict[int, int], ends: threading.Event) -> None:
    while not ends.is_set():
        first = rounds[stream] * 3
        cast.enqueue(stream, range(first, first + 3))
        assert _has_lane(stream)
        _finish(stream)
        rounds[stream] += 1
