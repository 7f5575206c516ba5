"""Books evidence of a try outside its lease: provider events and late answers."""

from collections.abc import Iterator, Sequence
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.entries import Evidence
from postledger.deliveries.ledger import books, counting, fence, rotation, sql
from postledger.deliveries.ledger.erasing import ERASED
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State


def record(stream_id: int, evidence: Sequence[Evidence]) -> int:
    """Applies evidence about one stream's tries; returns how many deliveries changed.

    Idempotent, in any order. Accepted(try) turns any state but accepted into accepted, if that try
    was armed; an address that it names must be the delivery's, unless that was erased. Any other
    answer acts only on a delivery that is in doubt about that same try: the doubt ends, and when no
    doubt is left a refusal fails the delivery and everything else puts it back to waiting. An
    answer of "in doubt" changes nothing.

    Evidence of an earlier epoch may be about a time that this database has lost, in which numbers
    were given out that it never gave. Only an acceptance counts, and only for a delivery that was
    planned before the database was fenced, to the same address. Everything else is kept as
    unmatched: what an earlier epoch denies, the lost time may have tried again.
    """
    number = fence.current_epoch().number
    earlier = [item for item in evidence if item.epoch is not None and item.epoch < number]
    later = [item for item in evidence if item.epoch is not None and item.epoch > number]
    current = [item for item in evidence if item.epoch is None or item.epoch == number]
    accepted = [item for item in current if item.entry.state is State.ACCEPTED]
    disproved = [
        item for item in current if item.entry.state not in {State.ACCEPTED, State.IN_DOUBT}
    ]
    if earlier:
        fence.put_all_in_doubt(stream_id)
    # Each locks its deliveries in their order. One transaction would lock those of one after those
    # of another, and a person who decides about many at once would meet them the other way round.
    with transaction.atomic():
        changed = sum(_accept(stream_id, items) for items in _once_each(accepted))
    with transaction.atomic():
        changed += sum(_disprove(stream_id, items) for items in _once_each(disproved))
    with transaction.atomic():
        changed += sum(_accept_earlier(stream_id, items) for items in _once_each(earlier))
        _keep_unmatched(stream_id, later)
    return changed


def record_log(stream_id: int, evidence: Sequence[Evidence]) -> int:
    """Applies a provider's log to an earlier epoch's mails; returns how many changed.

    A log mentions all mail, also what is accepted long since: what matches nothing is not kept.
    """
    number = fence.current_epoch().number
    earlier = [item for item in evidence if item.epoch is not None and item.epoch < number]
    fence.put_all_in_doubt(stream_id)
    with transaction.atomic():
        return sum(
            _accept_earlier(stream_id, items, keeps_unmatched=False)
            for items in _once_each(earlier)
        )


def _once_each(evidence: Sequence[Evidence]) -> Iterator[list[Evidence]]:
    """Deals the evidence into lists with each position once: one UPDATE changes a row once."""
    remaining = list(evidence)
    while remaining:
        items: dict[int, Evidence] = {}
        for item in remaining:
            items.setdefault(item.entry.position, item)
        yield list(items.values())
        remaining = [item for item in remaining if items[item.entry.position] is not item]


