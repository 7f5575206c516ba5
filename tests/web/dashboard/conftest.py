"""A workspace with an owner, on a web server that a browser reaches."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from postledger.accounts.models import Member, User, Workspace
from postledger.accounts.people.roles import Role
from tests import cast
from tests.journeys import rig, stage
from tests.web.dashboard import browser


@pytest.fixture
def acme() -> Workspace:
    """With something of everything that pages show."""
    owner = cast.sender()
    user = User(email=browser.EMAIL, name="Olga")
    user.set_password(browser.PASSWORD)
    user.save()
    Member.objects.create(
        workspace=owner.workspace,
        user=user,
        email=browser.EMAIL,
        name="Olga",
        role=Role.OWNER.value,
    )
    cast.lose(cast.stream(mails=2))
    return owner.workspace


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[str]:
    port = rig.free_port()
    secret = "only-for-tests, and long enough here"
    with rig.installation(tmp_path, stage.database(), UNSUBSCRIBE_SECRET=secret) as installed:
        installed.web(port)
        yield f"http://127.0.0.1:{port}"
