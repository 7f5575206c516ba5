"""An empty tally for every test: what others counted in this process is theirs."""

from collections.abc import Iterator

import pytest

from postledger.observability.metrics import PENDING


@pytest.fixture(autouse=True)
def empty_tally() -> Iterator[None]:
    before = PENDING.take()
    yield
    PENDING.take()
    PENDING.add(before.items())
