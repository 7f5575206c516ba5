"""A worker whose claims have large attachments keeps within bounds."""

from pathlib import Path

import pytest

from postledger.deliveries import ledger
from postledger.deliveries.entries import Body, NewDelivery, StreamKind
from postledger.deliveries.states import State
from postledger.providers.base import Attachment
from tests.dispatch import office
from tests.workers import brokers
from tests.workers.worker_processes import child, within, worker

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

MEGABYTE = 1024 * 1024


def peak(pid: int) -> int:
    """The most memory a process ever had, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [kilobytes] = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(kilobytes) * 1024


def test_a_worker_whose_mails_have_attachments_of_7_mb_stays_under_400_mb(tmp_path: Path) -> None:
    """H1: fifty of them in one claim took 1.4 GB, and a container died of the same claim thrice."""
    acme = office.open_office(tmp_path)
    stream = office.stream(acme, kind=StreamKind.TRANSACTIONAL)
    attachment = Attachment("invoice.pdf", "application/pdf", b"\x93\x7f" * (7 * MEGABYTE // 2))
    body = Body(subject="Invoice", html="<p>Hello</p>", text="Hello", attachments=[attachment])
    for number in range(24):
        ledger.enqueue(stream, [NewDelivery(f"r{number}@example.com", body=body)])

    with brokers.own_queues() as prefix, worker(tmp_path / "log", prefix=prefix) as process:
        is_sent = within(240, lambda: not office.waiting(stream))
        memory = peak(child(process))

    assert is_sent
    assert memory < 400 * MEGABYTE
    assert office.counts(stream) == {State.ACCEPTED: 24}
