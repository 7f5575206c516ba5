"""Books what becomes known of a try outside its lease: provider events and late answers."""

from collections.abc import Iterator, Sequence
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.entries import Entry, Evidence
from postledger.deliveries.ledger import fence, lanes, sql
from postledger.deliveries.ledger.forgetting import ERASED
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State


def record(stream_id: int, evidence: Sequence[Evidence]) -> int:
    """Applies evidence about one stream's tries; returns how many deliveries changed.

    Idempotent, in any order. Accepted(try) turns any state but accepted into accepted; an address
    that it names must be the line's, unless that was erased. Any other answer acts only on a
    delivery that is in doubt about that same try: the doubt ends, and when none is left a refusal
    fails the delivery and everything else puts it back to waiting. An answer of "in doubt" says
    nothing and changes nothing.

    Evidence of an earlier epoch may be about a time that this database has lost, in which numbers
    were given out that it never gave. Only an acceptance counts, and only for a line that was
    planned before the fence fell, to the same address. Everything else is kept as unmatched: what
    an earlier epoch denies, the lost time may have tried again.
    """
    number = fence.current_epoch().number
    earlier = [said for said in evidence if said.epoch is not None and said.epoch < number]
    later = [said for said in evidence if said.epoch is not None and said.epoch > number]
    current = [said for said in evidence if said.epoch is None or said.epoch == number]
    accepted = [said for said in current if said.entry.state is State.ACCEPTED]
    disproved = [
        said for said in current if said.entry.state not in {State.ACCEPTED, State.IN_DOUBT}
    ]
    if earlier:
        _judge(stream_id)
    with transaction.atomic():
        _keep_unmatched(stream_id, later)
        changed = sum(_accept(stream_id, rounds) for rounds in _once_each(accepted))
        changed += sum(_disprove(stream_id, rounds) for rounds in _once_each(disproved))
        changed += sum(_accept_earlier(stream_id, rounds) for rounds in _once_each(earlier))
    return changed


def _once_each(evidence: Sequence[Evidence]) -> Iterator[list[Evidence]]:
    """Deals the evidence into rounds with each position once: one UPDATE changes a row once."""
    rest = list(evidence)
    while rest:
        round_: dict[int, Evidence] = {}
        for said in rest:
            round_.setdefault(said.entry.position, said)
        yield list(round_.values())
        rest = [said for said in rest if round_[said.entry.position] is not said]


_COVERING: LiteralString = """
SELECT b.id
FROM unnest(%(positions)s::bigint[]) AS given (position)
CROSS JOIN LATERAL (
    SELECT id, hi FROM deliveries_batch
    WHERE stream_id = %(stream)s AND lo <= given.position
    ORDER BY lo DESC
    LIMIT 1
) AS b
WHERE b.hi > given.position
"""

_BUMP: LiteralString = """
WITH known AS MATERIALIZED (
    SELECT id FROM deliveries_batch WHERE id = ANY(%(ids)s::bigint[])
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE deliveries_batch b SET version = version + 1 FROM known WHERE b.id = known.id
RETURNING b.id
"""


def outdate(stream_id: int, positions: Sequence[int]) -> set[int]:
    """Makes every composed but unarmed window over these positions unarmable, and locks it so.

    The covering batch may change while its lock is waited for, so the look is repeated until a
    fresh snapshot shows no covering batch that is not locked already. Returns those locked.
    Batches before deliveries: the order of locks everywhere.
    """
    locked: set[int] = set()
    while True:
        found = sql.rows(_COVERING, {"stream": stream_id, "positions": sql.Bigints(positions)})
        fresh = {id_ for (id_,) in found} - locked
        if not fresh:
            return locked
        sql.rows(_BUMP, {"ids": sql.Bigints(sorted(fresh))})
        locked |= fresh


