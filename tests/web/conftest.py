"""The cast at the door: alice's program of acme and charlie's of globex."""

import pytest

from tests.web.callers import Caller, caller


@pytest.fixture
def alice(db: None) -> Caller:
    return caller("acme")


@pytest.fixture
def charlie(db: None) -> Caller:
    return caller("globex")
