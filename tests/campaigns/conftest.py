from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.campaigns import mailing
from tests.fakes import notion
from tests.fakes.notion import FakeNotion


@pytest.fixture
def fake(settings: Settings) -> Iterator[FakeNotion]:
    """A Notion that this installation is connected to."""
    with notion.running() as running:
        mailing.connect(settings, running)
        yield running
