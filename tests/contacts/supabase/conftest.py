from collections.abc import Iterator

import pytest

from tests.contacts.supabase import projects
from tests.fakes import postgrest
from tests.fakes.postgrest import FakePostgrest
from tests.journeys import stage


@pytest.fixture
def fake(acme: int) -> Iterator[FakePostgrest]:
    """A Supabase project that acme is connected to."""
    with postgrest.running(stage.database()) as running:
        projects.connect(acme, running)
        yield running
