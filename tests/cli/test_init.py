"""`postledger init` leads from an empty folder to an installation that can send."""

import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import psycopg
import pytest
from dotenv import dotenv_values
from psycopg import sql

from postledger.config import env
from tests.cli import installations
from tests.cli.installations import DEAD

pytestmark = [pytest.mark.slow, pytest.mark.server]


@dataclass(frozen=True, slots=True)
class NewFolder:
    """An empty folder, and the name of a database that does not exist yet."""

    path: Path
    database: str

    @property
    def file(self) -> Path:
        return self.path / "postledger.env"

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """A command in the folder, with nothing in its environment but these variables."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME")}
        return subprocess.run(
            [installations.POSTLEDGER, *command],
            cwd=self.path,
            env={**kept, "XDG_STATE_HOME": str(self.path / "state"), **variables},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def init(self, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        address = {"DATABASE_URL": installations.database_url(self.database)}
        return self.run("init", *options, **address | variables)


class FirstInit(NamedTuple):
    folder: NewFolder
    done: subprocess.CompletedProcess[str]


@contextmanager
def on_server() -> Iterator[psycopg.Connection]:
    with psycopg.connect(installations.database_url("postgres"), autocommit=True) as server:
        yield server


@contextmanager
def new_folder(path: Path) -> Iterator[NewFolder]:
    name = f"postledger_init_{uuid4().hex[:12]}"
    yield NewFolder(path, name)
    with on_server() as server:
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        server.execute(drop.format(sql.Identifier(name)))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[NewFolder]:
    with new_folder(tmp_path) as empty:
        yield empty


@pytest.fixture(scope="module")
def first_init(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirstInit]:
    """One for several tests: it migrates a database."""
    with new_folder(tmp_path_factory.mktemp("installation")) as empty:
        yield FirstInit(empty, empty.init())


def test_an_empty_folder_becomes_an_installation(first_init: FirstInit) -> None:
    folder, done = first_init

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == (
        "Wrote postledger.env with new secrets, readable only for you: keep a copy of it."
    )
    assert lines[1] == f"Created database {folder.database}."
    assert lines[2].startswith("PostgreSQL ")
    assert lines[2].endswith(" answers.")
    assert lines[3] == "Redis answers and evicts nothing."
    assert 'Created workspace "default".' in lines
    assert lines[-2] == 'Created sender hello@example.com in workspace "default".'
    assert lines[-1].startswith("Next: postledger up starts it")


def test_the_file_has_the_secrets_and_servers_and_every_later_command_reads_it(
    folder: NewFolder,
) -> None:
    folder.init("--from", "news@acme.example")

    values = dotenv_values(folder.file, interpolate=False)
    assert stat.S_IMODE(folder.file.stat().st_mode) == 0o600
    assert len(values["SECRET_KEY"] or "") >= 50
    assert len(values["UNSUBSCRIBE_SECRET"] or "") >= env.UNSUBSCRIBE_SECRET_LENGTH
    assert values["DATABASE_URL"] == installations.database_url(folder.database)
    assert "BROKER_URL" not in values
    assert "\n# PRIVATE_HOSTS=\n" in folder.file.read_text()
    assert "news@acme.example  through sandbox" in folder.run("sender", "list", "default").stdout
    assert folder.run("check").returncode == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--from", "news"], "'news' is not an email address; use the form news@example.com"),
        (["--smtp", "localhost"], "'localhost' is not HOST:PORT; use the form 127.0.0.1:2525"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_written(
    options: list[str], words: str, folder: NewFolder
) -> None:
    done = folder.init(*options)

    assert done.returncode != 0
    assert words in done.stderr
    assert not folder.file.exists()
    with on_server() as server:
        names = server.execute("SELECT datname FROM pg_database").fetchall()
    assert (folder.database,) not in names


def test_a_second_init_changes_nothing(first_init: FirstInit) -> None:
    folder = first_init.folder
    before = folder.file.read_bytes()

    done = folder.init()

    assert done.returncode == 0, done.stderr
    assert folder.file.read_bytes() == before
    assert done.stdout.splitlines()[0] == "postledger.env exists and was not changed."
    assert 'Workspace "default" has a sender already; none was created.' in done.stdout


def test_secrets_that_are_set_are_kept(folder: NewFolder) -> None:
    (folder.path / "key.txt").write_text("k" * 64)

    folder.init(SECRET_KEY_FILE="key.txt", UNSUB_SECRET="u" * 40)

    values = dotenv_values(folder.file, interpolate=False)
    assert values["SECRET_KEY"] == "k" * 64
    assert values["UNSUBSCRIBE_SECRET"] == "u" * 40


def test_a_file_without_a_secret_key_is_named_and_left_alone(folder: NewFolder) -> None:
    folder.file.write_text("LOG_LEVEL=INFO\n")

    done = folder.init()

    assert done.returncode == 1
    assert "SECRET_KEY is missing. Run postledger init in an empty folder, or set" in done.stderr
    assert folder.file.read_text() == "LOG_LEVEL=INFO\n"


@pytest.mark.parametrize(
    ("variables", "advice"),
    [
        (
            {"DATABASE_URL": f"postgresql://postgres@{DEAD}/postledger"},
            "does not answer. Start PostgreSQL, or correct host and port in DATABASE_URL.",
        ),
        (
            {"REDIS_URL": f"redis://{DEAD}/0"},
            "alone. Start Redis, or correct REDIS_URL.",
        ),
        (
            {"BROKER_URL": f"amqp://guest:guest@{DEAD}//"},
            "later. Start RabbitMQ, or correct BROKER_URL.",
        ),
    ],
    ids=["PostgreSQL", "Redis", "RabbitMQ"],
)
def test_a_server_that_does_not_answer_ends_it_with_one_sentence(
    variables: dict[str, str], advice: str, folder: NewFolder
) -> None:
    done = folder.init(**variables)

    assert done.stderr.endswith(f" {advice} Then run postledger init again.\n")
    assert done.stderr.count("\n") == 1
    assert done.returncode == 1


def test_a_role_that_may_not_create_the_database_is_told_who_may(folder: NewFolder) -> None:
    role = f"{folder.database}_role"
    url = installations.database_url(folder.database).replace("//postgres", f"//{role}", 1)
    with on_server() as server:
        server.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        try:
            done = folder.init(DATABASE_URL=url)
        finally:
            server.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))

    assert done.stderr == (
        f"CommandError: There is no database {folder.database}, and the role {role} may not create"
        f" one. Let an administrator of PostgreSQL run createdb --owner {role} {folder.database}.\n"
    )
