"""A workspace that can send campaigns, Anna, who owns it, and a draft."""

import pytest
from django.conf import LazySettings

from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)


@pytest.fixture
def anna(alice: Caller) -> Person:
    return visitors.sign_in(alice.workspace_id)


@pytest.fixture
def draft(alice: Caller) -> int:
    return newsroom.make_campaign(alice)
