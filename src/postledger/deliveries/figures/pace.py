"""How fast mail goes: its results by slots of time, the rate of the last minute, the pace of a run.

Read from counters by slots and from the counters that are not folded yet, in one statement: no
delivery is read, so the size of the ledger does not matter.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import LiteralString

from postledger.deliveries.ledger import books, sql

_MINUTE = timedelta(minutes=1)
_ORIGIN = datetime(2000, 1, 1, tzinfo=UTC)
# Of fewer results in the last minute, the whole minute is the measure.
_FEWEST = 20
_SHORTEST = timedelta(seconds=5)
_WIDTHS = [timedelta(seconds=n) for n in (5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400)]
MOST_POINTS = 120


@dataclass(frozen=True, slots=True)
class SlotResults:
    """The results of one stream in the slot of time that begins at a moment."""

    at: datetime
    results: int  # all that do not wait any more
    accepted: int


@dataclass(frozen=True, slots=True)
class PacePoint:
    """How many mails were accepted from a moment on, for the width of the series."""

    at: datetime
    accepted: int


@dataclass(frozen=True, slots=True)
class PaceSeries:
    """The accepted mails of a stream from its first result to its last, without gaps.

    The points add up to the accepted mails of its books.
    """

    width: timedelta
    points: Sequence[PacePoint]


_RESULTS: LiteralString = " + ".join([f"d.{name}" for name in books.COUNTED])
# Deltas that are not folded yet, in the slots that they will be folded into.
SLOTS: LiteralString = f"""
SELECT d.stream_id, d.slot AS at, {_RESULTS} AS results, d.accepted FROM deliveries_streampace d
WHERE d.stream_id = ANY(%(streams)s::bigint[]) AND d.slot >= %(since)s
UNION ALL
SELECT d.stream_id, {books.SLOT}, {_RESULTS}, d.accepted
FROM deliveries_streamdelta d JOIN deliveries_stream s ON s.id = d.stream_id
WHERE d.stream_id = ANY(%(streams)s::bigint[]) AND d.at >= %(since)s
"""
_BY_STREAM: LiteralString = f"""
SELECT stream_id, at, sum(results)::bigint, sum(accepted)::bigint FROM ({SLOTS}) AS slot
GROUP BY stream_id, at ORDER BY stream_id, at
"""


def read_rates(stream_ids: Collection[int], *, now: datetime) -> dict[int, float]:
    """Results a second of the streams that had some in the last minute, in one query."""
    params = {"streams": sql.Bigints(stream_ids), "since": _start_of_minute(now) - _MINUTE}
    slots: defaultdict[int, list[SlotResults]] = defaultdict(list)
    for stream_id, *columns in sql.rows(_BY_STREAM, params):
        slots[stream_id].append(SlotResults(*columns))
    rates = {stream_id: measure_rate(found, now=now) for stream_id, found in slots.items()}
    return {stream_id: rate for stream_id, rate in rates.items() if rate is not None}


def measure_rate(slots: Sequence[SlotResults], *, now: datetime) -> float | None:
    """Results a second in the last minute; None without any. Pure.

    The minute begins at its first slot that has results if there are enough of them: a stream that
    began ten seconds ago is as fast as in these ten seconds. Slots of a whole minute count if any
    part of them is in the last minute.
    """
    since = now - _MINUTE
    recent = [slot for slot in slots if slot.at >= since]
    if not recent:
        # Only slots of a whole minute begin earlier and reach into it.
        recent = [slot for slot in slots if slot.at > since - _MINUTE]
    count = sum(slot.results for slot in recent)
    if count <= 0:
        return None
    first = min(slot.at for slot in recent if slot.results)
    if count < _FEWEST:
        first = min(first, since)
    return count / max(now - first, _SHORTEST).total_seconds()


_OF_WORKSPACE: LiteralString = f"""
SELECT minute, sum(accepted)::bigint
FROM (
    SELECT date_trunc('minute', p.slot) AS minute, p.accepted
    FROM deliveries_stream s JOIN deliveries_streampace p ON p.stream_id = s.id
    WHERE s.workspace_id = %(workspace)s AND NOT s.is_test AND s.folded_at >= %(since)s
      AND p.slot >= %(since)s AND p.slot < %(until)s
    UNION ALL
    SELECT date_trunc('minute', {books.SLOT}), d.accepted
    FROM deliveries_streamdelta d JOIN deliveries_stream s ON s.id = d.stream_id
    WHERE s.workspace_id = %(workspace)s AND NOT s.is_test
      AND d.at >= %(since)s AND d.at < %(until)s
) AS given
GROUP BY minute
"""


def read_minutes(workspace_id: int, *, now: datetime, minutes: int = 60) -> list[PacePoint]:
    """The accepted mails of a workspace in each of the last full minutes, the oldest first.

    One query. Mail of test keys is left out. The last point is the last full minute.
    """
    until = _start_of_minute(now)
    since = until - minutes * _MINUTE
    params = {"workspace": workspace_id, "since": since, "until": until}
    counts = {minute: int(count) for minute, count in sql.rows(_OF_WORKSPACE, params)}
    moments = (since + n * _MINUTE for n in range(minutes))
    return [PacePoint(moment, counts.get(moment, 0)) for moment in moments]


_OF_STREAM: LiteralString = f"""
WITH slot AS MATERIALIZED ({SLOTS})
SELECT at, sum(accepted)::bigint FROM slot GROUP BY at HAVING sum(accepted) <> 0 ORDER BY at
"""


def read_pace(stream_id: int) -> PaceSeries:
    """The whole pace of a stream, in at most 120 points; one query."""
    params = {"streams": sql.Bigints([stream_id]), "since": _ORIGIN}
    return make_series([PacePoint(*row) for row in sql.rows(_OF_STREAM, params)])


def make_series(counts: Sequence[PacePoint]) -> PaceSeries:
    """The counts of slots, in order, as a series of even width without gaps. Pure."""
    if not counts:
        return PaceSeries(_WIDTHS[0], ())
    span = counts[-1].at - counts[0].at
    width = next((w for w in _WIDTHS if span / w < MOST_POINTS - 1), _WIDTHS[-1])
    first = _start(counts[0].at, width)
    points = [0] * ((counts[-1].at - first) // width + 1)
    for count in counts:
        points[(count.at - first) // width] += count.accepted
    return PaceSeries(width, [PacePoint(first + n * width, sum_) for n, sum_ in enumerate(points)])


def _start(moment: datetime, width: timedelta) -> datetime:
    return _ORIGIN + (moment - _ORIGIN) // width * width


def _start_of_minute(moment: datetime) -> datetime:
    return _start(moment, _MINUTE)
