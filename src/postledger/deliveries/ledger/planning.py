"""Plans deliveries from a query inside the database, and the batches that will carry them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from django.db import IntegrityError, transaction
from psycopg import sql as pg
from psycopg.errors import UniqueViolation

from postledger.deliveries.ledger import fence, opening, sql
from postledger.deliveries.reasons import Reason
from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point

BATCH_SIZE = 500


@dataclass(frozen=True, slots=True)
class Planned:
    """How many deliveries a chunk added, and why the others of it were not."""

    added: int
    repeated: int  # their keys were in the stream already
    kept_back: Mapping[str, Sequence[int | None]]  # their contacts, by reason
    last_key: str | None  # of the whole chunk

    @property
    def given(self) -> int:
        return self.added + self.repeated + sum(map(len, self.kept_back.values()))


# A chunk takes its positions from the stream's row, which also makes two planners of one stream
# wait for each other. Batches are due a microsecond apart, so that the order of due times is the
# order of positions and the index (stream, due_at) serves both.
def _write_plan(
    *, due_at: LiteralString, reason: LiteralString, timed: LiteralString, alike: LiteralString
) -> LiteralString:
    return f"""
WITH given AS MATERIALIZED (
    {{source}}
), meant AS (
    SELECT row_number() OVER () AS n, given.* FROM given WHERE kept_back IS NULL
), size AS MATERIALIZED (
    SELECT count(*) AS given, count(*) FILTER (WHERE kept_back IS NULL) AS meant,
           max(dedupe_key) AS last_key
    FROM given
), base AS (
    UPDATE deliveries_stream SET next_position = next_position + size.meant
    FROM size WHERE id = %(stream)s
    RETURNING next_position - size.meant AS lo
), added AS (
    INSERT INTO deliveries_delivery (
        stream_id, position, planned_at, address, dedupe_key, contact_id, variables, letter
    )
    SELECT %(stream)s, base.lo + meant.n - 1, statement_timestamp(),
           meant.address, meant.dedupe_key, meant.contact_id, meant.variables::jsonb,
           meant.letter
    FROM base, meant
    {{repeated}}
    RETURNING position
), batch AS (
    INSERT INTO deliveries_batch (
        stream_id, lo, hi, is_single, try_number, due_at, reason, since, planned
    )
    SELECT %(stream)s, min(position), max(position) + 1, false, 1,
           {due_at} + position / %(size)s * interval '1 microsecond',
           {reason}, statement_timestamp(), count(*)
    FROM {timed}
    GROUP BY {alike}
)
SELECT (SELECT lo FROM base), size.meant, (SELECT count(*) FROM added), size.last_key,
       CASE WHEN size.given > size.meant THEN (
           SELECT json_object_agg(kept_back, contacts)::text
           FROM (
               SELECT kept_back, array_agg(contact_id) AS contacts
               FROM given WHERE kept_back IS NOT NULL GROUP BY 1
           ) AS by_reason
       ) END
FROM size
"""


PLAN = _write_plan(
    due_at="coalesce(%(due_at)s, statement_timestamp())",
    reason="%(reason)s",
    timed="added",
    alike="position / %(size)s",
)
# IS TRUE keeps the look-up a hash: as a join, a wrong estimate of the source made it take a minute.
_PLAN_BY_ROW = _write_plan(
    due_at="coalesce(due_at, statement_timestamp())",
    reason="reason",
    timed="""(
        SELECT base.lo + meant.n - 1 AS position, meant.due_at, meant.reason FROM base, meant
        WHERE (base.lo + meant.n - 1 IN (SELECT position FROM added)) IS TRUE
    ) AS timed""",
    alike="position / %(size)s, due_at, reason",
)

REPEATED = pg.SQL("ON CONFLICT (stream_id, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING")


def plan(  # noqa: PLR0913  what a chunk is, each part by its name
    stream_id: int,
    *,
    source: pg.Composable,
    params: Mapping[str, object],
    due_at: datetime | None = None,
    reason: Reason = Reason.READY,
    is_timed_by_row: bool = False,
    is_interrupted: bool = False,
) -> Planned:
    """Plans one chunk from a query inside the database, up to 10,000 rows at a time.

    `source` yields address, dedupe_key, contact_id, variables (as text), letter and kept_back, in
    the order of sending; a row with kept_back is returned by it, and gets no delivery.
    `is_timed_by_row` says that it also yields due_at (NULL: now) and the reason to wait until then,
    and is in the order of due times; no batch has mails of two due times.
    `is_interrupted` says that it takes up planning that a restore interrupted elsewhere.
    Idempotent by (stream, dedupe_key): a repeated chunk adds nothing. Commits with the caller's
    transaction, so a cursor stored there moves together with the rows.
    """
    all_params = {
        **params,
        "stream": stream_id,
        "due_at": due_at,
        "reason": reason.value,
        "size": BATCH_SIZE,
    }
    with transaction.atomic(), opening.refusing_dropped_months(stream_id):
        opening.keep_open(stream_id)
        statement = pg.SQL(_PLAN_BY_ROW if is_timed_by_row else PLAN)
        [(lo, meant, added, last_key, kept_back)] = _run_plan(statement, source, all_params)
        if added:
            fence.doubt_planned_again(
                stream_id, lo=lo, due_at=due_at, is_interrupted=is_interrupted
            )
        crashpoints.reached(Point.IN_PLAN_CHUNK)
    reasons = json.loads(kept_back) if kept_back else {}
    return Planned(added, repeated=meant - added, kept_back=reasons, last_key=last_key)


def _run_plan(
    statement: pg.SQL, source: pg.Composable, params: Mapping[str, object]
) -> list[sql.Row]:
    """Assumes first that no key is repeated: checking each one takes a sixth of the time."""
    try:
        with transaction.atomic():
            return sql.rows(statement.format(source=source, repeated=pg.SQL("")), params)
    except IntegrityError as error:
        if not isinstance(error.__cause__, UniqueViolation):
            raise
    return sql.rows(statement.format(source=source, repeated=REPEATED), params)
