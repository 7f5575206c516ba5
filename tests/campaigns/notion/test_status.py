"""The status of a page follows from the books of its runs."""

from postledger.campaigns.notion.status_reports import Status, decide_status
from postledger.deliveries.queries import Books
from postledger.deliveries.states import State


def books(**counts: int) -> Books:
    return Books(sum(counts.values()), {state: counts.get(state.value, 0) for state in State})


def test_a_page_was_sent_only_if_nothing_failed_or_was_given_up() -> None:
    for runs, status in (
        ([books()], Status(0, 0, "Send")),
        ([books(accepted=3, suppressed=1, skipped=1)], Status(3, 0, "Send")),
        ([books(accepted=3, failed=1)], Status(3, 1, "Failed")),
        ([books(accepted=3, in_doubt=1)], Status(3, 1, "Failed")),
        ([books(accepted=3, cancelled=1)], Status(3, 0, "Failed")),
        ([books(accepted=3), books(accepted=2, failed=1)], Status(5, 1, "Failed")),
        ([books(accepted=1, cancelled=2), books(accepted=2)], Status(3, 0, "Send")),
        ([books(accepted=3), books(cancelled=1)], Status(3, 0, "Failed")),
    ):
        assert decide_status(runs) == status, runs
    for_good = [books(accepted=1, cancelled=2), books(accepted=1)]
    assert decide_status(for_good, is_left_out=True) == Status(2, 0, "Failed")
