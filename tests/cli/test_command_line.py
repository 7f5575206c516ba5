"""The command line itself: its version, its help, and one line where the database is missing."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import pytest
from django.conf import settings

from tests.cli import installations
from tests.cli.installations import DEAD
from tests.cli.test_commands_page import EXAMPLES

pytestmark = pytest.mark.slow

# Packages that are large, and that few commands need.
HEAVY = {
    *("botocore", "celery", "css_inline", "granian", "httpx", "jsonschema_rs", "kombu", "limits"),
    *("liquid", "lxml", "mrml", "nh3", "ninja", "redis", "yaml"),
}
DEAD_DATABASE = f"postgresql://postgres@{DEAD}/postledger"
# The doctor and init report each server.
MORE_THAN_ONE_LINE = {"doctor", "init"}
# Runs commands one after another in one process: each start takes longer than the command.
RUN_ALL = """
import json, sys
from postledger.config.main import main
for command in json.loads(sys.argv[1]):
    sys.argv = ["postledger", *command]
    try:
        main()
    except SystemExit as ended:
        print(json.dumps(ended.code))
"""


def first_examples() -> Iterator[list[str]]:
    """The first example of each command that needs no file."""
    seen = set(MORE_THAN_ONE_LINE)
    for line in EXAMPLES:
        _, command, *arguments = shlex.split(line)
        if command not in seen and not {"--secret", "import"} & set(arguments):
            seen.add(command)
            yield [command, *arguments]


def run_all(commands: Sequence[Sequence[str]], *, database: str) -> list[str]:
    """What each of the commands ends with: its message, if it fails."""
    given = {"DATABASE_URL": database, "SECRET_KEY": settings.SECRET_KEY}
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, json.dumps(commands)],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def loaded(*command: str) -> set[str]:
    """The packages that a command imports."""
    done = installations.run(*command, PYTHONPROFILEIMPORTTIME="1")
    return set(re.findall(r"^import time:.*\| +(\w+)$", done.stderr, re.MULTILINE))


def test_the_version_is_that_of_postledger_and_needs_nothing() -> None:
    done = installations.run("--version", DATABASE_URL="nonsense", LOG_LEVEL="LOUD")

    assert done.stdout == f"postledger {version('postledger')}\n"
    assert done.returncode == 0


def test_the_help_has_a_line_for_each_command_and_djangos_own_apart() -> None:
    done = installations.run("--help", DATABASE_URL=DEAD_DATABASE)

    ours, _, django = done.stdout.partition("Django's own commands:")
    lines = dict(re.findall(r"^  ([\w-]+) +(\S.*\.)$", ours, re.MULTILINE))
    folder = Path(__file__).parents[2] / "src/postledger"
    modules = {path.stem for path in folder.glob("*/management/commands/[a-z]*.py")}
    assert set(lines) == {module.replace("_", "-") for module in modules}
    assert lines["why"].startswith("Explains what happened")
    assert "migrate" in django
    assert "\n" not in django.strip()


def test_a_command_loads_what_it_needs_and_nothing_large_beside_it() -> None:
    for option in ("--version", "--help"):
        assert loaded(option) & {*HEAVY, "psycopg", "pydantic", "structlog"} == set(), option
    for command in ("why", "key", "member", "up", "worker"):
        packages = loaded(command, "--help")
        assert "django" in packages
        assert packages & HEAVY == set(), command


def test_without_a_database_every_command_ends_with_one_line() -> None:
    commands = list(first_examples())

    messages = run_all(commands, database=DEAD_DATABASE)

    advice = (
        "PostgreSQL does not answer. Start PostgreSQL, or correct host and port in DATABASE_URL."
    )
    assert messages == [advice] * len(commands)


@pytest.mark.django_db(transaction=True)
def test_without_tables_a_command_says_what_adds_them() -> None:
    commands = [["workspace", "list"], ["why", "1"], ["stream", "list"]]
    with installations.fresh_database() as name:
        messages = run_all(commands, database=installations.database_url(name))

    advice = "The database lacks tables of this version. Run postledger setup, which adds them."
    assert messages == [advice] * len(commands)


def test_a_command_reads_the_file_that_is_named(tmp_path: Path) -> None:
    file = tmp_path / "postledger.env"
    file.write_text("STOP_SECONDS=soon\n")

    done = installations.run("workspace", "list", POSTLEDGER_ENV=str(file))

    assert "STOP_SECONDS:" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 1
