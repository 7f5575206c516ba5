"""The drill can fail: it convicts dispatchers as they are often written."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tools.drill import naive, oracle, reading
from tools.drill.oracle import Figures, Rule
from tools.drill.records import Records
from tools.drill.services import is_open
from tools.drill.smtp import Smtp
from tools.drill.waiting import until

pytestmark = pytest.mark.slow

MAILS = 20
KILLS = 3
PATIENCE = 180.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Smtp]:
    smtp = Smtp(tmp_path, pace=0)
    smtp.start()
    try:
        until(lambda: is_open(smtp.port), seconds=PATIENCE)
        yield smtp
    finally:
        smtp.end()


@pytest.fixture
def books(tmp_path: Path) -> Path:
    naive.plan(tmp_path / "books", MAILS)
    return tmp_path / "books"


@pytest.mark.parametrize("kind", ["save-after", "requeue"])
def test_a_naive_dispatcher_that_is_killed_sends_twice_and_is_found_out(
    kind: str, books: Path, server: Smtp
) -> None:
    for _ in range(KILLS):
        _kill_between_taking_and_saving(kind, books, server)
    _finish(kind, books, server)

    rules, figures = _verdict(books, server)
    assert rules == {Rule.ONCE}
    assert figures.duplicates == KILLS


@pytest.mark.parametrize(
    ("kind", "broken", "swapped", "without_cause"),
    [
        ("swap", {Rule.RIGHT_RECIPIENT, Rule.NO_PHANTOM}, MAILS, 0),
        ("give-up", {Rule.END_HAS_CAUSE}, 0, len(range(0, MAILS, 3))),
    ],
)
def test_a_dispatcher_that_swaps_mails_or_fails_them_untried_is_found_out(
    kind: str, broken: set[Rule], swapped: int, without_cause: int, books: Path, server: Smtp
) -> None:
    _finish(kind, books, server)

    rules, figures = _verdict(books, server)
    assert (rules, figures.swapped, figures.without_cause) == (broken, swapped, without_cause)


def test_a_dispatcher_that_settles_another_epochs_window_is_found_out(
    books: Path, server: Smtp
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


def _kill_between_taking_and_saving(kind: str, books: Path, server: Smtp) -> None:
    """The answer is withheld until the process is dead: whatever the machine's speed."""
    before = len(server.lines())
    with server.in_mood("silent"), _running(kind, books, server):
        until(lambda: len(server.lines()) > before, seconds=PATIENCE)


def _finish(kind: str, books: Path, server: Smtp) -> None:
    with _running(kind, books, server):
        until(lambda: _states(books) <= {"accepted", "failed"}, seconds=PATIENCE)


@contextmanager
def _running(kind: str, books: Path, server: Smtp) -> Iterator[None]:
    """A dispatcher that is killed at the end."""
    command = [sys.executable, "-m", "tools.drill.naive", kind, str(books), str(server.port)]
    process = subprocess.Popen(command)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _verdict(books: Path, server: Smtp) -> tuple[set[Rule], Figures]:
    records = Records(journal=reading.journal(server.lines()), ledger=naive.ledger(books))
    rules = {violation.rule for violation in oracle.violations(records)}
    return rules, oracle.figures(records)


def _states(books: Path) -> set[str]:
    return {booked.state for booked in naive.ledger(books).values()}
