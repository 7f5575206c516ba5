"""Whether a workspace has sent anything yet, and heard of it."""

from dataclasses import dataclass
from typing import LiteralString

from postledger.deliveries.ledger import sql
from postledger.providers.sandbox.events import MESSAGE_ID_PREFIX


@dataclass(frozen=True, slots=True)
class Beginnings:
    has_accepted: bool  # a provider, or the sandbox, took a mail that was no test
    has_report: bool  # a provider, and not the sandbox, reported something of one


# By counters; those of the last seconds are not folded yet. The reports of a stream are read until
# one is none of the sandbox's: a sender keeps its streams when it is connected to a provider.
_BEGINNINGS: LiteralString = """
WITH own AS (
    SELECT s.id, s.accepted, s.reported FROM deliveries_stream s
    WHERE s.workspace_id = %(workspace)s AND NOT s.is_test
), fresh AS (
    SELECT d.stream_id, d.accepted, d.reported
    FROM deliveries_streamdelta d JOIN own ON own.id = d.stream_id
)
SELECT EXISTS (SELECT FROM own WHERE accepted > 0) OR EXISTS (SELECT FROM fresh WHERE accepted > 0),
       EXISTS (
           SELECT FROM own
           WHERE (reported > 0 OR id IN (SELECT stream_id FROM fresh WHERE reported > 0))
             AND (
                 SELECT true FROM deliveries_feedback f WHERE f.stream_id = own.id
                   AND NOT starts_with(coalesce(f.message_id, ''), %(sandbox)s)
                 LIMIT 1  -- not EXISTS, for which all reports might be read
             )
       )
"""


def read_beginnings(workspace_id: int) -> Beginnings:
    row = sql.first_row(_BEGINNINGS, {"workspace": workspace_id, "sandbox": MESSAGE_ID_PREFIX})
    return Beginnings(*row) if row else Beginnings(has_accepted=False, has_report=False)
