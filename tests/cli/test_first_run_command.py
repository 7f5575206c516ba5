"""The operator gets the URL and the code of the first run, as long as nobody can sign in."""

import re
import socket
from io import StringIO

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from postledger.accounts.models import FirstRunCode, User, Workspace
from postledger.accounts.people import first_run
from postledger.cli import first_run_notice
from tests.cli import installations
from tests.cli.installations import DEAD

CODE = re.compile(r"[A-Z2-9]{4}(?:-[A-Z2-9]{4}){3}")
EVERYWHERE = "0.0.0.0"  # noqa: S104  a test listens nowhere
URL = "http://127.0.0.1:8000/first-run"


def print_code() -> str:
    out = StringIO()
    call_command("first_run", stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_each_call_prints_a_new_code_and_the_earlier_one_stops_working() -> None:
    Workspace.objects.create(name="default")

    first, second = (CODE.findall(print_code()) for _ in range(2))

    first_run.check_code(second[0])
    with pytest.raises(first_run.FirstRunCodeError):
        first_run.check_code(first[0])


@pytest.mark.django_db
def test_the_url_is_the_public_one_where_there_is_one_and_else_of_this_machine(
    settings: LazySettings,
) -> None:
    Workspace.objects.create(name="default")
    assert first_run_notice.find_url() == URL
    assert first_run_notice.find_url(host=EVERYWHERE, port=81) == "http://127.0.0.1:81/first-run"
    settings.PUBLIC_URL = "https://mail.acme.example/"

    assert "https://mail.acme.example/first-run" in print_code()
    assert first_run_notice.find_url(host=EVERYWHERE, port=81).startswith("https://mail.acme")


@pytest.mark.django_db
def test_no_code_is_issued_once_somebody_can_sign_in() -> None:
    Workspace.objects.create(name="default")
    User.objects.create(email="alice@acme.example")

    with pytest.raises(CommandError, match="the first run is over"):
        print_code()

    assert not FirstRunCode.objects.exists()


@pytest.mark.django_db
def test_without_a_workspace_setup_is_named() -> None:
    with pytest.raises(CommandError, match="Run postledger setup"):
        print_code()
    notice = first_run_notice.invite_if_possible(URL)

    assert notice
    assert "postledger first-run prints the code" in notice


@pytest.mark.slow
def test_up_says_how_to_get_a_code_when_the_database_is_away() -> None:
    """The port is taken, so that it ends by itself."""
    away = f"postgresql://postgres@{DEAD}/postledger"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = installations.run("up", "--port", str(taken.getsockname()[1]), DATABASE_URL=away)

    assert "PostgreSQL does not answer." in done.stdout
    assert "postledger first-run prints the code" in done.stdout
