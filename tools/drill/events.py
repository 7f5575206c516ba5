"""What SES reports of a drill's mail: lost, repeated, late and out of order, and what it ends."""

import random
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from postledger.accounts.models import Sender
from postledger.cli.drill import reading
from postledger.cli.drill.doubts import DOUBTFUL
from postledger.cli.drill.oracle import Rule
from postledger.cli.drill.records import Booked
from postledger.deliveries.states import State
from postledger.fakes.ses import event_books
from postledger.fakes.ses.event_books import EventBooks
from postledger.feedback import topics
from postledger.feedback.models import InboxMessage
from tools.drill import books, ses
from tools.drill.drill import Drill
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


def listen(drill: Drill, workspace_id: int, sender_id: int) -> None:
    """Lets the workers read the queue, or the web process believe what is posted."""
    account_id = Sender.objects.values_list("account_id", flat=True).get(pk=sender_id)
    assert account_id is not None
    topics.register_topic(
        workspace_id,
        account_id,
        arn=ses.TOPIC_ARN,
        queue_url=drill.sqs.create_queue() if drill.sqs else "",
        actor="drill",
    )
    drill.ses.disturb_events({**_DISTURBANCES, "seed": random.randrange(10**6)})


def wait_until_applied(drill: Drill) -> None:
    """Until nothing is on its way: neither at SES, nor in the queue, nor in the inbox."""
    fewest, end = None, time.monotonic() + _PATIENCE
    while any(counts := _count_on_the_way(drill)):
        if fewest is None or sum(counts) < fewest:
            fewest, end = sum(counts), time.monotonic() + _PATIENCE
        if time.monotonic() > end:
            msg = "{} events at SES, {} in the queue, {} in the inbox".format(*counts)
            raise TimeoutError(msg)
        drill.fleet.replace_dead()
        time.sleep(1)  # counting a long queue keeps moto from serving it


def _count_on_the_way(drill: Drill) -> tuple[int, int, int]:
    stored = books.persistently(InboxMessage.objects.filter(fault="").count)
    queued = drill.sqs.count_messages() if drill.sqs else 0
    return drill.ses.count_waiting_events(), queued, stored


@dataclass(frozen=True, slots=True)
class Doubts:
    """The mails that are still in doubt."""

    reported: list[str]  # although an event of theirs came
    unreported: list[str]  # SES took them, and all their events were lost on purpose
    untaken: list[str]  # SES never took them


def judge(drill: Drill, workspace_id: int) -> None:
    """An event of a mail ends its doubt."""
    ledger = books.persistently(lambda: reading.ledger(workspace_id))
    event_records = event_books.read(drill.ses.journal)
    doubts = sort_doubts(ledger, event_records)
    for mail in doubts.reported:
        drill.violate(Rule.REPORTED, f"{mail} is in doubt, and SES has reported it")
    counts = event_records.counts
    if missing := sum(counts[state] for state in ("failed", "declined", "unheard")):
        drill.violate(Rule.REPORTED, f"{missing} events were not taken")
    say(
        f"events: {counts['published']} published, {counts['delivered']} delivered,"
        f" {counts['lost']} lost on purpose; doubts that they ended: {_count_ended(ledger)}; still"
        f" in doubt: {len(doubts.reported)} of mails that were reported,"
        f" {len(doubts.unreported)} of mails that SES took and whose events were all lost,"
        f" {len(doubts.untaken)} of mails that SES never took"
    )


def sort_doubts(ledger: Mapping[str, Booked], event_records: EventBooks) -> Doubts:
    reports: defaultdict[str, list[bool]] = defaultdict(list)
    for mail_books in event_records.mails.values():
        reports[ses.name_delivery(dict(mail_books.mail.tags))].append(mail_books.is_reported)
    doubts = Doubts([], [], [])
    for mail, booked in ledger.items():
        if booked.state is State.IN_DOUBT:
            is_taken, is_reported = mail in reports, any(reports.get(mail, ()))
            which = doubts.reported if is_reported else doubts.unreported
            (which if is_taken else doubts.untaken).append(mail)
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
