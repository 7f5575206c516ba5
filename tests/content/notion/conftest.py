from collections.abc import Iterator

import pytest

from tests.fakes import notion
from tests.fakes.notion import FakeNotion


@pytest.fixture
def fake() -> Iterator[FakeNotion]:
    with notion.running() as running:
        yield running