def _params(stream_id: int, evidence: Sequence[Evidence]) -> dict[str, object]:
    """The parameters of all statements below."""
    entries = [item.entry for item in evidence]
    return {
        "stream": stream_id,
        "erased": ERASED,
        "reason": Reason.DISPROVED.value,
        "positions": sql.Bigints(entry.position for entry in entries),
        "tries": sql.Bigints(item.try_number for item in evidence),
        "epochs": sql.Bigints(item.epoch for item in evidence),
        "sources": sql.Texts(item.source for item in evidence),
        "addresses": sql.Texts(item.address for item in evidence),
        "message_ids": sql.Texts(entry.message_id for entry in entries),
        "refusals": [entry.state is State.FAILED for entry in entries],
        "counts": [entry.counts for entry in entries],
        "delays": [entry.delay for entry in entries],
        "outcomes": sql.Texts(entry.outcome.value for entry in entries),
        "codes": sql.Texts(entry.code for entry in entries),
        "details": sql.Texts(entry.detail for entry in entries),
        "categories": sql.Texts(entry.category and entry.category.value for entry in entries),
        "original_codes": sql.Texts(entry.original_code for entry in entries),
    }


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
WITH locked AS MATERIALIZED (
    SELECT id FROM deliveries_batch WHERE id = ANY(%(ids)s::bigint[])
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE deliveries_batch b SET version = version + 1 FROM locked WHERE b.id = locked.id
RETURNING b.id
"""


def outdate(stream_id: int, positions: Sequence[int]) -> set[int]:
    """Raises the version of the covering batches and locks them, so that windows composed earlier
    cannot be armed.

    The covering batch may change while its lock is waited for, so the batches are read again until
    a fresh snapshot shows no covering batch that is not locked already. Returns those locked.
    Batches before deliveries: the order of locks everywhere.
    """
    locked: set[int] = set()
    while fresh := _covering(stream_id, positions) - locked:
        sql.rows(_BUMP, {"ids": sql.Bigints(sorted(fresh))})
        locked |= fresh
    return locked


def _covering(stream_id: int, positions: Sequence[int]) -> set[int]:
    rows = sql.rows(_COVERING, {"stream": stream_id, "positions": sql.Bigints(positions)})
    return {id_ for (id_,) in rows}


_OTHERS = [name for name in books.COUNTED if name != State.ACCEPTED]
_ACCEPT: LiteralString = f"""
WITH item AS MATERIALIZED (
    SELECT * FROM unnest(
        %(positions)s::bigint[], %(tries)s::integer[], %(message_ids)s::text[],
        %(sources)s::text[], %(addresses)s::text[]
    ) AS s (position, try_number, message_id, source, address)
), old AS MATERIALIZED (
    SELECT d.position, d.state AS before, item.try_number, item.message_id, item.source
    FROM item JOIN deliveries_delivery d
      ON d.stream_id = %(stream)s AND d.position = item.position
    WHERE d.state <> 'accepted'
      AND (item.address IS NULL OR lower(d.address) IN (lower(item.address), %(erased)s))
      AND (%(is_earlier)s OR {sql.WAS_ARMED})
    ORDER BY d.position
    FOR NO KEY UPDATE OF d
), proved AS (
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
    FROM proved
), message AS (
    INSERT INTO deliveries_providermessage (stream_id, position, try_number, message_id)
    SELECT %(stream)s, position, try_number, message_id FROM proved WHERE message_id IS NOT NULL
), delta AS (
    INSERT INTO deliveries_streamdelta (stream_id, accepted, {", ".join(_OTHERS)})
    SELECT %(stream)s, count(*),
           {", ".join([f"-count(*) FILTER (WHERE before = '{name}')" for name in _OTHERS])}
    FROM proved HAVING count(*) > 0
)
SELECT count(*), coalesce(array_agg(position) FILTER (WHERE before = 'waiting'), '{{}}') FROM proved
"""


def _accept(stream_id: int, evidence: Sequence[Evidence], *, is_earlier: bool = False) -> int:
    """Accepts, with every batch that covers a waiting one of them outdated first.

    A click may give a delivery a new batch while its row is waited for. Then all is undone but
    the locks on batches, and done again with the new batch among them.
    """
    while True:
        locked = outdate(stream_id, [item.entry.position for item in evidence])
        before = transaction.savepoint()
        params = _params(stream_id, evidence) | {"is_earlier": is_earlier}
        [(changed, waited)] = sql.rows(_ACCEPT, params)
        if locked.issuperset(_covering(stream_id, waited)):
            transaction.savepoint_commit(before)
            counting.count_results([State.ACCEPTED.value] * changed)
            return int(changed)
        transaction.savepoint_rollback(before)


_MATCHING: LiteralString = """
SELECT d.position FROM unnest(
    %(positions)s::bigint[], %(tries)s::integer[], %(addresses)s::text[]
) AS item (position, try_number, address)
JOIN deliveries_delivery d ON d.stream_id = %(stream)s AND d.position = item.position
JOIN deliveries_epoch e ON e.number = (SELECT max(number) FROM deliveries_epoch)
WHERE d.state <> 'accepted' AND d.planned_at < e.began_at
  AND (item.address IS NULL OR lower(d.address) IN (lower(item.address), %(erased)s))
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


def _accept_earlier(
    stream_id: int, evidence: Sequence[Evidence], *, keeps_unmatched: bool = True
) -> int:
    """Accepts what an earlier epoch's evidence may prove, and keeps the remaining as unmatched."""
    positions = {at for (at,) in sql.rows(_MATCHING, _params(stream_id, evidence))}
    matched = [
        item
        for item in evidence
        if item.entry.position in positions and item.entry.state is State.ACCEPTED
    ]
    if keeps_unmatched:
        _keep_unmatched(stream_id, [item for item in evidence if item not in matched])
    return _accept(stream_id, matched, is_earlier=True) if matched else 0


def _keep_unmatched(stream_id: int, evidence: Sequence[Evidence]) -> None:
    if evidence:
        sql.rows(_UNMATCHED, _params(stream_id, evidence))


_DISPROVE: LiteralString = f"""
WITH item AS MATERIALIZED (
    SELECT * FROM unnest(
        %(positions)s::bigint[], %(tries)s::integer[], %(refusals)s::boolean[],
        %(counts)s::boolean[], %(delays)s::interval[], %(outcomes)s::text[], %(codes)s::text[],
        %(details)s::text[], %(sources)s::text[], %(categories)s::text[],
        %(original_codes)s::text[]
    ) AS s (
        position, try_number, is_refusal, counts, delay, outcome, code, detail, source, category,
        original_code
    )
), locked AS MATERIALIZED (
    SELECT d.position, d.settled_at FROM deliveries_delivery d JOIN item USING (position)
    WHERE d.stream_id = %(stream)s
    ORDER BY d.position
    FOR NO KEY UPDATE OF d
), disproved AS (
    UPDATE deliveries_delivery d SET
        state = CASE
            WHEN d.doubts <> ARRAY[item.try_number] THEN 'in_doubt'
            WHEN item.is_refusal THEN 'failed'
            ELSE 'waiting'
        END,
        doubts = NULLIF(array_remove(d.doubts, item.try_number), '{{}}'),
        resend_after = CASE WHEN d.doubts <> ARRAY[item.try_number] THEN d.resend_after END,
        -- The doubt was counted as an attempt; a throttle or a call never started is none.
        attempts = greatest(d.attempts - (NOT item.counts)::int, 0),
        code = item.code,
        settled_at = CASE
            WHEN d.doubts = ARRAY[item.try_number] AND NOT item.is_refusal THEN NULL
            ELSE clock_timestamp()
        END
    FROM item JOIN locked USING (position)
    WHERE d.stream_id = %(stream)s
      AND d.position = item.position
      AND d.state = 'in_doubt'
      AND item.try_number = ANY(d.doubts)
      -- A backstop: a doubt is not covered by a live batch today; one that is stays as it is.
      AND NOT {sql.covered("item.position")}
    RETURNING d.position, d.state, d.last_try, item.try_number, item.delay, item.outcome,
        item.code, item.detail, item.category, item.original_code, item.source,
        locked.settled_at
), event AS (
    INSERT INTO deliveries_deliveryevent (stream_id, position, at, kind, actor, data)
    SELECT %(stream)s, position, statement_timestamp(), 'proved_not_accepted', source,
           jsonb_build_object(
               'try', try_number, 'after', state, 'outcome', outcome, 'code', code,
               'detail', detail, 'category', category, 'original_code', original_code
           )
    FROM disproved
), delta AS (
    INSERT INTO deliveries_streamdelta (stream_id, in_doubt, failed)
    SELECT %(stream)s, -count(*), count(*) FILTER (WHERE state = 'failed')
    FROM disproved WHERE state <> 'in_doubt' HAVING count(*) > 0
), again AS (
    INSERT INTO deliveries_batch (
        stream_id, lo, hi, is_single, try_number, due_at, reason, since
    )
    SELECT %(stream)s, disproved.position, disproved.position + 1, s.kind = 'transactional',
           {sql.next_try("disproved.last_try", "disproved.settled_at")},
           {sql.due_after("disproved.last_try", "disproved.delay")},
           %(reason)s, statement_timestamp()
    FROM disproved JOIN deliveries_stream s ON s.id = %(stream)s
    WHERE disproved.state = 'waiting'
)
SELECT count(*), count(*) FILTER (WHERE state = 'failed') FROM disproved
"""


def _disprove(stream_id: int, evidence: Sequence[Evidence]) -> int:
    rotation.keep_stream(stream_id)
    [(changed, failed)] = sql.rows(_DISPROVE, _params(stream_id, evidence))
    counting.count_results([State.FAILED.value] * failed)
    return int(changed)
