"""The README tells the truth: its commands, in its order, bring a mail to an SMTP server."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from postledger.config import env, env_file
from tests.cli import installations
from tests.journeys import rig
from tests.uv import find_uv

pytestmark = [pytest.mark.slow, pytest.mark.server]

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
NOT_COPIED = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".*_cache", "postledger.env")
NOT_PASSED_ON = {*env.variables(), env_file.VARIABLE, "DJANGO_SETTINGS_MODULE", "VIRTUAL_ENV"}
PATIENCE = 600.0
ID = "01420000-0001-8000-8000-000000000001"  # what the README calls the mail
# What differs from run to run, and what the README leaves out.
VARYING = {
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}": r"[0-9a-f-]{36}",
    r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d": r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d",
    r"\b\d{13}\b": r"\d+",
    ", …(?:, )?": ".*",
}


def read_steps() -> Iterator[tuple[str, list[str]]]:
    """Each command of the section about running it, and the lines that it prints."""
    section = README.partition("## Run it\n")[2].partition("\n## ")[0]
    for block in re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command = re.match(r"(?:.*\\\n)*.*\n", step)
            assert command
            yield command[0].strip(), step[command.end() :].splitlines()


def make_pattern(line: str) -> str:
    """A regular expression for a line as the README shows it."""
    pattern, end = "", 0
    for match in re.finditer("|".join(VARYING), line):
        [expression] = [VARYING[text] for text in VARYING if re.fullmatch(text, match[0])]
        pattern += re.escape(line[end : match.start()]) + expression
        end = match.end()
    return pattern + re.escape(line[end:])


@dataclass(frozen=True, slots=True)
class Shell:
    """One shell, as a person has it open: variables and background programs stay."""

    process: "subprocess.Popen[str]"
    log: Path  # of standard error

    def type(self, command: str) -> str:
        """Runs a command to its end; what background programs print meanwhile is added."""
        end = f"end-{uuid4().hex}"
        stdin, stdout = self._pipes()
        stdin.write(f"{command}\necho {end} $?\n")
        stdin.flush()
        lines = list[str]()
        for line in stdout:
            # Some output ends without a line break, and another program may be within its line.
            text, found, status = line.partition(end)
            lines.append(text)
            if found:
                assert status == " 0\n", f"{command}\n{self.log.read_text()[-3000:]}"
                return "".join(lines)
        raise AssertionError("the shell has ended")

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self.process.stdin
        assert self.process.stdout
        return self.process.stdin, self.process.stdout


@contextmanager
def open_shell(folder: Path, log: Path, **environment: str) -> Iterator[Shell]:
    kept = {name: value for name, value in os.environ.items() if name not in NOT_PASSED_ON}
    with log.open("w") as errors:
        process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env={**kept, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        try:
            yield Shell(process, log)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@contextmanager
def missing_database() -> Iterator[str]:
    """The address of a database that nobody has created; it is dropped afterwards."""
    name = f"postledger_readme_{uuid4().hex[:12]}"
    try:
        yield installations.database_url(name)
    finally:
        with psycopg.connect(installations.database_url("postgres"), autocommit=True) as server:
            drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            server.execute(drop.format(sql.Identifier(name)))


def test_the_commands_of_the_readme_bring_a_mail_to_an_smtp_server(tmp_path: Path) -> None:
    clone = tmp_path / "postledger"
    shutil.copytree(ROOT, clone, ignore=NOT_COPIED)
    # Ports of its own: others may use those of the README.
    smtp, web = rig.free_port(), rig.free_port()
    id_, printed = "", ""
    with (
        missing_database() as database,
        installations.redis(tmp_path) as redis,
        open_shell(
            clone,
            tmp_path / "log",
            PATH=f"{Path(find_uv()).parent}:{os.environ['PATH']}",
            UV_PYTHON=sys.executable,
            PYTHONUNBUFFERED="1",  # as at a terminal
            XDG_STATE_HOME=str(tmp_path / "state"),
            DATABASE_URL=database,
            REDIS_URL=redis,
        ) as shell,
    ):
        for command, expected in read_steps():
            typed = command.replace("2525", str(smtp)).replace(":8000", f":{web}")
            typed = typed.replace("postledger up", f"postledger up --port {web}")
            if ID in typed:
                printed += _wait_for_mail(shell, printed)
            output = shell.type(typed.replace(ID, id_))
            printed += output
            for line in expected:
                assert re.search(f"^{make_pattern(line)}$", output, re.MULTILINE), (line, output)
            id_ = id_ or "".join(re.findall(r'^{"id":"([0-9a-f-]{36})"', output, re.MULTILINE))

    assert "Subject: Hello" in printed
    assert (clone / "postledger.env").exists()


def _wait_for_mail(shell: Shell, printed: str) -> str:
    """What is printed until the SMTP server has printed the mail."""
    more = ""

    def has_arrived() -> bool:
        nonlocal more
        more += shell.type("true")
        return "It works." in printed + more

    rig.until(has_arrived, seconds=PATIENCE)
    # The books follow the answer of the server.
    rig.until(lambda: "1 accepted" in shell.type("postledger audit"), seconds=PATIENCE, every=0.5)
    return more
