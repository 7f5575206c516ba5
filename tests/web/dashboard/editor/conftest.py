"""A workspace that can send campaigns, and a draft."""

import pytest

from tests.web import newsroom
from tests.web.callers import Caller


@pytest.fixture(autouse=True)
def _furnished(furnished: None) -> None:
    """In every test of a draft."""


@pytest.fixture
def draft(alice: Caller) -> int:
    return newsroom.make_campaign(alice)
