"""How many large mails a process has in memory at once."""

from hypothesis import given
from hypothesis import strategies as st

from postledger.dispatch.body_memory import BodyMemory


def test_small_mails_go_whatever_else_is_in_memory() -> None:
    memory = BodyMemory(limit=100, small_round=10)
    memory.take([100])

    assert memory.take([2] * 5) == (5, 0)


def test_large_mails_go_as_far_as_they_fit() -> None:
    memory = BodyMemory(limit=100, small_round=10)

    assert memory.take([40, 40, 40]) == (2, 80)
    assert memory.take([40]) == (0, 0)
    memory.give_back(80)
    assert memory.take([40]) == (1, 40)


def test_a_mail_larger_than_the_limit_goes_alone() -> None:
    memory = BodyMemory(limit=100, small_round=10)

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
