from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.campaigns import mailouts, press
from tests.fakes import notion
from tests.fakes.notion import FakeNotion
from tests.web import callers
from tests.web.callers import Caller


@pytest.fixture
def acme(db: None, settings: Settings) -> int:
    return press.set_up_workspace(settings)


@pytest.fixture
def fake(db: None, settings: Settings) -> Iterator[FakeNotion]:
    """A Notion that acme, which can send campaigns, is connected to."""
    workspace_id = press.set_up_workspace(settings)
    with notion.running() as running:
        mailouts.connect(settings, running, workspace_id)
        yield running


@pytest.fixture
def alice(fake: FakeNotion) -> Caller:
    """A program of acme, which has three readers."""
    who = callers.caller("acme")
    press.people(who.workspace_id, 3)
    return who
