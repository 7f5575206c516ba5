from collections.abc import Iterator

import pytest

from tests.feedback.sns import SnsServer


@pytest.fixture
def sns() -> Iterator[SnsServer]:
    with SnsServer().running() as server:
        yield server
