"""Mails in doubt: which there are, what is known of them, and how a person ends the doubt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.accounts import trail
from postledger.deliveries import ledger, undecided
from postledger.deliveries.attention import deciding
from postledger.deliveries.attention.deciding import (
    BEFORE_ALL,
    MOST,
    Action,
    Decided,
    MailKey,
    OpenMail,
    SeenMail,
)
from postledger.deliveries.entries import (
    DOUBTFUL,
    AttemptOutcome,
    Decision,
    SeenDelivery,
    StreamKind,
)
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId


@dataclass(frozen=True, slots=True)
class Doubt(OpenMail):
    """One mail in doubt, with what its doubtful try came to."""

    stream_id: int
    position: int
    kind: StreamKind
    title: str
    is_test: bool
    sender_id: int
    is_stream_cancelled: bool
    address: str
    last_try: int
    doubts: Sequence[int]  # the tries of which nobody knows whether the provider took them
    since: datetime
    resend_after: datetime | None
    outcome: AttemptOutcome
    detail: str
    tried_at: datetime

    def may_be_sent_again(self, now: datetime) -> bool:
        is_leaving = self.resend_after is not None and self.resend_after > now
        return not self.is_stream_cancelled and not is_leaving


# The last try that the delivery `d` is in doubt about: of two one may have been disproved since.
_LAST: LiteralString = """
    SELECT outcome, detail, at FROM deliveries_attempt a
    WHERE a.stream_id = tried.stream_id AND a.position = tried.position
      AND a.outcome = ANY(%(outcomes)s::text[])
      AND (d.doubts IS NULL OR a.try_number = ANY(d.doubts))
    ORDER BY a.id DESC
    LIMIT 1
"""
# By attempts, as in `undecided`: a million good results cost nothing here.
_LIST: LiteralString = f"""
SELECT d.stream_id, d.position, s.kind, s.title, s.is_test, s.sender_id,
       s.cancelled_at IS NOT NULL, d.address, d.last_try, coalesce(d.doubts, '{{}}'), d.settled_at,
       d.resend_after, last.outcome, coalesce(last.detail, ''), last.at
FROM (
    SELECT DISTINCT stream_id, position FROM deliveries_attempt
    WHERE stream_id = ANY(%(streams)s::bigint[]) AND outcome = ANY(%(outcomes)s::text[])
      AND (stream_id, position) > (%(after_stream)s, %(after_position)s)
) AS tried
JOIN deliveries_stream s ON s.id = tried.stream_id
JOIN deliveries_delivery d ON d.stream_id = tried.stream_id AND d.position = tried.position
CROSS JOIN LATERAL ({_LAST}) AS last
WHERE d.state = 'in_doubt'
  AND (%(outcome)s::text IS NULL OR last.outcome = %(outcome)s)
  AND (%(until)s::timestamptz IS NULL OR d.settled_at <= %(until)s)
ORDER BY d.stream_id, d.position
LIMIT %(limit)s
"""


def list_doubts(  # noqa: PLR0913  what they are chosen by, each by its name
    workspace_id: int,
    *,
    stream_id: int | None = None,
    outcome: AttemptOutcome | None = None,
    until: datetime | None = None,
    after: MailKey = BEFORE_ALL,
    limit: int,
) -> list[Doubt]:
    """A page of the mails in doubt, the oldest stream first.

    Of one stream or of all; of one cause or of any; in doubt since a moment at the latest.
    """
    streams = [
        id_
        for id_ in undecided.streams_in_doubt(workspace_id=workspace_id)
        if stream_id in {None, id_} and id_ >= after.stream_id
    ]
    params = {
        "streams": sql.Bigints(streams),
        "outcomes": sql.Texts(outcome.value for outcome in DOUBTFUL),
        "outcome": outcome and outcome.value,
        "until": until,
        "after_stream": after.stream_id,
        "after_position": after.position,
        "limit": limit,
    }
    rows = sql.rows(_LIST, params) if streams else []
    return [Doubt(*sql.convert(row, {2: StreamKind, 12: AttemptOutcome})) for row in rows]


@dataclass(frozen=True, slots=True)
class DoubtGroup:
    """The mails of one stream that are in doubt for the same cause."""

    stream_id: int
    kind: StreamKind
    title: str
    is_test: bool
    sender_id: int
    is_stream_cancelled: bool
    outcome: AttemptOutcome
    count: int
    since: datetime  # of the first
    resend_after: datetime | None  # before then some of them may not be sent again
    detail: str  # of the first that has one
    addresses: Sequence[str]  # of the first three


_GROUPS: LiteralString = f"""
SELECT s.id, s.kind, s.title, s.is_test, s.sender_id, s.cancelled_at IS NOT NULL, last.outcome,
       count(*), min(d.settled_at), max(d.resend_after),
       coalesce((array_agg(last.detail ORDER BY d.position) FILTER (WHERE last.detail <> ''))[1],
                ''),
       (array_agg(d.address ORDER BY d.position))[1:3]
