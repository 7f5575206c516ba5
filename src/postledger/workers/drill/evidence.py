"""Reads what the oracle compares: the journal, the ledger, the logs, and the stories of mails."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import LiteralString

from django.db import connection

from postledger.deliveries import audit, queries, story
from postledger.lib.ids import DeliveryId
from postledger.workers.drill.oracle import Booked, Taken, Violation

_LEDGER: LiteralString = """
SELECT d.stream_id, d.position, d.address, d.state, d.settled_at,
       coalesce((
           SELECT array_agg(a.outcome) FROM deliveries_attempt a
           WHERE d.state = 'in_doubt' AND a.stream_id = d.stream_id AND a.position = d.position
       ), '{}')
FROM deliveries_delivery d JOIN deliveries_stream s ON s.id = d.stream_id
WHERE s.workspace_id = %s
"""

# What one process had armed and not settled; read after its death, before its leases end.
_ARMED: LiteralString = """
SELECT count(*) FROM deliveries_lease l
JOIN deliveries_batch b ON b.id = ANY(l.batch_ids) AND b.lease = l.token
JOIN deliveries_delivery d
  ON d.stream_id = b.stream_id AND d.position >= b.lo AND d.position < b.armed_to
WHERE d.state = 'waiting' AND l.holder LIKE %s
"""

_WAITING: LiteralString = """
SELECT coalesce(sum(b.hi - b.lo), 0) FROM deliveries_batch b
JOIN deliveries_stream s ON s.id = b.stream_id WHERE s.workspace_id = %s
"""


def ledger(workspace_id: int) -> dict[str, Booked]:
    with connection.cursor() as cursor:
        cursor.execute(_LEDGER, [workspace_id])
        return {
            DeliveryId(stream_id, position).text(): Booked(address, state, settled_at, reasons)
            for stream_id, position, address, state, settled_at, reasons in cursor
        }


def armed_by(pid: int) -> int:
    """How many mails of a dead process nobody can vouch for."""
    with connection.cursor() as cursor:
        cursor.execute(_ARMED, [f"%:{pid}"])
        return int(cursor.fetchone()[0])


def waiting(workspace_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [workspace_id])
        return int(cursor.fetchone()[0])


def findings(workspace_id: int) -> list[str]:
    """The recount of every stream of a workspace."""
    streams = queries.stream_ids(workspace_id=workspace_id)
    return [str(finding) for stream in streams for finding in audit.audit(stream).findings]


def journal(lines: Iterable[str]) -> list[Taken]:
    """`id address [seconds]`, one for each mail taken; a half line at the end was not answered."""
    return [taken for line in lines if line.endswith("\n") for taken in _taken(line.split())]


def _taken(words: Sequence[str]) -> Iterator[Taken]:
    found = DeliveryId.parse(words[0])
    if found is not None:
        at = datetime.fromtimestamp(float(words[2]), UTC) if len(words) > 2 else None  # noqa: PLR2004  the third word
        mail = DeliveryId(found.stream_id, found.position).text()
        yield Taken(mail, found.try_number, words[1], at)


def leaks(logs: Iterable[Path], *, secrets: Iterable[str], domain: str) -> list[str]:
    """Log lines with a secret, or a recipient's whole address; what was found is not repeated."""
    address = re.compile(rf"[a-z]+\+?\d+@{re.escape(domain)}")
    hidden = [secret for secret in secrets if secret]
    return [
        f"{log.name}:{number} has a secret or a full address"
        for log in logs
        for number, line in enumerate(log.read_text(errors="replace").splitlines(), start=1)
        if address.search(line) or any(secret in line for secret in hidden)
    ]


def told(violation: Violation, taken: Sequence[Taken], *, now: datetime) -> list[str]:
    """A violation, the mail's story, and what the provider's journal has of it."""
    lines = [f"VIOLATED: {violation.rule}. {violation.sentence}."]
    found = DeliveryId.parse(violation.mail) if violation.mail else None
    if found is not None:
        facts = queries.delivery(found.stream_id, found.position)
        stream = queries.stream(found.stream_id)
        if facts and stream:
            lines += [f"    {sentence}" for sentence in story.of_delivery(facts, stream, now=now)]
        lines += [
            f"    journal: try {line.try_number} taken for {line.address} at {line.at}"
            for line in taken
            if line.mail == violation.mail
        ]
    return lines
