import pytest
from django.db import connection

from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Window
from postledger.deliveries.states import State
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def _edit(stream_id: int) -> None:
    """Changes a waiting line without any lock on its batch, as no verb does today."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_delivery SET variables = '{}' WHERE stream_id = %s", [stream_id]
        )


@pytest.mark.parametrize("is_plain", [True, False])
def test_a_settle_books_a_line_that_changed_while_it_waited_for_it(*, is_plain: bool) -> None:
    stream_id = cast.stream(mails=3)
    claim, window = cast.armed(stream_id)
    last = (
        entries.accepted(2, message_id="m2")
        if is_plain
        else entries.try_later(2, delay=cast.LEASE, code="BUSY")
    )
    results = [*(entries.accepted(at, message_id=f"m{at}") for at in (0, 1)), last]

    with collide.uncommitted(lambda: _edit(stream_id)):
        settle = collide.waiting(lambda: ledger.settle(claim, [window], results=results))
    settled = settle.answer()

    assert sum(settled.counts.values()) + settled.retried == 3


def test_a_verdict_ends_a_line_that_changed_while_it_was_waited_for() -> None:
    stream_id = cast.stream(mails=2)
    claim = cast.claim(stream_id)
    window = Window(claim.batches[0], 2)
    verdicts = [entries.expired(0), entries.expired(1)]

    with collide.uncommitted(lambda: _edit(stream_id)):
        arm = collide.waiting(
            lambda: ledger.arm(claim, [window], lease_time=cast.LEASE, verdicts=verdicts)
        )

    assert arm.answer() == []
    assert set(cast.states(stream_id).values()) == {State.EXPIRED}
