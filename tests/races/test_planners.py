from collections.abc import Sequence
from functools import partial

import pytest
from django.db import transaction

from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import NewDelivery, StreamKind
from postledger.deliveries.ledger import Planned, sql
from tests import cast
from tests.races import collide
from tests.races.collide import NOW

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def _plan_all(stream: int, step: int) -> int:
    """Plans the multiples of `step` below 6,000 in chunks; returns how many were new."""
    return sum(
        collide.plan(stream, first, first + 999, step=step).added
        for first in range(0, 6_000, 1_000)
    )


def _keys(stream: int) -> list[str]:
    return sorted(map(str, collide.column(stream, "dedupe_key").values()))


def _next_position(stream: int) -> int:
    [(position,)] = sql.rows(
        "SELECT next_position FROM deliveries_stream WHERE id = %(stream)s", {"stream": stream}
    )
    return int(position)


def test_a_planner_that_waits_for_another_repeats_none_of_its_keys() -> None:
    stream = cast.stream()

    with collide.uncommitted(partial(collide.plan, stream, 0, 1_199)):
        second = collide.waiting(partial(collide.plan, stream, 600, 1_799))

    answer = second.answer()
    assert isinstance(answer, Planned)
    assert (answer.added, answer.repeated) == (600, 600)
    assert _keys(stream) == sorted(f"r{n}" for n in range(1_800))
    assert max(cast.states(stream)) < _next_position(stream) == 2_400
    assert queries.read_books([stream])[stream].planned == 1_800


def test_a_planner_that_gives_up_leaves_its_keys_to_the_one_that_waits() -> None:
    stream = cast.stream()

    with transaction.atomic():
        collide.plan(stream, 0, 99)
        second = collide.waiting(partial(collide.plan, stream, 0, 99))
        transaction.set_rollback(True)

    answer = second.answer()
    assert isinstance(answer, Planned)
    assert (answer.added, answer.repeated) == (100, 0)
    assert sorted(cast.states(stream)) == list(range(100))


@pytest.mark.parametrize("steps", [(1, 1, 1, 1), (1, 2, 4, 5)], ids=["the same", "interleaved"])
def test_four_planners_of_sources_that_overlap_plan_each_key_once(steps: Sequence[int]) -> None:
    stream = cast.stream()

    added = collide.together([partial(_plan_all, stream, step) for step in steps])

    assert sum(added) == 6_000
    assert _keys(stream) == sorted(f"r{n}" for n in range(6_000))
    assert queries.read_books([stream])[stream].planned == 6_000
    covered, planned = _list_covered(stream), set(cast.states(stream))
    assert covered == planned if len(set(steps)) == 1 else covered >= planned


def _list_covered(stream: int) -> set[int]:
    """The positions of all batches; fails when one is in two of them."""
    positions = [at for lo, hi, _, _ in cast.batches(stream) for at in range(lo, hi)]
    assert len(positions) == len(set(positions))
    return set(positions)


def test_two_requests_with_one_key_get_one_delivery() -> None:
    stream = cast.stream(StreamKind.TRANSACTIONAL)

    with collide.uncommitted(partial(_enqueue, stream, ["k"])) as first:
        second = collide.waiting(partial(_enqueue, stream, ["k"]))
        position = first.answer()

    assert second.answer() == position
    assert list(cast.states(stream)) == position
    assert len(cast.batches(stream)) == 1


def _enqueue(stream: int, keys: Sequence[str]) -> list[int]:
    lines = [NewDelivery(f"{key}@example.com", dedupe_key=key) for key in keys]
    return ledger.enqueue(stream, lines, due_at=NOW)


@pytest.mark.parametrize("kind", list(StreamKind))
def test_requests_with_the_same_keys_in_opposite_orders_do_not_deadlock(kind: StreamKind) -> None:
    stream = cast.stream(kind)

    with collide.uncommitted(partial(_enqueue, stream, ["b"])):
        upwards = collide.waiting(partial(_enqueue, stream, ["a", "b", "c"]))
        downwards = collide.waiting(partial(_enqueue, stream, ["c", "b", "a"]))

    assert upwards.answer() == downwards.answer()[::-1]
    assert _keys(stream) == ["a", "b", "c"]
