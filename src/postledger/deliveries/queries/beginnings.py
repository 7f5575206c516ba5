"""Whether a workspace has sent anything yet, and heard of it."""

from dataclasses import dataclass
from typing import LiteralString

from postledger.deliveries.ledger import sql


@dataclass(frozen=True, slots=True)
class Beginnings:
    has_accepted: bool  # a provider, or the sandbox, took a mail that was no test
    has_report: bool  # and reported something of one


# Counters alone; those of the last seconds are not folded yet.
_BEGINNINGS: LiteralString = """
WITH own AS (
    SELECT s.id, s.accepted, s.reported FROM deliveries_stream s
    WHERE s.workspace_id = %(workspace)s AND NOT s.is_test
), fresh AS (
    SELECT d.accepted, d.reported FROM deliveries_streamdelta d JOIN own ON own.id = d.stream_id
)
SELECT EXISTS (SELECT FROM own WHERE accepted > 0) OR EXISTS (SELECT FROM fresh WHERE accepted > 0),
       EXISTS (SELECT FROM own WHERE reported > 0) OR EXISTS (SELECT FROM fresh WHERE reported > 0)
"""


def read_beginnings(workspace_id: int) -> Beginnings:
    row = sql.first_row(_BEGINNINGS, {"workspace": workspace_id})
    return Beginnings(*row) if row else Beginnings(has_accepted=False, has_report=False)
