"""A failure is requeued or superseded, whoever comes first, and never both."""

from functools import partial

import pytest
from psycopg import sql as pg

from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import SeenDelivery
from postledger.deliveries.states import State
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

KEYS = pg.SQL("SELECT key AS dedupe_key FROM unnest(ARRAY['r0', 'r1']) AS key")


def _failed(*, mails: int = 1) -> int:
    """A stream whose mails failed before they were armed."""
    stream = cast.stream(mails=mails)
    cast.judge(stream, lambda at: entries.invalid(at, code="template_missing_variable"))
    return stream


def _supersede(stream: int) -> int:
    return ledger.supersede([stream], source=KEYS, params={}, actor="alice")


def _requeue(stream: int, position: int = 0) -> list[int]:
    return ledger.requeue(stream, [SeenDelivery(position, 1)], actor="bob")


def test_a_requeue_waits_for_the_planner_that_supersedes_and_does_nothing() -> None:
    stream = _failed()

    with collide.uncommitted(partial(_supersede, stream)) as planner:
        requeue = collide.waiting(partial(_requeue, stream))
        assert planner.answer() == 1

    assert requeue.answer() == []
    assert cast.states(stream) == {0: State.CANCELLED}


def test_a_planner_waits_for_the_requeue_under_way_and_leaves_the_mail_to_its_run() -> None:
    stream = _failed()

    with collide.uncommitted(partial(_requeue, stream)) as requeue:
        planner = collide.waiting(partial(_supersede, stream))
        assert requeue.answer() == [0]

    assert planner.answer() == 0
    assert cast.states(stream) == {0: State.WAITING}


def test_a_failure_that_was_handed_over_while_the_planner_waited_is_not_superseded() -> None:
    stream = _failed(mails=2)

    with collide.uncommitted(partial(_requeue, stream, 0)):
        planner = collide.waiting(partial(_supersede, stream))
        assert _requeue(stream, 1) == [1]
        cast.book(stream, lambda at: entries.refused(at, code="550"))

    assert planner.answer() == 0
    assert cast.states(stream) == {0: State.WAITING, 1: State.FAILED}
