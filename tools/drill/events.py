"""What a vendor reports of a drill's mail: lost, repeated, late and out of order; what it ends."""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass

from postledger.accounts.models import Sender
from postledger.deliveries.states import State
from postledger.feedback.models import InboxMessage
from tools.drill import books, reading
from tools.drill.doubts import DOUBTFUL
from tools.drill.drill import Drill
from tools.drill.http_fake import HttpFake
from tools.drill.oracle import Rule
from tools.drill.records import Booked
from tools.drill.saying import say

_PATIENCE = 120.0  # since there were last fewer
# One of a mail's two events is enough to end its doubt: so many are lost that some lose both.
_LOSS = 0.3
_DISTURBANCES = {
    "loss": _LOSS,
    "duplication": 0.2,
    "disorder": 0.3,
    "disorder_seconds": 2.0,
    "delay": 0.1,
    "delay_seconds": 4.0,
}


def listen(fake: HttpFake, workspace_id: int, sender_id: int) -> None:
    """Lets the workers read the queue, or the web process believe what is posted."""
    account_id = Sender.objects.values_list("account_id", flat=True).get(pk=sender_id)
    assert account_id is not None
    fake.listen(workspace_id, account_id)
    fake.disturb_events({**_DISTURBANCES, "seed": random.randrange(10**6)})


def wait_until_applied(drill: Drill, fake: HttpFake) -> None:
    """Until nothing is on its way: neither at the vendor, nor in the queue, nor in the inbox."""
    fewest, end = None, time.monotonic() + _PATIENCE
    while any(counts := _count_on_the_way(fake)):
        if fewest is None or sum(counts) < fewest:
            fewest, end = sum(counts), time.monotonic() + _PATIENCE
        if time.monotonic() > end:
            msg = "{} events at the vendor, {} in the queue, {} in the inbox".format(*counts)
            raise TimeoutError(msg)
        drill.fleet.replace_dead()
        time.sleep(1)  # counting a long queue keeps moto from serving it


def _count_on_the_way(fake: HttpFake) -> tuple[int, int, int]:
    stored = books.persistently(InboxMessage.objects.filter(fault="").count)
    return fake.count_waiting_events(), fake.count_queued(), stored


@dataclass(frozen=True, slots=True)
class Doubts:
    """The mails that are still in doubt."""

    reported: list[str]  # although an event of theirs came
    unreported: list[str]  # the vendor took them, and all their events were lost on purpose
    untaken: list[str]  # the vendor never took them


def judge(drill: Drill, fake: HttpFake, workspace_id: int) -> None:
    """An event of a mail ends its doubt."""
    ledger = books.persistently(lambda: reading.ledger(workspace_id))
    reports = fake.read_reports()
    doubts = sort_doubts(ledger, reports.mails)
    for mail in doubts.reported:
        drill.violate(Rule.REPORTED, f"{mail} is in doubt, and {fake.label} has reported it")
    counts = reports.counts
    if missing := sum(counts[state] for state in ("failed", "declined", "unheard")):
        drill.violate(Rule.REPORTED, f"{missing} events were not taken")
    say(
        f"events: {counts['published']} published, {counts['delivered']} delivered,"
        f" {counts['lost']} lost on purpose; doubts that they ended: {_count_ended(ledger)}; still"
        f" in doubt: {len(doubts.reported)} of mails that were reported,"
        f" {len(doubts.unreported)} of mails that {fake.label} took and whose events were all lost,"
        f" {len(doubts.untaken)} of mails that {fake.label} never took"
    )


def sort_doubts(ledger: Mapping[str, Booked], reports: Mapping[str, bool]) -> Doubts:
    """`reports` has the mails that the vendor took, and whether an event of each came."""
    doubts = Doubts([], [], [])
    for mail, booked in ledger.items():
        if booked.state is State.IN_DOUBT:
            which = doubts.reported if reports.get(mail) else doubts.unreported
            (which if mail in reports else doubts.untaken).append(mail)
    return doubts


def _count_ended(ledger: Mapping[str, Booked]) -> int:
    """Tries that were in doubt until an event proved them."""
    return sum(
        note.name == "proved_accepted" and note.try_number in _doubtful_tries(booked)
        for booked in ledger.values()
        for note in booked.notes
    )


def _doubtful_tries(booked: Booked) -> set[int]:
    return {note.try_number for note in booked.notes if note.name in DOUBTFUL}
