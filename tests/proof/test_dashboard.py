"""The proof about the dashboard in small: what it takes for a page that moves and adds up."""

import pytest

from tools.proof.dashboard.live_page import Reading, Watched

STATES = (
    "accepted",
    "failed",
    "skipped",
    "suppressed",
    "expired",
    "cancelled",
    "in_doubt",
    "waiting",
)


def read(at: float, accepted: int, *, planned: int = 100, **changes: int) -> Reading:
    terms = {**dict.fromkeys(STATES, 0), "accepted": accepted, "waiting": planned - accepted}
    return Reading(at, planned, tuple((terms | changes).items()), drawn=100.0)


def test_the_longest_gap_is_that_between_two_changes_and_not_between_readings() -> None:
    seen = Watched([read(0.0, 0), read(0.2, 10), read(0.4, 10), read(2.4, 10), read(2.6, 100)])

    assert seen.changes.moments == [0.0, 0.2, 2.6]
    assert seen.changes.longest_gap == pytest.approx(2.4)


def test_a_page_that_never_changes_has_no_end_to_its_gap() -> None:
    assert Watched([read(0.0, 0), read(9.0, 0)]).changes.longest_gap == float("inf")


def test_the_pace_is_that_of_the_results_until_the_last_of_them() -> None:
    seen = Watched([read(0.0, 0), read(1.0, 20), read(3.0, 100), read(9.0, 100)])

    assert seen.pace == pytest.approx(40.0)


@pytest.mark.parametrize(
    "reading",
    [
        read(0.0, 10, failed=1),
        Reading(0.0, 0, (), drawn=0.0),
        Reading(0.0, 100, read(0.0, 10).terms, drawn=98.8),
    ],
    ids=["a mail too many", "terms that are missing", "a bar with a hole"],
)
def test_a_reading_that_does_not_add_up_is_noticed(reading: Reading) -> None:
    assert Watched([read(0.0, 10), reading]).wrong == [reading]
