"""Reads what the oracle compares: the journal, the ledger, the logs, and the stories of mails."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, LiteralString

from django.db import connection

from postledger.deliveries import audit, queries, story
from postledger.lib.ids import DeliveryId
from postledger.workers.drill.accounts import Booked, Exchange, Note, Taken
from postledger.workers.drill.oracle import Violation

# A first attempt that was accepted leaves no note. Attempts and events share one sequence.
_LEDGER: LiteralString = """
SELECT d.stream_id, d.position, d.address, d.state, d.settled_at, d.last_try, s.kind,
       s.cancelled_at IS NOT NULL, n.notes
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

# What one process has armed and not settled: tells who is worth killing. No bound comes from it.
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
            DeliveryId(stream_id, position).text(): Booked(
                address,
                state,
                settled_at,
                last_try,
                [Note(*note) for note in _read(notes)],
                kind,
                is_cancelled,
            )
            for (
                stream_id,
                position,
                address,
                state,
                settled_at,
                last_try,
                kind,
                is_cancelled,
                notes,
            ) in cursor
        }


def _read(notes: str | Sequence[Any] | None) -> Sequence[Any]:
    return json.loads(notes) if isinstance(notes, str) else notes or ()


def armed_by(*pids: int) -> int:
    """How many mails some processes have with the provider now."""
    with connection.cursor() as cursor:
        cursor.execute(_ARMED, [[str(pid) for pid in pids]])
        return int(cursor.fetchone()[0])


def waiting(*workspace_ids: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [list(workspace_ids)])
        return int(cursor.fetchone()[0])


def findings(*workspace_ids: int) -> list[str]:
    """The recount of every stream of some workspaces."""
    streams = [id_ for owner in workspace_ids for id_ in queries.stream_ids(workspace_id=owner)]
    return [str(finding) for stream in streams for finding in audit.audit(stream).findings]


def journal(lines: Iterable[str]) -> list[Taken]:
    """The mails that were taken; a half line at the end was not answered.

    A line is `id address`, or what `smtp_server` writes: `id address ended began code inside`.
    """
    return [taken for line in lines if line.endswith("\n") for taken in _taken(line.split())]


def _taken(words: Sequence[str]) -> Iterator[Taken]:
    try_ = parse_reference(words[0])
    if try_ is None or (len(words) > _CODE and not words[_CODE].startswith("2")):
        return
    at = datetime.fromtimestamp(float(words[_ENDED]), UTC) if len(words) > _ENDED else None
    inside = words[_INSIDE].split(",") if len(words) > _INSIDE else ()
    yield Taken(_mail(try_), try_.try_number, words[1], at, inside)


_ENDED, _BEGAN, _CODE, _INSIDE = 2, 3, 4, 5  # where a line of the server's journal has them


def exchanges(lines: Iterable[str]) -> list[Exchange]:
    """Every transaction that the server saw, whatever came of it."""
    split = (line.split() for line in lines if line.endswith("\n"))
    return [_exchange(words) for words in split if len(words) > _CODE]


def _exchange(words: Sequence[str]) -> Exchange:
    try_ = parse_reference(words[0])
    return Exchange(
        address=words[1],
        began_at=float(words[_BEGAN]),
        ended_at=float(words[_ENDED]),
        code=int(words[_CODE]) if words[_CODE].isdecimal() else None,
        mail=_mail(try_) if try_ else None,
        try_number=try_.try_number if try_ else None,
    )


def refused(seen: Iterable[Exchange]) -> set[str]:
    """The addresses that the provider refused for good."""
    return {exchange.address for exchange in seen if exchange.code and exchange.code // 100 == _NO}


_NO = 5


def parse_reference(text: str) -> DeliveryId | None:
    """X-Postledger-Id: the id of a try, alone or as `<id>_<epoch>_<mac>`."""
    return DeliveryId.parse(text.partition("_")[0])


def _mail(try_: DeliveryId) -> str:
    return DeliveryId(try_.stream_id, try_.position).text()


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
            if line.mail == violation.mail or (facts and line.address == facts.address)
        ]
    return lines
