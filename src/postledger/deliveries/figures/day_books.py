"""The books of a workspace's day."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import LiteralString
from zoneinfo import ZoneInfo

from postledger.accounts import queries as accounts
from postledger.deliveries.ledger import books, sql
from postledger.deliveries.states import State


@dataclass(frozen=True, slots=True)
class DayBooks:
    """What a workspace had to do on one day, and what became of it.

    `planned` is the sum of all states, always. It has the mail that was left over when the day
    began, waiting or in doubt, and the mail that was planned since. Results belong to the day on
    which they were stored; what waits or is in doubt now belongs to today, however old it is. Mail
    that is due on a later day is counted in `later` alone.
    """

    starts_at: datetime
    ends_at: datetime
    zone: str
    states: dict[State, int]
    later: int

    @property
    def planned(self) -> int:
        return sum(self.states.values())

    @property
    def waiting(self) -> int:
        return self.states[State.WAITING]


_RESULTS = [name for name in books.COUNTED if name != State.IN_DOUBT]
_TODAY: LiteralString = ", ".join([f"sum({name}) AS {name}" for name in _RESULTS])
_SETTLED: LiteralString = " + ".join(list(books.COUNTED))
# One statement, one snapshot. What is left is planned less results, over all streams: the counters
# of finished streams cancel out. Every pace of the day is of a stream that was folded in it.
_DAY: LiteralString = f"""
WITH stream AS MATERIALIZED (
    SELECT id, folded_at, planned - ({_SETTLED}) AS waiting, in_doubt
    FROM deliveries_stream WHERE workspace_id = %(workspace)s AND NOT is_test
), delta AS MATERIALIZED (
    SELECT d.* FROM deliveries_streamdelta d JOIN stream ON stream.id = d.stream_id
), batch AS MATERIALIZED (
    SELECT sum(b.planned) AS planned,
           sum(b.hi - b.lo) FILTER (WHERE b.due_at >= %(ends_at)s AND b.try_number = 1) AS later
    FROM deliveries_lane l JOIN stream ON stream.id = l.stream_id
    JOIN deliveries_batch b ON b.stream_id = l.stream_id
), today AS (
    SELECT {_TODAY} FROM (
        SELECT {", ".join([f"p.{name}" for name in _RESULTS])}
        FROM stream JOIN deliveries_streampace p ON p.stream_id = stream.id
        WHERE stream.folded_at >= %(starts_at)s AND p.slot >= %(starts_at)s
        UNION ALL
        SELECT {", ".join(_RESULTS)} FROM delta WHERE at >= %(starts_at)s
    ) AS given
)
SELECT {", ".join([f"coalesce(today.{name}, 0)" for name in _RESULTS])},
       coalesce((SELECT sum(in_doubt) FROM stream), 0)
       + coalesce((SELECT sum(in_doubt) FROM delta), 0),
       coalesce((SELECT sum(waiting) FROM stream), 0)
       + coalesce((SELECT sum(planned - ({_SETTLED})) FROM delta), 0) + coalesce(batch.planned, 0),
       coalesce(batch.later, 0)
FROM today, batch
"""


def read_day_books(workspace_id: int, *, now: datetime) -> DayBooks:
    """The books of the day of `now`, in the zone of the workspace; mail of test keys is left out.

    Two queries. A result that was taken back on a later day, such as a failure that a person
    requeues, is subtracted on that day, where a state never falls below 0.
    """
    zone = accounts.time_zone(workspace_id)
    starts_at, ends_at = find_day(zone, now)
    params = {"workspace": workspace_id, "starts_at": starts_at, "ends_at": ends_at}
    [(*results, in_doubt, left, later)] = sql.rows(_DAY, params)
    later = min(int(later), int(left))
    states = {State(name): max(0, int(n)) for name, n in zip(_RESULTS, results, strict=True)}
    states |= {State.IN_DOUBT: int(in_doubt), State.WAITING: int(left) - later}
    return DayBooks(starts_at, ends_at, zone, states, later)


def find_day(zone: str, now: datetime) -> tuple[datetime, datetime]:
    """When the day of a moment begins and ends; it has 23 or 25 hours when the clocks change."""
    today = now.astimezone(ZoneInfo(zone)).date()
    days = (today, today + timedelta(days=1))
    first, last = (datetime.combine(day, time(), ZoneInfo(zone)).astimezone(UTC) for day in days)
    return first, last
