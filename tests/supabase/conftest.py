from collections.abc import Iterator

import pytest

from tests.contacts import people
from tests.fakes import postgrest
from tests.fakes.postgrest import FakePostgrest
from tests.journeys import stage
from tests.supabase import projects


@pytest.fixture
def acme(db: None) -> int:
    return people.workspace("acme")


@pytest.fixture
def globex(db: None) -> int:
    return people.workspace("globex")


@pytest.fixture
def fake(acme: int) -> Iterator[FakePostgrest]:
    """A Supabase project that acme is connected to."""
    with postgrest.running(stage.database()) as running:
        projects.connect(acme, running)
        yield running