_ACCEPT: LiteralString = """
WITH said AS MATERIALIZED (
    SELECT * FROM unnest(
        %(positions)s::bigint[], %(tries)s::integer[], %(message_ids)s::text[],
        %(sources)s::text[], %(addresses)s::text[]
    ) AS s (position, try_number, message_id, source, address)
), old AS MATERIALIZED (
    SELECT d.position, d.state AS before, said.try_number, said.message_id, said.source
    FROM said JOIN deliveries_delivery d
      ON d.stream_id = %(stream)s AND d.position = said.position
    WHERE d.state <> 'accepted'
      AND (said.address IS NULL OR lower(d.address) IN (lower(said.address), %(erased)s))
    ORDER BY d.position
    FOR NO KEY UPDATE OF d
), line AS (
    UPDATE deliveries_delivery d SET
        state = 'accepted',
        -- A requeue may have reset the count: the accepted try is one.
        attempts = greatest(d.attempts + (d.last_try < old.try_number)::int, 1),
        last_try = greatest(d.last_try, old.try_number),
        message_id = coalesce(old.message_id, d.message_id),
        settled_at = clock_timestamp(), code = NULL, doubts = NULL, resend_after = NULL
    FROM old WHERE d.stream_id = %(stream)s AND d.position = old.position
    RETURNING d.position, old.before, old.try_number, old.message_id, old.source
), event AS (
    INSERT INTO deliveries_deliveryevent (stream_id, position, at, kind, actor, data)
    SELECT %(stream)s, position, statement_timestamp(), 'proved_accepted', source,
           jsonb_build_object('try', try_number, 'before', before)
    FROM line
), message AS (
    INSERT INTO deliveries_providermessage (stream_id, position, try_number, message_id)
    SELECT %(stream)s, position, try_number, message_id FROM line WHERE message_id IS NOT NULL
), delta AS (
    INSERT INTO deliveries_streamdelta (
        stream_id, accepted, failed, skipped, suppressed, expired, cancelled, in_doubt
    )
    SELECT %(stream)s, count(*),
           -count(*) FILTER (WHERE before = 'failed'),
           -count(*) FILTER (WHERE before = 'skipped'),
           -count(*) FILTER (WHERE before = 'suppressed'),
           -count(*) FILTER (WHERE before = 'expired'),
           -count(*) FILTER (WHERE before = 'cancelled'),
           -count(*) FILTER (WHERE before = 'in_doubt')
    FROM line HAVING count(*) > 0
)
SELECT count(*), coalesce(array_agg(position) FILTER (WHERE before = 'waiting'), '{}') FROM line
"""


def _accept(stream_id: int, evidence: Sequence[Evidence]) -> int:
    """Accepts, with every batch that covers a waiting one of them outdated first.

    A click may give a delivery a new batch while its row is waited for. Then all is undone but
    the locks on batches, and done again with the new batch among them.
    """
    positions = [said.entry.position for said in evidence]
    params = {
        "stream": stream_id,
        "positions": sql.Bigints(positions),
        "tries": sql.Bigints(said.try_number for said in evidence),
        "message_ids": sql.Texts(said.entry.message_id for said in evidence),
        "sources": sql.Texts(said.source for said in evidence),
        "addresses": sql.Texts(said.address for said in evidence),
        "erased": ERASED,
    }
    while True:
        locked = outdate(stream_id, positions)
        before = transaction.savepoint()
        [(changed, waited)] = sql.rows(_ACCEPT, params)
        covering = sql.rows(_COVERING, {"stream": stream_id, "positions": sql.Bigints(waited)})
        if locked.issuperset(id_ for (id_,) in covering):
            transaction.savepoint_commit(before)
            return int(changed)
        transaction.savepoint_rollback(before)


_MATCHING: LiteralString = """
SELECT d.position FROM unnest(
    %(positions)s::bigint[], %(tries)s::integer[], %(addresses)s::text[]
) AS said (position, try_number, address)
JOIN deliveries_delivery d ON d.stream_id = %(stream)s AND d.position = said.position
JOIN deliveries_epoch e ON e.number = (SELECT max(number) FROM deliveries_epoch)
WHERE d.state <> 'accepted' AND d.planned_at < e.began_at
  AND (said.address IS NULL OR lower(d.address) IN (lower(said.address), %(erased)s))
"""

_UNMATCHED: LiteralString = """
INSERT INTO deliveries_unmatched (
    stream_id, position, try_number, epoch, outcome, source, message_id
)
SELECT %(stream)s, * FROM unnest(
    %(positions)s::bigint[], %(tries)s::integer[], %(epochs)s::integer[], %(outcomes)s::text[],
    %(sources)s::text[], %(message_ids)s::text[]
)
"""


def _judge(stream_id: int) -> None:
    """Puts a fenced stream's lines in doubt, some batches at a time, before evidence ends any."""
    while fence.put_in_doubt(stream_id):
        pass


def record_log(stream_id: int, evidence: Sequence[Evidence]) -> int:
    """Applies what a provider's log says of an earlier epoch's mails; returns how many changed.

    A log mentions all mail, also what is accepted long since: what matches nothing is not kept.
    """
    number = fence.current_epoch().number
    earlier = [said for said in evidence if said.epoch is not None and said.epoch < number]
    _judge(stream_id)
    with transaction.atomic():
        return sum(
            _accept_earlier(stream_id, rounds, keeps_unmatched=False)
            for rounds in _once_each(earlier)
        )


def _accept_earlier(
    stream_id: int, evidence: Sequence[Evidence], *, keeps_unmatched: bool = True
) -> int:
    """Accepts what an earlier epoch's evidence may speak for, and keeps the rest as unmatched."""
    params = {
        "stream": stream_id,
        "positions": sql.Bigints(said.entry.position for said in evidence),
        "tries": sql.Bigints(said.try_number for said in evidence),
        "addresses": sql.Texts(said.address for said in evidence),
        "erased": ERASED,
    }
    positions = {position for (position,) in sql.rows(_MATCHING, params)}
    matched = [
        said
        for said in evidence
        if said.entry.position in positions and said.entry.state is State.ACCEPTED
    ]
    if keeps_unmatched:
        _keep_unmatched(stream_id, [said for said in evidence if said not in matched])
    return _accept(stream_id, matched) if matched else 0


