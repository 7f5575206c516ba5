"""What providers reported of the mail of each sender since a moment, from counters by slots."""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.ledger import sql

_COUNTED: tuple[LiteralString, ...] = ("accepted", "delivered", "bounced", "complained")


@dataclass(frozen=True, slots=True)
class SenderReports:
    """The counts of one sender; a report counts when it came, a mail when it was accepted.

    Trials, such as mail to the simulator of a provider, are among `taken` alone.
    """

    taken: int  # by the provider, with trials
    accepted: int
    delivered: int
    bounced: int
    complained: int
    last_event_at: datetime | None  # in the slot that begins then; None: no event came
    unreported_since: datetime | None  # mail was accepted then, and no event came since


NO_REPORTS = SenderReports(0, 0, 0, 0, 0, None, None)

_SLOTS: LiteralString = f"""
SELECT s.sender_id, s.is_trial, p.slot AS at, {", ".join([f"p.{name}" for name in _COUNTED])},
       p.reported
FROM deliveries_stream s JOIN deliveries_streampace p ON p.stream_id = s.id
WHERE s.workspace_id = %(workspace)s AND NOT s.is_test AND s.folded_at >= %(since)s
  AND p.slot >= %(since)s AND p.slot < %(until)s
UNION ALL
SELECT s.sender_id, s.is_trial, d.at, {", ".join([f"d.{name}" for name in _COUNTED])}, d.reported
FROM deliveries_streamdelta d JOIN deliveries_stream s ON s.id = d.stream_id
WHERE s.workspace_id = %(workspace)s AND NOT s.is_test AND d.at >= %(since)s
  AND d.at < %(until)s
"""


def _sum_real(name: LiteralString) -> LiteralString:
    return f"coalesce(sum({name}) FILTER (WHERE NOT is_trial), 0)::bigint AS {name}"


# Compared by minutes, the slots of reports: one of five seconds, which results have, would seem to
# be later than a report that came after it.
_REPORTS: LiteralString = f"""
WITH slot AS MATERIALIZED ({_SLOTS}), sender AS (
    SELECT sender_id, sum(accepted)::bigint AS taken, {", ".join(map(_sum_real, _COUNTED))},
           max(at) FILTER (WHERE reported > 0) AS last_event_at
    FROM slot GROUP BY sender_id
)
SELECT sender_id, taken, {", ".join(_COUNTED)}, last_event_at,
       (SELECT min(slot.at) FROM slot
        WHERE slot.sender_id = sender.sender_id AND slot.accepted > 0
          AND (last_event_at IS NULL
               OR date_trunc('minute', slot.at) > date_trunc('minute', last_event_at)))
FROM sender
"""


def read_sender_reports(
    workspace_id: int, *, since: datetime, until: datetime | None = None
) -> dict[int, SenderReports]:
    """The senders of a workspace that had mail or reports, by id; one query, without test mail.

    Slots may be of a minute: a time between two minutes cuts through one.
    """
    values = {"workspace": workspace_id, "since": since, "until": until or "infinity"}
    rows = sql.rows(_REPORTS, values)
    return {sender_id: SenderReports(*columns) for sender_id, *columns in rows}
