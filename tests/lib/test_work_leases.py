"""Who has a lease of work keeps others from it, and for no longer than they have it."""

from contextlib import ExitStack
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection

from postledger.deliveries.ledger import sql
from postledger.lib import work_leases
from postledger.lib.models import WorkLease
from postledger.lib.work_leases import Work
from tests import work_leases as others
from tests.journeys import rig
from tests.races import collide

pytestmark = pytest.mark.django_db(transaction=True)


def gets(number: int, work: Work = Work.IMPORT) -> bool:
    """Whether somebody else gets the lease; they give it back at once."""

    def take() -> bool:
        with work_leases.alone(work, number) as is_ours:
            return is_ours

    return collide.start(take).answer()


def test_work_that_somebody_does_is_begun_by_nobody_else() -> None:
    with work_leases.alone(Work.IMPORT, 7) as is_ours:
        assert is_ours
        assert not gets(7)
        assert not gets(7), "who did not get it took it from nobody"
        assert gets(8)
        assert gets(7, Work.SYNC)
        assert work_leases.held(Work.IMPORT) == {7}
    assert gets(7)
    assert not WorkLease.objects.exists()


def test_a_lease_is_given_back_by_who_fails() -> None:
    with pytest.raises(ZeroDivisionError), work_leases.alone(Work.IMPORT, 7):
        _ = 1 // 0
    assert gets(7)


def test_the_lease_of_who_died_runs_out() -> None:
    sql.rows(
        "INSERT INTO lib_worklease VALUES"
        " ('import', 7, %(holder)s, clock_timestamp() + interval '30 seconds')",
        {"holder": uuid4()},
    )
    assert not gets(7)

    others.run_out()

    assert work_leases.held(Work.IMPORT) == frozenset()
    assert gets(7)


def test_who_was_late_does_not_give_back_the_lease_of_another() -> None:
    late = ExitStack()
    late.enter_context(work_leases.alone(Work.IMPORT, 7))
    others.run_out()

    with work_leases.alone(Work.IMPORT, 7) as is_anothers:
        late.close()

        assert is_anothers
        assert not gets(7)


def test_a_lease_is_renewed_while_its_work_lasts() -> None:
    with work_leases.alone(Work.IMPORT, 7, duration=timedelta(seconds=1)):
        begin = WorkLease.objects.get().until
        rig.until(lambda: WorkLease.objects.get().until > begin + timedelta(seconds=1))


def test_who_goes_on_with_another_connection_gives_the_lease_back() -> None:
    """As behind a pooler, which gives every transaction the next connection that is free."""
    with work_leases.alone(Work.IMPORT, 7):
        connection.close()

    assert gets(7)
