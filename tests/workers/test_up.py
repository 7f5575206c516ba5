"""`postledger up` replaces what dies, and ends without a doubt."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings

from postledger.accounts.models import Workspace
from postledger.accounts.people import first_run
from postledger.deliveries.states import State
from postledger.dispatch.models import Worker
from tests import children
from tests.cli import installations
from tests.dispatch import office
from tests.journeys import rig
from tests.workers import brokers

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PATIENCE = 600.0


@dataclass(frozen=True, slots=True)
class Up:
    process: "subprocess.Popen[bytes]"
    port: int
    keyboard: int
    screen: list[bytes]

    @property
    def output(self) -> str:
        return b"".join(self.screen).decode()

    def answers(self) -> bool:
        return rig.answers(f"http://127.0.0.1:{self.port}/live")

    def wait_until_it_works(self) -> None:
        rig.until(lambda: self.answers() and self.worker(), seconds=PATIENCE)

    def child(self, program: str) -> int:
        """The pid of the web server or the worker; 0 while there is none."""
        for pid in children.pids(self.process.pid):
            with suppress(OSError):
                if f"{program}_process".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    return pid
        return 0

    def worker(self) -> int:
        """The pid of the worker, once it shows life in the database."""
        pid = self.child("worker")
        return pid if pid and Worker.objects.filter(name__endswith=f":{pid}").exists() else 0


@contextmanager
def up(folder: Path) -> Iterator[Up]:
    """Started at a terminal, which it reads Ctrl-C from."""
    port, screen = rig.free_port(), list[bytes]()
    keyboard, terminal = pty.openpty()
    with brokers.own_queues() as prefix:
        process = subprocess.Popen(
            ["setsid", "--ctty", installations.POSTLEDGER, "up", "--port", str(port)],
            env={
                **os.environ,
                "DATABASE_URL": installations.database_url(),
                "SECRET_KEY": settings.SECRET_KEY,
                "QUEUE_PREFIX": prefix,
                "STATE_FOLDER": str(folder / "state"),
            },
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )
        os.close(terminal)
        reader = threading.Thread(target=_read, args=(keyboard, screen), daemon=True)
        reader.start()
        try:
            yield Up(process, port, keyboard, screen)
        finally:
            process.kill()
            process.wait(60)
            reader.join(60)
            os.close(keyboard)


def _read(terminal: int, chunks: list[bytes]) -> None:
    with suppress(OSError):  # the last process has closed it
        while chunk := os.read(terminal, 65536):
            chunks.append(chunk)


def test_each_process_that_is_killed_is_replaced(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        running.wait_until_it_works()

        first = running.child("worker")
        os.kill(first, signal.SIGKILL)
        rig.until(lambda: running.worker() not in {0, first}, seconds=PATIENCE)

        for is_inner in (False, True):  # the web server, or the process under it that answers
            server = running.child("web")
            [serving] = children.pids(server)
            os.kill(serving if is_inner else server, signal.SIGKILL)
            rig.until(
                lambda: running.child("web") not in {0, server} and running.answers(),  # noqa: B023
                seconds=PATIENCE,
            )
            assert not children.is_running(serving)


def test_ctrl_c_at_a_terminal_with_readable_lines_lets_calls_finish(tmp_path: Path) -> None:
    acme = office.open_office(tmp_path, settings={"slow": 2, "window_size": 5})

    with up(tmp_path) as running:
        running.wait_until_it_works()
        rig.until(lambda: "serving" in running.output, seconds=PATIENCE)
        with urllib.request.urlopen(f"http://127.0.0.1:{running.port}/v1/openapi.json") as answer:
            [server] = json.load(answer)["servers"]
        slow = office.stream(acme, ["slow@example.com", "slow+1@example.com"])
        bulk = office.stream(acme, office.people(2000))
        rig.until(lambda: office.is_leased(slow) and len(acme.taken()) > 10, seconds=PATIENCE)
        family = [running.child("web"), running.child("worker")]
        os.write(running.keyboard, b"\x03")  # Ctrl-C
        running.process.wait(PATIENCE)

    assert not any(map(children.is_running, family))
    assert office.counts(slow) == {State.ACCEPTED: 2}
    assert State.IN_DOUBT not in office.counts(bulk)
    assert len(acme.taken_from(bulk)) == office.counts(bulk)[State.ACCEPTED]
    assert not office.is_leased(bulk)
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in running.output.splitlines()]
    [serving] = [line for line in lines if "serving" in line]
    assert serving.endswith(f"url=http://127.0.0.1:{running.port}")
    assert server["url"] == f"http://127.0.0.1:{running.port}"
    assert not [line for line in lines if line.startswith("{")]


def test_ctrl_c_while_the_server_starts_ends_it(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        # A process of the server needs seconds for its imports.
        rig.until(lambda: any(children.pids(running.child("web"))), seconds=PATIENCE)
        os.write(running.keyboard, b"\x03")
        running.process.wait(PATIENCE)


def test_a_port_that_is_taken_is_named_and_the_first_run_is_offered_to_the_operator_alone() -> None:
    Workspace.objects.create(name="default")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = installations.run("up", "--port", str(port))

    assert done.returncode == 1
    assert f"cannot listen at 127.0.0.1:{port} (Address already in use)" in done.stderr
    line, soon = done.stdout.splitlines()
    assert f"Open http://127.0.0.1:{port}/first-run and enter the code " in line
    code = line.rpartition(" ")[2]
    assert code not in done.stderr
    assert soon == "The page answers as soon as the web server has started."
    first_run.check_code(code)


def test_without_a_secret_key_nothing_is_started() -> None:
    done = installations.run("up", SECRET_KEY="")

    assert done.returncode == 1
    assert "SECRET_KEY is missing." in done.stderr
    assert "Run postledger init" in done.stderr
