"""Reads the records of a drill: journal, ledger and logs."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import LiteralString

from django.db import connection

from postledger.deliveries import audit, queries
from postledger.deliveries.explanations import explain
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from tools.drill.oracle import Violation
from tools.drill.records import Booked, Exchange, Note, Taken

# An accepted first attempt leaves no note. Attempts and events share one sequence.
_LEDGER: LiteralString = """
SELECT d.stream_id, d.position, n.notes::text,
       d.address, d.state, d.settled_at, d.last_try, s.kind, s.cancelled_at IS NOT NULL
FROM deliveries_stream s
JOIN deliveries_delivery d ON d.stream_id = s.id
LEFT JOIN (
    SELECT stream_id, position, json_agg(json_build_array(name, try_number, outcome) ORDER BY id)
               AS notes
    FROM (
        SELECT stream_id, position, id, outcome AS name, try_number, NULL AS outcome
        FROM deliveries_attempt
        UNION ALL
        SELECT stream_id, position, id, kind, coalesce((data ->> 'try')::int, 0), data ->> 'outcome'
        FROM deliveries_deliveryevent
    ) AS note
    GROUP BY stream_id, position
) AS n ON n.stream_id = d.stream_id AND n.position = d.position
WHERE s.workspace_id = ANY(%s)
"""

# Mails that a process has armed and not settled: chooses the process to kill, bounds nothing.
_ARMED: LiteralString = """
SELECT count(*) FROM deliveries_lease l
JOIN deliveries_batch b ON b.id = ANY(l.batch_ids) AND b.lease = l.token
JOIN deliveries_delivery d
  ON d.stream_id = b.stream_id AND d.position >= b.lo AND d.position < b.armed_to
WHERE d.state = 'waiting' AND split_part(l.holder, ':', -1) = ANY(%s)
"""

_WAITING: LiteralString = """
SELECT coalesce(sum(b.hi - b.lo), 0) FROM deliveries_batch b
JOIN deliveries_stream s ON s.id = b.stream_id WHERE s.workspace_id = ANY(%s)
"""


def ledger(*workspace_ids: int) -> dict[str, Booked]:
    with connection.cursor() as cursor:
        cursor.execute(_LEDGER, [list(workspace_ids)])
        return {
            DeliveryId(stream_id, position).text(): replace(
                Booked(address, State(state), *facts),
                notes=[Note(*note) for note in json.loads(notes or "[]")],
            )
            for stream_id, position, notes, address, state, *facts in cursor
        }


def armed_by(*pids: int) -> int:
    """How many mails these processes have with the provider now."""
    with connection.cursor() as cursor:
        cursor.execute(_ARMED, [[str(pid) for pid in pids]])
        return int(cursor.fetchone()[0])


def waiting(*workspace_ids: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [list(workspace_ids)])
        return int(cursor.fetchone()[0])


def findings(*workspace_ids: int) -> list[str]:
    """The audit findings of all streams of these workspaces."""
    streams = [id_ for owner in workspace_ids for id_ in queries.stream_ids(workspace_id=owner)]
    return [str(finding) for stream in streams for finding in audit.audit(stream).discrepancies]


def journal(lines: Iterable[str]) -> list[Taken]:
    """The mails that were taken; an incomplete last line was not answered.

    A line is `id address`, or as `smtp_server` writes it: `id address ended began code inside`.
    """
    return [taken for line in lines if line.endswith("\n") for taken in _parse_taken(line.split())]


def _parse_taken(fields: Sequence[str]) -> Iterator[Taken]:
    try_ = parse_reference(fields[0])
    if try_ is None or (len(fields) > _CODE and not fields[_CODE].startswith("2")):
        return
    at = datetime.fromtimestamp(float(fields[_ENDED]), UTC) if len(fields) > _ENDED else None
    inside = fields[_INSIDE].split(",") if len(fields) > _INSIDE else ()
    yield Taken(_mail(try_), try_.try_number, fields[1], at, inside)


_ENDED, _BEGAN, _CODE, _INSIDE = 2, 3, 4, 5  # fields of a line of the journal


def exchanges(lines: Iterable[str]) -> list[Exchange]:
    """Every transaction that the server saw, whatever its outcome."""
    split = (line.split() for line in lines if line.endswith("\n"))
    return [_parse_exchange(fields) for fields in split if len(fields) > _CODE]


def _parse_exchange(fields: Sequence[str]) -> Exchange:
    try_ = parse_reference(fields[0])
    return Exchange(
        address=fields[1],
        began_at=float(fields[_BEGAN]),
        ended_at=float(fields[_ENDED]),
        code=int(fields[_CODE]) if fields[_CODE].isdecimal() else None,
        mail=_mail(try_) if try_ else None,
        try_number=try_.try_number if try_ else None,
    )


def refused(seen: Iterable[Exchange]) -> set[str]:
    """The addresses that the provider refused for good."""
    return {exchange.address for exchange in seen if exchange.code and exchange.code // 100 == 5}


def parse_reference(text: str) -> DeliveryId | None:
    """X-Postledger-Id: the id of a try, alone or as `<id>_<epoch>_<mac>`."""
    return DeliveryId.parse(text.partition("_")[0])


def _mail(try_: DeliveryId) -> str:
    return DeliveryId(try_.stream_id, try_.position).text()


def leaks(logs: Iterable[Path], *, secrets: Iterable[str], domain: str) -> list[str]:
    """Log lines with a secret or a full recipient address; the finding does not repeat it."""
    address = re.compile(rf"[a-z]{{1,64}}\+?\d{{1,18}}@{re.escape(domain)}")
    hidden = [secret for secret in secrets if secret]
    return [
        f"{log.name}:{number} has a secret or a full address"
        for log in logs
        for number, line in enumerate(log.read_text(errors="replace").splitlines(), start=1)
        if address.search(line) or any(secret in line for secret in hidden)
    ]


def describe(violation: Violation, taken: Sequence[Taken], *, now: datetime) -> list[str]:
    """A violation, the mail's story, and its entries in the provider's journal."""
    lines = [f"VIOLATED: {violation.rule}. {violation.sentence}."]
    delivery_id = DeliveryId.parse(violation.mail) if violation.mail else None
    if delivery_id is not None:
        facts = queries.find_delivery(delivery_id.stream_id, delivery_id.position)
        stream = queries.find_stream(delivery_id.stream_id)
        if facts and stream:
            lines += [
                f"    {sentence}" for sentence in explain.explain_delivery(facts, stream, now=now)
            ]
        lines += [
            f"    journal: try {line.try_number} taken for {line.address} at {line.at}"
            for line in taken
            if line.mail == violation.mail or (facts and line.address == facts.address)
        ]
    return lines