def _keep_unmatched(stream_id: int, evidence: Sequence[Evidence]) -> None:
    if evidence:
        params = {
            "stream": stream_id,
            "positions": sql.Bigints(said.entry.position for said in evidence),
            "tries": sql.Bigints(said.try_number for said in evidence),
            "epochs": sql.Bigints(said.epoch for said in evidence),
            "outcomes": sql.Texts(said.entry.outcome.value for said in evidence),
            "sources": sql.Texts(said.source for said in evidence),
            "message_ids": sql.Texts(said.entry.message_id for said in evidence),
        }
        sql.rows(_UNMATCHED, params)


_DISPROVE: LiteralString = (
    """
WITH said AS MATERIALIZED (
    SELECT * FROM unnest(
        %(positions)s::bigint[], %(tries)s::integer[], %(refusals)s::boolean[],
        %(counts)s::boolean[], %(delays)s::interval[], %(outcomes)s::text[], %(codes)s::text[],
        %(details)s::text[], %(sources)s::text[]
    ) AS s (position, try_number, is_refusal, counts, delay, outcome, code, detail, source)
), locked AS MATERIALIZED (
    SELECT d.position, d.settled_at FROM deliveries_delivery d JOIN said USING (position)
    WHERE d.stream_id = %(stream)s
    ORDER BY d.position
    FOR NO KEY UPDATE OF d
), line AS (
    UPDATE deliveries_delivery d SET
        state = CASE
            WHEN d.doubts <> ARRAY[said.try_number] THEN 'in_doubt'
            WHEN said.is_refusal THEN 'failed'
            ELSE 'waiting'
        END,
        doubts = NULLIF(array_remove(d.doubts, said.try_number), '{}'),
        resend_after = CASE WHEN d.doubts <> ARRAY[said.try_number] THEN d.resend_after END,
        -- The doubt was counted as an attempt; a throttle or a call never started is none.
        attempts = greatest(d.attempts - (NOT said.counts)::int, 0),
        code = said.code,
        settled_at = CASE
            WHEN d.doubts = ARRAY[said.try_number] AND NOT said.is_refusal THEN NULL
            ELSE clock_timestamp()
        END
    FROM said JOIN locked USING (position)
    WHERE d.stream_id = %(stream)s
      AND d.position = said.position
      AND d.state = 'in_doubt'
      AND said.try_number = ANY(d.doubts)
      -- A backstop: a doubt is not covered by a live batch today; one that is stays as it is.
      AND NOT """
    + sql.covered("said.position")
    + """
    RETURNING d.position, d.state, d.last_try, said.try_number, said.delay, said.outcome,
        said.code, said.detail, said.source, locked.settled_at
), event AS (
    INSERT INTO deliveries_deliveryevent (stream_id, position, at, kind, actor, data)
    SELECT %(stream)s, position, statement_timestamp(), 'proved_not_accepted', source,
           jsonb_build_object(
               'try', try_number, 'after', state, 'outcome', outcome, 'code', code,
               'detail', detail
           )
    FROM line
), delta AS (
    INSERT INTO deliveries_streamdelta (stream_id, in_doubt, failed)
    SELECT %(stream)s, -count(*), count(*) FILTER (WHERE state = 'failed')
    FROM line WHERE state <> 'in_doubt' HAVING count(*) > 0
), again AS (
    INSERT INTO deliveries_batch (
        stream_id, lo, hi, is_single, try_number, due_at, reason, since
    )
    SELECT %(stream)s, line.position, line.position + 1, s.kind = 'transactional',
           """
    + sql.next_try("line.last_try", "line.settled_at")
    + ", "
    + sql.due_after("line.last_try", "line.delay")
    + """, %(reason)s, statement_timestamp()
    FROM line JOIN deliveries_stream s ON s.id = %(stream)s
    WHERE line.state = 'waiting'
)
SELECT count(*) FROM line
"""
)


def _disprove(stream_id: int, evidence: Sequence[Evidence]) -> int:
    lanes.keep_lane(stream_id)
    entries: list[Entry] = [said.entry for said in evidence]
    params = {
        "stream": stream_id,
        "reason": Reason.DISPROVED.value,
        "positions": sql.Bigints(entry.position for entry in entries),
        "tries": sql.Bigints(said.try_number for said in evidence),
        "refusals": [entry.state is State.FAILED for entry in entries],
        "counts": [entry.counts for entry in entries],
        "delays": [entry.delay for entry in entries],
        "outcomes": sql.Texts(entry.outcome.value for entry in entries),
        "codes": sql.Texts(entry.code for entry in entries),
        "details": sql.Texts(entry.detail for entry in entries),
        "sources": sql.Texts(said.source for said in evidence),
    }
    [(changed,)] = sql.rows(_DISPROVE, params)
    return int(changed)
