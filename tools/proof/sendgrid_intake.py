"""`python -m tools.proof.sendgrid_intake`: posts of 1,500 events in 768 KB, and what they cost.

SendGrid's largest posts go one after another to a web process as `postledger serve` starts it.
Each is answered in under 2 seconds, and is in the inbox of a durable PostgreSQL by then. One
process applies all of them afterwards; no transaction may take longer than 2 seconds, because
people of the workspace who leave wait for it.
"""

import hashlib
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING

from tools.bench import cluster, work

if TYPE_CHECKING:
    from tests.feedback.sendgrid import Webhook

POSTS = 20
EVENTS = 1_500  # of a post
LARGEST = 768 * 1024  # bytes
LONGEST = 2.0  # seconds
NAMES = ("processed", "delivered", "open")  # of each mail
MAILS = POSTS * EVENTS // len(NAMES)


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction of the application."""

    events: int
    seconds: float


def main() -> None:
    with cluster.running() as address, tempfile.TemporaryDirectory() as folder:
        work.connect(address)
        sender_id = work.prepare(MAILS)
        from tests.feedback import sendgrid
        from tests.journeys import rig

        webhook = sendgrid.listen("bench")
        bodies = list(write_bodies(make_mails(sender_id)))
        with rig.installation(Path(folder), address, prefix="proof-sendgrid") as installed:
            port = rig.free_port()
            installed.web(port, "--processes", "1", "--threads", "4")
            # As whoever balances the load asks, before a process gets requests.
            rig.until(lambda: rig.answers(f"http://127.0.0.1:{port}/ready"))
            url = f"http://127.0.0.1:{port}/sendgrid-events/{webhook.account_id}"
            waits = [post(url, webhook, body) for body in bodies]
        steps = apply_all()
    tell_intake(bodies, waits)
    tell_application(steps)
    is_fast = max(waits) < LONGEST and max(step.seconds for step in steps) < LONGEST
    is_whole = sum(step.events for step in steps) == POSTS * EVENTS
    sys.exit(0 if is_fast and is_whole else 1)


def make_mails(sender_id: int) -> int:
    """A run whose mails were all accepted."""
    stream_id = work.open_stream(sender_id)
    work.plan(stream_id, MAILS)
    work.move_batches(stream_id)
    return stream_id


def write_bodies(stream_id: int) -> Iterator[bytes]:
    """All events of some mails in each, padded to the largest size by an argument of others."""
    from postledger.deliveries.ledger import sql
    from tests.feedback import reports, sendgrid

    mails = sql.rows(
        "SELECT position, address FROM deliveries_delivery WHERE stream_id = %(stream)s ORDER BY 1",
        {"stream": stream_id},
    )
    for some in batched(mails, EVENTS // len(NAMES)):
        events = [
            sendgrid.event(name, address, reports.reference(stream_id, position), seconds=seconds)
            for position, address in some
            for seconds, name in enumerate(NAMES)
        ]
        missing = LARGEST - len(sendgrid.write_body(events))
        argument = "x" * (missing // len(events) - len(', "campaign": ""'))
        yield sendgrid.write_body([{**event, "campaign": argument} for event in events])


def post(url: str, webhook: "Webhook", body: bytes) -> float:
    """How long the answer took; by then the post is in the inbox."""
    from postledger.feedback.models import InboxMessage

    headers = webhook.headers(body) | {"Content-Type": "application/json"}
    began = time.perf_counter()
    request = urllib.request.Request(url, body, headers)  # noqa: S310  our own server
    with urllib.request.urlopen(request) as answer:  # noqa: S310  the same
        assert answer.status == HTTPStatus.OK
    seconds = time.perf_counter() - began
    stored = InboxMessage.objects.get(message_id=hashlib.sha256(body).hexdigest())
    assert stored.body.encode() == body
    return seconds


def apply_all() -> list[Step]:
    from postledger.feedback import application

    steps: list[Step] = []
    while True:
        began = time.perf_counter()
        applied = application.apply_waiting()
        if not applied.message_count:
            return steps
        steps.append(Step(applied.new_count, time.perf_counter() - began))


def tell_intake(bodies: list[bytes], waits: list[float]) -> None:
    say(f"{POSTS} posts of {EVENTS:,} events, {max(map(len, bodies)):,} bytes at most")
    say(f"answered within {statistics.median(waits):.3f} s, at most {max(waits):.3f} s")


def tell_application(steps: list[Step]) -> None:
    events, seconds = sum(step.events for step in steps), sum(step.seconds for step in steps)
    say(f"applied: {events:,} events, {events / seconds:,.0f} a second")
    most, longest = max(step.events for step in steps), max(step.seconds for step in steps)
    say(f"in one transaction: {most:,} events at most, and {longest:.2f} s")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
