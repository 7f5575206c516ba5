"""The drill can fail: it finds the duplicates of dispatchers as they are often written."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from postledger.workers.drill import evidence, oracle
from postledger.workers.drill.oracle import Accounts, Rule
from tests.drill import naive
from tests.drill.services import is_open
from tests.drill.waiting import free_port, until

pytestmark = pytest.mark.slow

MAILS = 150
KILLS = 12


@pytest.fixture
def office(tmp_path: Path) -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "tests.drill.post_office", str(port)]
    process = subprocess.Popen([*command, str(tmp_path / "journal"), "0.05"])
    until(lambda: is_open(port), seconds=60)
    yield port
    process.kill()
    process.wait()


@pytest.mark.parametrize("kind", ["save-after", "requeue"])
def test_a_naive_dispatcher_that_is_killed_sends_twice_and_is_found_out(
    kind: str, office: int, tmp_path: Path
) -> None:
    books = tmp_path / "books"
    naive.plan(books, MAILS)

    for _ in range(KILLS):
        _killed_while_sending(kind, books, office, tmp_path / "journal")
    last = _started(kind, books, office)
    until(lambda: _states(books) == {"accepted"}, seconds=180)
    last.kill()
    last.wait()

    with (tmp_path / "journal").open() as lines:
        accounts = Accounts(journal=evidence.journal(lines), ledger=naive.ledger(books))
    rules = {violation.rule for violation in oracle.violations(accounts)}
    assert rules == {Rule.ONCE}
    assert oracle.figures(accounts).duplicates > 0


def _killed_while_sending(kind: str, books: Path, port: int, journal: Path) -> None:
    """Lives for some mails, and dies at whatever moment that is."""
    before = len(journal.read_text().splitlines()) if journal.exists() else 0
    process = _started(kind, books, port)
    until(
        lambda: journal.exists() and len(journal.read_text().splitlines()) > before + 1,
        seconds=60,
        every=0.001,
    )
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.1)  # the server takes what it was given


def _started(kind: str, books: Path, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.drill.naive", kind, str(books), str(port)]
    return subprocess.Popen(command)


def _states(books: Path) -> set[str]:
    return {booked.state for booked in naive.ledger(books).values()}