FROM (
    SELECT DISTINCT stream_id, position FROM deliveries_attempt
    WHERE stream_id = ANY(%(streams)s::bigint[]) AND outcome = ANY(%(outcomes)s::text[])
) AS tried
JOIN deliveries_stream s ON s.id = tried.stream_id
JOIN deliveries_delivery d ON d.stream_id = tried.stream_id AND d.position = tried.position
CROSS JOIN LATERAL ({_LAST}) AS last
WHERE d.state = 'in_doubt'
GROUP BY s.id, last.outcome
ORDER BY min(d.settled_at), s.id, last.outcome
"""


def group_doubts(workspace_id: int) -> list[DoubtGroup]:
    """The mails in doubt by stream and cause, the oldest doubt first."""
    streams = undecided.streams_in_doubt(workspace_id=workspace_id)
    params = {
        "streams": sql.Bigints(streams),
        "outcomes": sql.Texts(outcome.value for outcome in DOUBTFUL),
    }
    rows = sql.rows(_GROUPS, params) if streams else []
    return [DoubtGroup(*sql.convert(row, {1: StreamKind, 6: AttemptOutcome})) for row in rows]


_IN_THE_TRAIL: Mapping[Decision, trail.Action] = {
    Decision.COUNT_AS_SENT: "doubt.count_as_sent",
    Decision.COUNT_AS_NOT_SENT: "doubt.count_as_not_sent",
    Decision.SEND_AGAIN: "doubt.send_again",
}


def to_action(decision: Decision) -> Action:
    def apply(stream_id: int, seen: Sequence[SeenDelivery], actor: str) -> list[int]:
        return ledger.resolve(stream_id, seen, decision=decision, actor=actor)

    return Action(
        name=_IN_THE_TRAIL[decision],
        before=State.IN_DOUBT,
        makes_wait=decision is Decision.SEND_AGAIN,
        apply=apply,
    )


def resolve_doubt(workspace_id: int, id_: DeliveryId, *, decision: Decision, actor: str) -> None:
    """Ends one doubt, or raises `deciding.NotDecidedError`."""
    deciding.decide_one(to_action(decision), workspace_id, id_, actor=actor)


def resolve_doubts(
    workspace_id: int, ids: Sequence[DeliveryId], *, decision: Decision, actor: str
) -> Decided:
    """Ends some doubts."""
    return deciding.decide_mails(to_action(decision), workspace_id, ids, actor=actor)


def resolve_stream(
    workspace_id: int, stream_id: int, *, decision: Decision, after: int = -1, actor: str
) -> Decided:
    """Ends the doubts of a stream, up to `deciding.MOST`; the answer says where to go on."""
    return deciding.decide_stream(
        to_action(decision), workspace_id, stream_id, after=after, actor=actor
    )


def resolve_group(  # noqa: PLR0913  a group and who decides, each by its name
    workspace_id: int,
    stream_id: int,
    *,
    outcome: AttemptOutcome,
    until: datetime,
    decision: Decision,
    actor: str,
) -> Decided:
    """Ends the doubts of a stream that have one cause and that were there at a moment.

    Up to `deciding.MOST`. A doubt that came after the person looked is left to them.
    """
    mails = list_doubts(workspace_id, stream_id=stream_id, outcome=outcome, until=until, limit=MOST)
    seen = [SeenMail(mail.key, mail.last_try) for mail in mails]
    return deciding.decide(to_action(decision), seen, actor=actor)
