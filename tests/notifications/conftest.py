from pathlib import Path

import pytest
from pytest_django import Settings

from postledger.notifications.models import Topic
from tests.notifications import cast
from tests.notifications.mail_room import MailRoom


@pytest.fixture
def topic(db: None, settings: Settings) -> Topic:
    return cast.topic(settings)


@pytest.fixture
def room(db: None, settings: Settings, tmp_path: Path) -> MailRoom:
    return MailRoom(settings, tmp_path, ["ann"])
