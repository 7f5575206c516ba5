"""Who has a lock keeps others from it, and for no longer than they have it."""

from collections.abc import Iterator

import psycopg
import pytest

from postledger.lib import advisory
from postledger.lib.advisory import Lock
from tests.journeys import stage

pytestmark = pytest.mark.django_db


@pytest.fixture
def other() -> Iterator[psycopg.Connection]:
    with psycopg.connect(stage.database(), autocommit=True) as connected:
        yield connected


def gets(other: psycopg.Connection, id_: int, *, shared: bool = False) -> bool:
    """Whether somebody else gets the lock; they give it back at once."""
    kind = "_shared" if shared else ""
    place = (Lock.IMPORT.value, id_)
    [got] = other.execute(f"SELECT pg_try_advisory_lock{kind}(%s, %s)", place).fetchone() or [None]
    if got:
        other.execute(f"SELECT pg_advisory_unlock{kind}(%s, %s)", place)
    return bool(got)


def test_a_lock_that_somebody_has_alone_is_had_by_nobody_else(other: psycopg.Connection) -> None:
    with advisory.alone(Lock.IMPORT, 7) as is_ours:
        assert is_ours
        assert not gets(other, 7)
        assert not gets(other, 7, shared=True)
        assert gets(other, 8)
    assert gets(other, 7)


def test_a_lock_that_is_shared_is_had_by_nobody_alone(other: psycopg.Connection) -> None:
    with advisory.shared(Lock.IMPORT, 7) as is_ours:
        assert is_ours
        assert gets(other, 7, shared=True)
        assert not gets(other, 7)
    assert gets(other, 7)


def test_who_does_not_get_a_lock_takes_it_from_nobody(other: psycopg.Connection) -> None:
    other.execute("SELECT pg_advisory_lock(%s, 7)", [Lock.IMPORT.value])
    for _ in range(2):
        with advisory.alone(Lock.IMPORT, 7) as is_ours:
            assert not is_ours


def test_a_lock_is_given_back_by_whoever_fails(other: psycopg.Connection) -> None:
    with pytest.raises(ZeroDivisionError), advisory.alone(Lock.IMPORT, 7):
        _ = 1 // 0
    assert gets(other, 7)


def test_the_lock_of_a_stream_has_room_for_its_number(other: psycopg.Connection) -> None:
    with advisory.alone(Lock.IMPORT, (322 << 32) + 7):
        assert not gets(other, 7)
