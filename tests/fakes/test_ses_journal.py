"""The journal is the truth: each answered mail is in it, whatever happens to the process."""

import json
import signal
import threading
from pathlib import Path

import pytest

from tests.fakes import ses
from tools.fakes.http import faults, journal
from tools.fakes.http.faults import Rule
from tools.fakes.http.journal import Journal
from tools.fakes.http.server import serving_in_thread
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import Service

CLIENTS = 8
ANSWERS_BEFORE_KILL = 400


def send_until_it_ends(
    port: int, number: int, answered: list[str], enough: threading.Event
) -> None:
    try:
        with ses.Wire(port) as wire:
            while True:
                wire.send(f"{number}-{len(answered)}@example.com")
                answered.append(json.loads(wire.read_answer().body)["MessageId"])
                if len(answered) >= ANSWERS_BEFORE_KILL:
                    enough.set()
    except (OSError, AssertionError):
        pass  # nobody answers any more


@pytest.mark.slow
def test_every_answered_mail_is_in_the_journal_after_a_kill(tmp_path: Path) -> None:
    answered: list[str] = []
    enough = threading.Event()
    path = tmp_path / "journal"
    with ses.running(journal=path) as fake:
        threads = [
            threading.Thread(target=send_until_it_ends, args=(fake.port, i, answered, enough))
            for i in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        assert enough.wait(120)
        fake.process.send_signal(signal.SIGKILL)
        for thread in threads:
            thread.join()

    written = [entry["message_id"] for entry in journal.read_mails(path)]

    assert len(answered) >= ANSWERS_BEFORE_KILL
    assert set(answered) <= set(written)
    assert len(set(written)) == len(written) <= len(answered) + CLIENTS


@pytest.mark.slow
def test_a_mail_that_cannot_be_stored_is_not_answered(tmp_path: Path) -> None:
    """The limit of the process's files stands for a full disk."""
    path = tmp_path / "journal"
    answered: list[str] = []
    with ses.running(journal=path, most_kilobytes=4) as fake:
        send_until_it_ends(fake.port, 0, answered, threading.Event())
        with ses.Wire(fake.port) as wire:
            wire.send()
            assert wire.read_to_end() == b""

    assert [entry["message_id"] for entry in journal.read_mails(path)] == answered != []


def test_only_accepted_mail_is_in_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    service = Service(journal=Journal(path))
    service.account.add_identities(ses.DOMAIN)
    with serving_in_thread(FakeSes(service)) as fake:
        fake.set_faults(
            Rule(faults.AnswerError("MessageRejected"), recipient="refused@*"),
            Rule(faults.CutRequest(), recipient="cut@*"),
            Rule(faults.DropAnswer(), recipient="dropped@*"),
        )
        for name in ("taken", "refused", "cut", "dropped"):
            with ses.Wire(fake.port) as wire:
                wire.send(f"{name}@example.com")
                if name in {"taken", "refused"}:
                    wire.read_answer()
                else:
                    assert wire.read_to_end() == b""

    entries = journal.read_mails(path)
    assert [entry["destination"] for entry in entries] == [
        ["taken@example.com"],
        ["dropped@example.com"],
    ]
