"""Dead letters: mails that were given up and ask for a person, by cause and one by one.

A person requeues them (`campaigns.requeueing`) or discards them. A discarded one stays failed in
the books and asks nobody any more; if it is requeued and fails again, it is a dead letter again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries import ledger
from postledger.deliveries.attention import deciding, sentences
from postledger.deliveries.attention.deciding import (
    BEFORE_ALL,
    MOST,
    Action,
    Decided,
    MailKey,
    OpenMail,
    SeenMail,
)
from postledger.deliveries.entries import AttemptOutcome, SeenDelivery, StreamKind
from postledger.deliveries.explanations import remedies
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId


@dataclass(frozen=True, slots=True)
class Cause:
    """What dead letters are chosen by; None chooses by nothing."""

    code: str | None = None
    outcome: AttemptOutcome | None = None
    stream_id: int | None = None
    until: datetime | None = None  # they were given up then, or before


EVERY = Cause()


@dataclass(frozen=True, slots=True)
class DeadLetter(OpenMail):
    stream_id: int
    position: int
    kind: StreamKind
    title: str
    sender_id: int
    is_stream_cancelled: bool
    address: str
    last_try: int
    attempts: int
    outcome: AttemptOutcome
    code: str
    detail: str
    since: datetime


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """The dead letters of one cause, and what to do about it."""

    outcome: AttemptOutcome
    code: str
    count: int
    since: datetime  # of the first
    example: str  # the detail of the first that has one

    @property
    def remedy(self) -> str:
        return sentences.advise(self.outcome, self.code)

    @property
    def needs_nobody(self) -> bool:
        """Whether it is only to be looked at, or discarded."""
        return remedies.needs_nobody(self.outcome, self.code)


# One statement, one snapshot, as in `undecided`. Mail of test keys asks nobody, and a campaign's
# test only whoever looks at it.
_STREAMS: LiteralString = """
SELECT c.stream_id
FROM (
    SELECT id AS stream_id, failed FROM deliveries_stream
    WHERE workspace_id = %(workspace)s AND failed <> 0
    UNION ALL
    SELECT stream_id, failed FROM deliveries_streamdelta WHERE failed <> 0
) AS c JOIN deliveries_stream s ON s.id = c.stream_id
WHERE s.workspace_id = %(workspace)s AND NOT s.is_test
  AND (%(stream)s::bigint IS NULL AND NOT s.is_trial OR s.id = %(stream)s)
GROUP BY c.stream_id HAVING sum(c.failed) > 0
"""
_CHOSEN: LiteralString = """
FROM deliveries_deadletter
WHERE stream_id = ANY(%(streams)s::bigint[])
  AND (%(code)s::text IS NULL OR code = %(code)s)
  AND (%(outcome)s::text IS NULL OR outcome = %(outcome)s)
  AND (%(until)s::timestamptz IS NULL OR at <= %(until)s)
  AND (stream_id, position) > (%(after_stream)s, %(after_position)s)
"""
_LIST: LiteralString = f"""
SELECT stream_id, position, kind, title, sender_id, is_stream_cancelled, address, last_try,
       attempts, outcome, code, detail, at
{_CHOSEN}
ORDER BY stream_id, position LIMIT %(limit)s
"""
_COUNT: LiteralString = f"SELECT count(*) {_CHOSEN}"
_GROUPS: LiteralString = f"""
SELECT outcome, code, count(*), min(at),
       coalesce((array_agg(detail ORDER BY stream_id, position) FILTER (WHERE detail <> ''))[1],
                '')
{_CHOSEN}
GROUP BY outcome, code ORDER BY count(*) DESC, code, outcome
"""


def list_dead_letters(
    workspace_id: int, *, cause: Cause = EVERY, after: MailKey = BEFORE_ALL, limit: int
) -> list[DeadLetter]:
    """A page of the dead letters, of one cause or of all, the oldest stream first."""
    rows = _read(_LIST, workspace_id, cause, after, limit)
    return [DeadLetter(*sql.convert(row, {2: StreamKind, 9: AttemptOutcome})) for row in rows]


def group_dead_letters(workspace_id: int, *, cause: Cause = EVERY) -> list[DeadLetterGroup]:
    """The dead letters by cause, the most frequent first."""
    rows = _read(_GROUPS, workspace_id, cause)
    return [DeadLetterGroup(*sql.convert(row, {0: AttemptOutcome})) for row in rows]


@dataclass(frozen=True, slots=True)
class StreamDeadLetters:
    stream_id: int
    count: int  # at most `MOST_COUNTED`
    since: datetime  # of the first


MOST_COUNTED = 10_000

# Of the streams that have failures by their counters; in those, by their attempts.
_BY_STREAM: LiteralString = """
SELECT s.id, letters.count, letters.since
FROM deliveries_stream s CROSS JOIN LATERAL (
    SELECT count(*) AS count, min(at) AS since FROM (
        SELECT at FROM deliveries_deadletter WHERE stream_id = s.id LIMIT %(most)s
    ) AS letter
) AS letters
WHERE s.kind = %(kind)s AND NOT s.is_test AND letters.count > 0
  AND s.failed + coalesce((
      SELECT sum(failed) FROM deliveries_streamdelta WHERE stream_id = s.id
  ), 0) > 0
ORDER BY s.id
"""


def count_by_stream(kind: StreamKind) -> list[StreamDeadLetters]:
    """How many dead letters each stream of a kind has, of those that have some."""
    rows = sql.rows(_BY_STREAM, {"kind": kind.value, "most": MOST_COUNTED})
    return [StreamDeadLetters(*row) for row in rows]


def find_dead_letter(workspace_id: int, id_: DeliveryId) -> DeadLetter | None:
    before = MailKey(id_.stream_id, id_.position - 1)
    letters = list_dead_letters(
        workspace_id, cause=Cause(stream_id=id_.stream_id), after=before, limit=1
    )
    return next((letter for letter in letters if letter.position == id_.position), None)


def _read(
    statement: LiteralString,
    workspace_id: int,
    cause: Cause,
    after: MailKey = BEFORE_ALL,
    limit: int = 0,
) -> list[sql.Row]:
    chosen = {"workspace": workspace_id, "stream": cause.stream_id}
    streams = [id_ for (id_,) in sql.rows(_STREAMS, chosen) if id_ >= after.stream_id]
    if not streams:
        return []
    params = {
        "streams": sql.Bigints(streams),
        "code": cause.code,
        "outcome": cause.outcome and cause.outcome.value,
        "until": cause.until,
        "after_stream": after.stream_id,
        "after_position": after.position,
        "limit": limit,
    }
    return sql.rows(statement, params)


def _discard(stream_id: int, seen: Sequence[SeenDelivery], actor: str) -> list[int]:
    return ledger.discard(stream_id, seen, actor=actor)


# It stays failed in the books, and only stops asking for a person.
DISCARD = Action(name="failure.discarded", before=State.FAILED, makes_wait=False, apply=_discard)


def decide_cause(
    action: Action, workspace_id: int, cause: Cause, *, after: MailKey = BEFORE_ALL, actor: str
) -> Decided:
    """Decides the dead letters of a cause, up to `deciding.MOST`; says where to go on."""
    letters = list_dead_letters(workspace_id, cause=cause, after=after, limit=MOST + 1)
    seen = [SeenMail(letter.key, letter.last_try) for letter in letters[:MOST]]
    decided = deciding.decide(action, seen, actor=actor)
    if len(letters) <= MOST:
        return decided
    last = seen[-1].key
    [(left,)] = _read(_COUNT, workspace_id, cause, last) or [(0,)]
    return Decided(decided.count, decided.unchanged, left, last)
