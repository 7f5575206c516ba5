"""What a page is told follows from the books of its runs."""

import pytest

from postledger.campaigns.mailout_results import Result, result
from postledger.deliveries.queries import Books
from postledger.deliveries.states import State


def books(**counts: int) -> Books:
    return Books(sum(counts.values()), {state: counts.get(state.value, 0) for state in State})


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ([books()], Result(0, 0, "Send")),
        ([books(accepted=3, suppressed=1, skipped=1)], Result(3, 0, "Send")),
        ([books(accepted=3, failed=1)], Result(3, 1, "Failed")),
        ([books(accepted=3, in_doubt=1)], Result(3, 1, "Failed")),
        ([books(accepted=3, cancelled=1)], Result(3, 0, "Failed")),
        ([books(accepted=3), books(accepted=2, failed=1)], Result(5, 1, "Failed")),
        ([books(accepted=1, cancelled=2), books(accepted=2)], Result(3, 0, "Send")),
        ([books(accepted=3), books(cancelled=1)], Result(3, 0, "Failed")),
    ],
)
def test_a_page_was_sent_only_if_nothing_failed_or_was_given_up(
    runs: list[Books], told: Result
) -> None:
    assert result(runs) == told


def test_who_was_left_out_for_good_was_not_sent_to() -> None:
    runs = [books(accepted=1, cancelled=2), books(accepted=1)]

    assert result(runs, is_left_out=True) == Result(2, 0, "Failed")
