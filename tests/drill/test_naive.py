"""The drill can fail: it convicts dispatchers as they are often written."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.drill import naive, oracle, reading
from tools.drill.oracle import Figures, Rule
from tools.drill.records import Records
from tools.drill.services import is_open
from tools.drill.waiting import free_port, until

pytestmark = pytest.mark.slow

MAILS = 20
KILLS = 3
PATIENCE = 180.0


@dataclass(frozen=True)
class Server:
    """The provider, which takes mail and answers it only when it is told to."""

    port: int
    journal: Path
    mood: Path

    def lines(self) -> list[str]:
        return self.journal.read_text().splitlines(keepends=True)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    smtp = Server(free_port(), tmp_path / "journal", tmp_path / "mood")
    smtp.journal.touch()
    command = [sys.executable, "-m", "tools.drill.smtp_server", str(smtp.port)]
    process = subprocess.Popen([*command, str(smtp.journal), "0", str(smtp.mood)])
    try:
        until(lambda: is_open(smtp.port), seconds=PATIENCE)
        yield smtp
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def books(tmp_path: Path) -> Path:
    naive.plan(tmp_path / "books", MAILS)
    return tmp_path / "books"


@pytest.mark.parametrize("kind", ["save-after", "requeue"])
def test_a_naive_dispatcher_that_is_killed_sends_twice_and_is_found_out(
    kind: str, books: Path, server: Server
) -> None:
    for _ in range(KILLS):
        _kill_between_taking_and_saving(kind, books, server)
    _finish(kind, books, server)

    rules, figures = _verdict(books, server)
    assert rules == {Rule.ONCE}
    assert figures.duplicates == KILLS


def test_a_dispatcher_that_swaps_two_mails_is_found_out(books: Path, server: Server) -> None:
    _finish("swap", books, server)

    rules, figures = _verdict(books, server)
    assert rules == {Rule.RIGHT_RECIPIENT, Rule.NO_PHANTOM}
    assert figures.swapped == MAILS


def test_a_dispatcher_that_fails_a_mail_untried_is_found_out(books: Path, server: Server) -> None:
    _finish("give-up", books, server)

    rules, figures = _verdict(books, server)
    assert rules == {Rule.END_HAS_CAUSE}
    assert figures.without_cause == len(range(0, MAILS, 3))


def test_a_dispatcher_that_settles_another_epochs_window_is_found_out(
    books: Path, server: Server
) -> None:
    """It handed a mail over; then the books went back in time, and its number came again."""
    server.mood.write_text("silent")
    with _running("requeue", books, server):
        until(server.lines, seconds=PATIENCE)
        naive.plan(books, MAILS, prefix="m")
        server.mood.write_text("")
        until(lambda: _states(books) == {"accepted"}, seconds=PATIENCE)

    rules, figures = _verdict(books, server)
    assert rules == {Rule.NO_PHANTOM, Rule.RIGHT_RECIPIENT}
    assert figures.lost == 1


def _kill_between_taking_and_saving(kind: str, books: Path, server: Server) -> None:
    """The answer is withheld until the process is dead: whatever the machine's speed."""
    server.mood.write_text("silent")
    before = len(server.lines())
    with _running(kind, books, server):
        until(lambda: len(server.lines()) > before, seconds=PATIENCE)
    server.mood.write_text("")


def _finish(kind: str, books: Path, server: Server) -> None:
    with _running(kind, books, server):
        until(lambda: _states(books) <= {"accepted", "failed"}, seconds=PATIENCE)


@contextmanager
def _running(kind: str, books: Path, server: Server) -> Iterator[None]:
    """A dispatcher that is killed at the end."""
    command = [sys.executable, "-m", "tools.drill.naive", kind, str(books), str(server.port)]
    process = subprocess.Popen(command)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _verdict(books: Path, server: Server) -> tuple[set[Rule], Figures]:
    records = Records(journal=reading.journal(server.lines()), ledger=naive.ledger(books))
    rules = {violation.rule for violation in oracle.violations(records)}
    return rules, oracle.figures(records)


def _states(books: Path) -> set[str]:
    return {booked.state for booked in naive.ledger(books).values()}
