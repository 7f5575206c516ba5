from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.fakes import postgrest
from tests.fakes.postgrest import FakePostgrest
from tests.journeys import stage


@pytest.fixture
def fake(db: None, settings: Settings) -> Iterator[FakePostgrest]:
    """A Supabase project that this installation is connected to."""
    with postgrest.running(stage.database()) as running:
        settings.SUPABASE_URL, settings.SUPABASE_SERVICE_ROLE_KEY = running.url, running.key
        yield running
