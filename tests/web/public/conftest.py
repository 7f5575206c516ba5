"""An installation with public doors: acme is its first workspace, globex another."""

import pytest
from django.conf import LazySettings

from tests.contacts import people
from tests.web.public import visiting


@pytest.fixture(autouse=True)
def public_doors(settings: LazySettings) -> None:
    settings.UNSUBSCRIBE_SECRET = visiting.SECRET
    settings.PUBLIC_URL = visiting.PUBLIC_URL
    # Redis remembers earlier runs; what is limited has tests of its own.
    settings.PUBLIC_RATE = "1000000/minute"
    settings.SUBSCRIBE_RATE = "1000000/minute"
    settings.ONE_CLICK_RATE = "1000000/minute"


@pytest.fixture
def acme(db: None) -> int:
    return people.workspace("acme")


@pytest.fixture
def globex(acme: int) -> int:
    return people.workspace("globex")
