"""A workspace with its owners, also on a web server that a browser reaches."""

from collections.abc import Iterator

import pytest
from django.conf import LazySettings

from postledger.accounts.models import Member, User, Workspace
from postledger.accounts.people.roles import Role
from tests import cast
from tests.journeys import rig, stage
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard import browser, visitors
from tests.web.dashboard.visitors import Person


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
def furnished(alice: Caller, settings: LazySettings) -> None:
    """With what acme needs for campaigns."""
    newsroom.furnish(alice, settings)


@pytest.fixture
def anna(alice: Caller) -> Person:
    """An owner of acme."""
    return visitors.sign_in(alice.workspace_id)


@pytest.fixture
def olivia() -> Person:
    """An owner of acme, which has a sender."""
    return visitors.sign_in(cast.sender().workspace_id, name="Olivia")


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
