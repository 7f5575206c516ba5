"""A workspace with an owner, on a web server that a browser reaches."""

from collections.abc import Iterator

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


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[str]:
    """One server for the tests of a module: its start takes longer than many of them.

    It ends with them: a test elsewhere may need the database for itself.
    """
    port = rig.free_port()
    folder = tmp_path_factory.mktemp("web")
    settings = {
        "UNSUBSCRIBE_SECRET": "only-for-tests, and long enough here",
        "PICTURES_URL": f"http://127.0.0.1:{port}/pictures",
    }
    with rig.installation(folder, stage.database(), **settings) as installed:
        installed.web(port)
        yield f"http://127.0.0.1:{port}"
