"""BATCH_SIZE is the largest window: no more mails of a batch are with a provider at a time."""

from pathlib import Path

import pytest

from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from tests.dispatch import office

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE = [f"slow+{number}@example.com" for number in range(120)]


def read_armed_windows(stream_id: int) -> list[int]:
    """How many mails each armed window of a stream has."""
    rows = sql.rows(
        "SELECT armed_to - lo FROM deliveries_batch"
        " WHERE stream_id = %(stream)s AND armed_to IS NOT NULL",
        {"stream": stream_id},
    )
    return [size for (size,) in rows]


@pytest.mark.slow
@pytest.mark.sample
def test_at_most_fifty_mails_of_a_batch_are_with_the_provider(tmp_path: Path) -> None:
    stream_id = office.stream(office.open_office(tmp_path), PEOPLE)
    seen: set[int] = set()

    def is_done() -> bool:
        seen.update(read_armed_windows(stream_id))
        return not office.waiting(stream_id)

    with office.dispatching() as dispatcher:
        office.until(is_done, dispatcher)

    assert max(seen) == office.OPTIONS.largest_window == 50
    assert office.counts(stream_id) == {State.ACCEPTED: 120}
