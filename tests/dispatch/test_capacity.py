"""No workspace, stream or kind of mail takes every slot, and bodies stay within their memory."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from postledger.deliveries.entries import StreamKind
from postledger.dispatch.capacity import BodyMemory, Capacity, Limits, Slot

LIMITS = Limits()
ACME, GLOBEX = 1, 2


def single(stream: int, workspace: int = ACME) -> Slot:
    return Slot(stream, workspace, StreamKind.TRANSACTIONAL)


def topic(stream: int, workspace: int = ACME) -> Slot:
    return Slot(stream, workspace, StreamKind.TOPIC)


def bulk(stream: int, workspace: int = ACME) -> Slot:
    return Slot(stream, workspace, StreamKind.CAMPAIGN)


def mail_of_test(stream: int, workspace: int = ACME) -> Slot:
    return Slot(stream, workspace, StreamKind.TRANSACTIONAL, is_test=True)


def each_its_own(slot: Slot, count: int) -> list[Slot]:
    """As many slots of the same kind, every one of another workspace and stream."""
    return [Slot(1000 + n, 1000 + n, slot.kind) for n in range(count)]


def test_there_is_room_up_to_each_limit() -> None:
    rooms: list[tuple[list[Slot], Slot, bool]] = [
        ([], single(1), True),
        ([], bulk(1), True),
        # A stream of single mails may have six workers, any other two.
        ([single(1)] * 5, single(1), True),
        ([single(1)] * 6, single(1), False),
        ([single(1)] * 6, single(2), True),
        ([bulk(1)], bulk(1), True),
        ([bulk(1)] * 2, bulk(1), False),
        ([topic(1)] * 2, topic(1), False),
        # A workspace may have eight, whatever they are.
        ([bulk(n) for n in range(7)], bulk(9), True),
        ([bulk(n) for n in range(8)], bulk(9), False),
        ([bulk(n) for n in range(8)], single(9), False),
        ([bulk(n) for n in range(8)], bulk(9, GLOBEX), True),
        # Test mail may have half of them.
        ([mail_of_test(1)] * 3, mail_of_test(1), True),
        ([mail_of_test(1)] * 4, mail_of_test(2), False),
        ([mail_of_test(1)] * 4, mail_of_test(2, GLOBEX), True),
        ([mail_of_test(1)] * 4, single(2), True),
        ([*[single(1)] * 4, *[mail_of_test(2)] * 4], single(1), False),
        # Bulk mail leaves places for urgent mail, and the other way round.
        (each_its_own(bulk(0), 11), bulk(1), True),
        (each_its_own(bulk(0), 12), bulk(1), False),
        (each_its_own(bulk(0), 12), single(1), True),
        (each_its_own(bulk(0), 12), topic(1), True),
        # Single mails leave two of the urgent slots to topics.
        (each_its_own(single(0), 9), single(1), True),
        (each_its_own(single(0), 10), single(1), False),
        (each_its_own(single(0), 10), topic(1), True),
        ([*each_its_own(single(0), 10), topic(1)], topic(1), True),
        ([*each_its_own(single(0), 10), topic(1), topic(2)], topic(3), False),
        (each_its_own(topic(0), 12), single(1), False),
        (each_its_own(topic(0), 12), bulk(1), True),
        # And all together have sixteen.
        (each_its_own(bulk(0), 12) + [single(1)] * 3, single(1), True),
        (each_its_own(bulk(0), 12) + [single(1)] * 4, single(1), False),
    ]
    for taken, asked, is_admitted in rooms:
        assert Capacity(taken, LIMITS).admits(asked) is is_admitted, (taken, asked)


def test_free_slots_are_those_of_the_kind() -> None:
    free_slots: list[tuple[list[Slot], tuple[int, int, int]]] = [
        ([], (10, 12, 12)),
        (each_its_own(bulk(0), 5), (10, 11, 7)),
        (each_its_own(bulk(0), 12), (4, 4, 0)),
        (each_its_own(single(0), 10), (0, 2, 6)),
        (each_its_own(bulk(0), 16), (0, 0, 0)),
    ]
    kinds = (StreamKind.TRANSACTIONAL, StreamKind.TOPIC, StreamKind.CAMPAIGN)
    for taken, expected in free_slots:
        assert tuple(map(Capacity(taken, LIMITS).free, kinds)) == expected, taken


slots = st.builds(
    lambda workspace, number, kind, is_test: Slot(
        workspace * 100 + number * 6 + kind[0] * 2 + is_test, workspace, kind[1], is_test
    ),
    st.integers(1, 4),
    st.integers(0, 2),
    st.sampled_from(list(enumerate(StreamKind))),
    st.booleans(),
)
limits = st.builds(
    Limits,
    slots=st.integers(1, 16),
    urgent=st.integers(1, 12),
    single=st.integers(1, 12),
    bulk=st.integers(1, 12),
    workspace=st.integers(1, 8),
    tests=st.integers(1, 8),
    single_stream=st.integers(1, 6),
    bulk_stream=st.integers(1, 3),
)


@given(st.lists(slots, max_size=60), limits)
def test_who_admits_one_after_the_other_never_exceeds_a_limit(
    asked: list[Slot], allowed: Limits
) -> None:
    taken: list[Slot] = []
    for slot in asked:
        if Capacity(taken, allowed).admits(slot):
            taken.append(slot)

    urgent = sum(slot.kind is not StreamKind.CAMPAIGN for slot in taken)
    singles = sum(slot.kind is StreamKind.TRANSACTIONAL for slot in taken)
    streams = Counter((slot.stream_id, slot.kind) for slot in taken)
    assert len(taken) <= allowed.slots
    assert urgent <= allowed.urgent
    assert singles <= allowed.single
    assert len(taken) - urgent <= allowed.bulk
    tests = Counter(slot.workspace_id for slot in taken if slot.is_test)
    assert all(n <= allowed.tests for n in tests.values())
    assert all(n <= allowed.workspace for n in Counter(p.workspace_id for p in taken).values())
    assert all(
        count
        <= (allowed.single_stream if kind is StreamKind.TRANSACTIONAL else allowed.bulk_stream)
        for (_, kind), count in streams.items()
    )


@given(st.lists(slots, max_size=30), slots, limits)
def test_there_is_no_room_where_something_is_named_full(
    taken: list[Slot], asked: Slot, allowed: Limits
) -> None:
    places = Capacity(taken, allowed)

    is_full = (
        asked.stream_id in places.full_streams()
        or asked.workspace_id in places.full_workspaces()
        or (asked.is_test and asked.workspace_id in places.full_of_tests())
        or not places.free(asked.kind)
    )

    assert places.admits(asked) is not is_full


def test_small_mails_go_whatever_else_is_in_memory() -> None:
    memory = BodyMemory(limit=100, small_round=10)
    memory.take([100])

    assert memory.take([2] * 5) == (5, 0)


def test_large_mails_go_as_far_as_they_fit_and_one_that_never_fits_goes_alone() -> None:
    memory = BodyMemory(limit=100, small_round=10)

    assert memory.take([40, 40, 40]) == (2, 80)
    assert memory.take([40]) == (0, 0)
    memory.give_back(80)
    assert memory.take([40]) == (1, 40)
    memory.give_back(40)
    assert memory.take([500, 1]) == (1, 500)
    assert memory.take([11]) == (0, 0)


@given(st.lists(st.lists(st.integers(0, 120), min_size=1), max_size=30))
def test_no_more_than_the_limit_is_taken_but_by_one_mail(rounds: list[list[int]]) -> None:
    memory = BodyMemory(limit=100, small_round=10)
    taken: list[tuple[int, int]] = []  # mails and bytes of the rounds that are counted
    for sizes in rounds:
        count, size = memory.take(sizes)
        if size:
            taken.append((count, size))
        total = sum(size for _, size in taken)
        assert total <= memory.limit or [count for count, _ in taken] == [1]
        if not count:
            assert total + sizes[0] > memory.limit
            memory.give_back(taken.pop()[1])


def test_a_worker_that_waits_for_moments_takes_a_slot_of_its_stream_alone() -> None:
    pacing = [
        replace(Slot(number, 1, StreamKind.CAMPAIGN), is_pacing=True)
        for number in range(50)
        for _ in range(2)
    ]
    capacity = Capacity(pacing, Limits())

    assert capacity.free(StreamKind.CAMPAIGN) == Limits().bulk
    assert capacity.admits(Slot(99, 1, StreamKind.CAMPAIGN))
    assert not capacity.admits(Slot(7, 1, StreamKind.CAMPAIGN))
    assert not Capacity(pacing * 2, Limits()).free(StreamKind.CAMPAIGN)
