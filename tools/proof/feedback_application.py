"""`python -m tools.proof.feedback_application`: events applied a second, repeated and shuffled.

An inbox gets 100,000 distinct events of 40,000 mails in four runs, each of them five times, in a
shuffled order, which is not measured. Two processes then apply all of it. The same rows go into a
bare table by bulk INSERT, by one process and in the same cluster, for comparison. Afterwards every
event is stored once, and the audit finds nothing.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import batched
from typing import Any

from tools.bench import cluster, work

EVENTS = 100_000
REPETITIONS = 5
STREAMS = 4
PROCESSES = 2
RATE = 3_000  # distinct events a second, at the least
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
# As SES repeats the headers of the mail in every event.
HEADERS = [
    {"name": name, "value": value}
    for name, value in {
        "From": "Acme <news@acme.example>",
        "Subject": "The news of May",
        "MIME-Version": "1.0",
        "List-Unsubscribe": f"<https://acme.example/u/{'x' * 120}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "Content-Type": 'multipart/alternative; boundary="b1"',
    }.items()
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, help="distinct ones")
    options = parser.parse_args()
    mails = options.events * 2 // 5
    with cluster.running() as address:
        work.connect(address)
        sender_id = work.prepare(mails // STREAMS)
        stream_ids = make_mails(sender_id, mails // STREAMS)
        bodies = list(write_events(stream_ids, mails // STREAMS))
        fill_inbox(sender_id, bodies)
        say(f"{len(bodies)} events of {mails} mails, {REPETITIONS} times each")
        applied, seconds = work.in_parallel(address, apply_all, None, workers=PROCESSES)
        rate, bare_rate = len(bodies) / seconds, insert_bare()
        say(
            f"applied: {rate:,.0f} distinct events/s by {PROCESSES} processes"
            f" ({applied / seconds:,.0f} messages/s, {seconds:.1f} s);"
            f" a bare bulk INSERT of the same rows: {bare_rate:,.0f}/s"
        )
        is_whole = check(stream_ids, len(bodies))
    if rate < RATE or not is_whole:
        sys.exit(f"Required are {RATE:,} a second, each event once and books without a fault.")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def make_mails(sender_id: int, count: int) -> list[int]:
    """Runs whose mails were all accepted, and their contacts."""
    from django.db import connection

    from postledger.accounts.models import Sender

    stream_ids = []
    for _ in range(STREAMS):
        stream_id = work.open_stream(sender_id)
        work.plan(stream_id, count)
        work.move_batches(stream_id)
        stream_ids.append(stream_id)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address)"
            " SELECT %s, address FROM bench_contact",
            [Sender.objects.get(pk=sender_id).workspace_id],
        )
        cursor.execute("VACUUM ANALYZE")
    return stream_ids


def write_events(stream_ids: Sequence[int], count: int) -> Iterator[str]:
    """Send and Delivery of every mail; of every second one an Open, a bounce or a complaint."""
    from django.db import connection

    from postledger.accounts import sealing
    from postledger.lib import references
    from postledger.lib.ids import DeliveryId

    key = sealing.reference_keys()[0]
    for stream_id in stream_ids:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT position, address FROM deliveries_delivery WHERE stream_id = %s"
                " ORDER BY position LIMIT %s",
                [stream_id, count],
            )
            for position, address in cursor.fetchall():
                tag = references.write(DeliveryId(stream_id, position, 1).text(), 1, key)
                yield _write("Send", address, tag, 0, {})
                response = {"recipients": [address], "smtpResponse": "250 2.0.0 OK"}
                yield _write("Delivery", address, tag, 1, response)
                if position % 2:
                    yield _write_third(position, address, tag)


def _write_third(position: int, address: str, tag: str) -> str:
    recipients = [{"emailAddress": address, "diagnosticCode": "smtp; 550 5.1.1 user unknown"}]
    match position % 40:
        case 1:
            bounce = {"bounceType": "Permanent", "bounceSubType": "NoEmail"}
            return _write("Bounce", address, tag, 2, {**bounce, "bouncedRecipients": recipients})
        case 3:
            bounce = {"bounceType": "Transient", "bounceSubType": "MailboxFull"}
            return _write("Bounce", address, tag, 2, {**bounce, "bouncedRecipients": recipients})
        case 5:
            return _write("Complaint", address, tag, 2, {"complainedRecipients": recipients})
        case _:
            return _write("Open", address, tag, 2, {"userAgent": "Mozilla/5.0"})


def _write(name: str, address: str, tag: str, minutes: int, part: dict[str, Any]) -> str:
    at = (NOON + timedelta(minutes=minutes)).isoformat()
    mail = {
        "timestamp": NOON.isoformat(),
        "source": "Acme <news@acme.example>",
        "messageId": f"0102018f3c5e7a10-{tag[:36]}-000000",
        "destination": [address],
        "headersTruncated": False,
        "headers": HEADERS,
        "commonHeaders": {"from": ["Acme <news@acme.example>"], "to": [address]},
        "tags": {"ses:operation": ["SendEmail"], "postledger-id": [tag]},
    }
    return json.dumps({"eventType": name, "mail": mail, name.lower(): {"timestamp": at, **part}})


def fill_inbox(sender_id: int, bodies: Sequence[str]) -> None:
    from django.db import connection

    from postledger.accounts import provider_accounts
    from postledger.accounts.models import Sender

    account_id = provider_accounts.create_account(
        Sender.objects.get(pk=sender_id).workspace_id,
        name="ses",
        kind="ses",
        settings={"region": "eu-west-1", "access_key_id": "AKIA", "secret_access_key": "none"},
        actor="proof",
    )
    numbers = [number for number in range(len(bodies)) for _ in range(REPETITIONS)]
    random.Random(18).shuffle(numbers)
    connection.ensure_connection()
    with connection.connection.cursor() as cursor:
        with cursor.copy(
            "COPY feedback_inboxmessage (account_id, message_id, body) FROM STDIN"
        ) as copy:
            for place, number in enumerate(numbers):
                copy.write_row((account_id, f"message-{place}", bodies[number]))
        cursor.execute("VACUUM ANALYZE feedback_inboxmessage")
        cursor.execute("CHECKPOINT")


def apply_all(_: None) -> int:
    """Applies until nothing waits, and returns how many messages that were."""
    from postledger.feedback import application

    count = 0
    while applied := application.apply_waiting().message_count:
        count += applied
    return count


_BARE = """
INSERT INTO bare_feedback SELECT * FROM unnest(
    %s::bigint[], %s::bigint[], %s::timestamptz[], %s::timestamptz[], %s::integer[], %s::text[],
    %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[]
)
"""


def insert_bare() -> float:
    """The rows of all events a second, into a table with the same columns and key."""
    from django.db import connection

    connection.close()
    connection.ensure_connection()
    with connection.connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE bare_feedback (LIKE deliveries_feedback INCLUDING INDEXES);"
            " SELECT * FROM deliveries_feedback"
        )
        cursor.nextset()
        rows = cursor.fetchall()
        began = time.perf_counter()
        for some in batched(rows, 5_000):
            cursor.execute(_BARE, [list(column) for column in zip(*some, strict=True)])
            cursor.execute("COMMIT")
        return len(rows) / (time.perf_counter() - began)


def check(stream_ids: Sequence[int], expected: int) -> bool:
    """Whether every event is stored once, and the counters and books are right."""
    from postledger.deliveries import audit
    from postledger.deliveries.ledger import sql
    from postledger.feedback.models import InboxMessage

    [(stored,)] = sql.rows("SELECT count(*) FROM deliveries_feedback", {})
    waiting = InboxMessage.objects.filter(fault="").count()
    faults = InboxMessage.objects.exclude(fault="").count()
    wrong = [text for id_ in stream_ids for text in audit.audit(id_).discrepancies]
    say(f"stored: {stored} of {expected}; waiting {waiting}, faulty {faults}; audit: {wrong}")
    return stored == expected and not waiting and not faults and not wrong


if __name__ == "__main__":
    main()
