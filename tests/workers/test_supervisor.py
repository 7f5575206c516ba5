"""A supervisor replaces what hangs or dies, passes signals on, and leaves nobody behind."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from postledger.workers import supervisor
from tests import children

pytestmark = pytest.mark.slow

PATIENCE = 60.0
_SUPERVISOR = """
import sys
from postledger.workers.supervisor import Program, Supervisor
silence, program, first, *folders = sys.argv[1:]
programs = [
    Program(folder, [sys.executable, program, folder, first], float(silence)) for folder in folders
]
sys.exit(Supervisor(programs).run())
"""
_PROGRAM = str(Path(__file__).with_name("supervised.py"))


@dataclass(frozen=True, slots=True)
class Supervised:
    parent: "subprocess.Popen[bytes]"
    folder: Path

    @property
    def started(self) -> list[int]:
        """The pids of all processes of the program so far."""
        return [int(pid) for pid in self._lines("started")]

    @property
    def signals(self) -> list[str]:
        return self._lines("signals")

    def wait_for(self, *, processes: int) -> int:
        until(lambda: len(self.started) == processes)
        return self.started[-1]

    def _lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"still not so after {PATIENCE} s"
        time.sleep(0.02)


@contextmanager
def supervised(
    *folders: Path,
    first: str = "lives",
    most_silence: float = 30,
    terminal: IO[bytes] | None = None,
) -> Iterator[Supervised]:
    parent = subprocess.Popen(
        [sys.executable, "-c", _SUPERVISOR, str(most_silence), _PROGRAM, first, *map(str, folders)],
        start_new_session=True,
        stdin=terminal,
        preexec_fn=_take_terminal if terminal else None,  # noqa: PLW1509  it only calls the kernel
    )
    try:
        yield Supervised(parent, folders[0])
    finally:
        with suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)
        parent.wait(10)


def _take_terminal() -> None:
    """Makes the standard input the terminal whose keys become signals."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_a_process_whose_interpreter_is_held_is_killed_and_replaced(tmp_path: Path) -> None:
    with supervised(tmp_path, first="holds", most_silence=2) as program:
        hanging = program.wait_for(processes=1)
        second = program.wait_for(processes=2)

        assert not children.is_running(hanging)
        assert children.pids(program.parent.pid) == [second]


def test_the_time_in_which_both_were_stopped_is_no_silence(tmp_path: Path) -> None:
    with supervised(tmp_path, most_silence=5) as program:
        process, parent = program.wait_for(processes=1), program.parent.pid
        os.kill(process, signal.SIGSTOP)
        time.sleep(1.5)  # its last beats are heard
        os.kill(parent, signal.SIGSTOP)
        time.sleep(6)
        os.kill(parent, signal.SIGCONT)
        time.sleep(0.5)  # the parent alone is back, and hears nothing yet
        os.kill(process, signal.SIGCONT)
        time.sleep(2)

        assert program.started == [process]
        assert children.is_running(process)


def test_a_process_that_alone_is_stopped_is_killed_after_the_silence_and_not_before(
    tmp_path: Path,
) -> None:
    with supervised(tmp_path, most_silence=4) as program:
        process = program.wait_for(processes=1)
        os.kill(process, signal.SIGSTOP)
        time.sleep(1)
        os.kill(process, signal.SIGCONT)
        time.sleep(1)
        assert program.started == [process]

        os.kill(process, signal.SIGSTOP)
        program.wait_for(processes=2)
        assert not children.is_running(process)


def test_an_interrupt_is_passed_on_and_the_exit_code_is_the_childs(tmp_path: Path) -> None:
    with supervised(tmp_path) as program:
        process = program.wait_for(processes=1)
        for count in (1, 2):
            program.parent.send_signal(signal.SIGINT)
            until(lambda: program.signals == ["SIGINT"] * count)  # noqa: B023
        code = program.parent.wait(PATIENCE)

    assert code == 7
    assert program.started == [process]


def test_what_is_typed_at_a_terminal_reaches_a_process_once(tmp_path: Path) -> None:
    near, far = pty.openpty()
    with (
        os.fdopen(near, "wb", 0) as keyboard,
        os.fdopen(far, "rb", 0) as terminal,
        supervised(tmp_path, terminal=terminal) as program,
    ):
        program.wait_for(processes=1)
        keyboard.write(b"\x03")  # Ctrl-C
        until(lambda: program.signals)
        time.sleep(1)
        typed_once = program.signals
        keyboard.write(b"\x03")
        code = program.parent.wait(PATIENCE)

    assert typed_once == ["SIGINT"]
    assert code == 7


def test_a_terminal_that_closes_asks_for_the_end(tmp_path: Path) -> None:
    with supervised(tmp_path) as program:
        program.wait_for(processes=1)
        os.killpg(program.parent.pid, signal.SIGHUP)
        until(lambda: program.signals == ["SIGTERM"])
        program.parent.terminate()

        assert program.parent.wait(PATIENCE) == 7


def test_a_process_dies_with_its_parent_also_when_it_hangs(tmp_path: Path) -> None:
    with supervised(tmp_path, first="holds") as program:
        process = program.wait_for(processes=1)
        program.parent.kill()

        until(lambda: not children.is_running(process))


def test_of_two_programs_the_one_that_died_is_replaced_and_both_are_told_to_end(
    tmp_path: Path,
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()

    with supervised(one, other) as program:
        beside = Supervised(program.parent, other)
        stays = beside.wait_for(processes=1)
        os.kill(program.wait_for(processes=1), signal.SIGKILL)
        program.wait_for(processes=2)
        for count in (1, 2):
            program.parent.terminate()
            until(lambda: program.signals == beside.signals == ["SIGTERM"] * count)  # noqa: B023
        code = program.parent.wait(PATIENCE)

    assert beside.started == [stays]
    assert code == 7


def test_a_first_start_that_fails_ends_the_supervisor_with_its_exit_code(tmp_path: Path) -> None:
    with supervised(tmp_path, first="fails") as program:
        assert program.parent.wait(PATIENCE) == 3
        assert len(program.started) == 1


def test_processes_that_die_young_are_replaced_more_and_more_slowly() -> None:
    for pause, lived, expected in (
        *((0.5, 1, 1), (1, 1, 2), (16, 1, 30)),
        *((30, 1, 30), (30, 60, 1), (0.5, 9999, 1)),
    ):
        assert supervisor.next_pause(pause, lived=lived) == expected


def test_a_program_without_a_supervisor_beats_for_nobody() -> None:
    supervisor.heartbeat()()
