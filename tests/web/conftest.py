"""The callers: alice's program of acme and charlie's of globex."""

from collections.abc import Iterator

import pytest

from postledger.web.shared import throttle
from tests.web.callers import Caller, caller


@pytest.fixture
def alice(db: None) -> Caller:
    return caller("acme")


@pytest.fixture
def charlie(db: None) -> Caller:
    return caller("globex")


@pytest.fixture
def patient_throttle(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Redis counts, however busy the machine is: a process by itself would let more through."""
    monkeypatch.setattr(throttle, "_TIMEOUT", 5.0)
    throttle._throttle.cache_clear()
    yield
    throttle._throttle.cache_clear()
