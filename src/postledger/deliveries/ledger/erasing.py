"""Takes a person out of the ledger: their waiting mail ends; the rows stay, and so do the books.

Transactional mail still goes, leased mail comes back first, and fenced mail is judged first: they
are emptied by a later call, once they have ended.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from django.db import transaction

from postledger.accounts import hash_key
from postledger.deliveries.ledger import books, counting, sql

# Stands where an address stood; no mail can be sent to it. Also why a mail that waited has ended.
ERASED = "erased"

type DeliveryKey = tuple[int, int]  # a stream, and a position in it


@dataclass(frozen=True, slots=True)
class ErasedMail:
    """How many deliveries were emptied, and how many still wait: a later call empties them."""

    emptied: int
    waiting: int


# Reads every delivery of the workspace: no index leads from a contact to its mail, because every
# planned mail would pay for it, and few people ask. By the contact too: a delivery keeps the
# address that the contact had then.
_FIND: LiteralString = """
SELECT d.stream_id, d.position, d.state = 'waiting' AND s.kind <> 'transactional'
FROM deliveries_stream s JOIN deliveries_delivery d ON d.stream_id = s.id
WHERE s.workspace_id = %(workspace)s AND (d.contact_id = ANY(%(contacts)s::bigint[]) OR
"""
_BY_ADDRESS: LiteralString = f"{_FIND} lower(d.address) = lower(%(address)s))"
# Three times as slow for each delivery. What the address got later is its owner's, who came back.
_BY_FINGERPRINT: LiteralString = f"""{_FIND} (
    d.planned_at <= %(until)s
    AND contacts_fingerprint(%(hash_key)s::bytea, d.address) = %(fingerprint)s
))
"""


def erase(workspace_id: int, *, address: str, contact_ids: Sequence[int] = ()) -> ErasedMail:
    """Ends the waiting mail to a person, and empties every delivery to them that has ended.

    Idempotent. States, counts and ids stay, so the books balance as before, and a provider's
    event still finds its delivery.
    """
    params = {"workspace": workspace_id, "address": address, "contacts": sql.Bigints(contact_ids)}
    return _erase(_BY_ADDRESS, params)


def erase_again(
    workspace_id: int, *, fingerprint: bytes, contact_ids: Sequence[int], until: datetime
) -> ErasedMail:
    """The same for an address known by its fingerprint alone; mail after `until` stays."""
    params = {
        "workspace": workspace_id,
        "fingerprint": fingerprint,
        "hash_key": hash_key.read(),
        "contacts": sql.Bigints(contact_ids),
        "until": until,
    }
    return _erase(_BY_FINGERPRINT, params)


def _erase(statement: LiteralString, params: Mapping[str, object]) -> ErasedMail:
    with transaction.atomic():
        rows = sorted(sql.rows(statement, params))
        for stream_id in sorted({stream_id for stream_id, _, _ in rows}):
            sql.lock_feedback(stream_id)  # before batches and deliveries, as everywhere
        _stop([(stream, position) for stream, position, is_stopped in rows if is_stopped])
        emptied = _empty([(stream, position) for stream, position, _ in rows])
    return ErasedMail(emptied=emptied, waiting=len(rows) - emptied)


_GIVEN: LiteralString = (
    " unnest(%(streams)s::bigint[], %(positions)s::bigint[]) AS c (stream_id, position)"
)
_COVERING: LiteralString = f"""{_GIVEN}
CROSS JOIN LATERAL (
    SELECT id, hi FROM deliveries_batch
    WHERE stream_id = c.stream_id AND lo <= c.position ORDER BY lo DESC LIMIT 1
) AS nearest
JOIN deliveries_batch b ON b.id = nearest.id
WHERE nearest.hi > c.position AND b.lease IS NULL
"""
# What a restore has lost may have sent the mail: it is in doubt before it ends in any other way.
_LOCK: LiteralString = f"""
SELECT b.id FROM {_COVERING}
  AND deliveries_is_judged(b.stream_id) ORDER BY b.id FOR NO KEY UPDATE OF b SKIP LOCKED
"""
# With a snapshot from after the lock: a batch that covers a delivery then covers it until the
# commit, and nobody claims it. Booked as the gates would, with the number of the try not made.
_STOP: LiteralString = f"""
WITH free AS MATERIALIZED (
    SELECT c.stream_id, c.position, b.try_number FROM {_COVERING}
      AND b.id = ANY(%(batches)s::bigint[])
), booked AS (
    UPDATE deliveries_delivery d SET
        state = CASE WHEN d.doubts IS NULL THEN 'suppressed' ELSE 'in_doubt' END,
        last_try = free.try_number, attempts = d.attempts + 1, code = %(code)s,
        settled_at = clock_timestamp()
    FROM free
    WHERE d.stream_id = free.stream_id AND d.position = free.position
      AND d.state = 'waiting' AND d.last_try < free.try_number
    RETURNING d.stream_id, d.position, free.try_number, d.state, 'suppressed' AS outcome, d.code,
        NULL AS detail, NULL AS category, {books.NO_ANSWER}
), {books.ATTEMPTS}, delta AS (
    INSERT INTO deliveries_streamdelta (stream_id, suppressed, in_doubt)
    SELECT stream_id, count(*) FILTER (WHERE state = 'suppressed'),
           count(*) FILTER (WHERE state = 'in_doubt')
    FROM booked GROUP BY stream_id
)
SELECT {counting.RESULTS}
"""


def _stop(keys: Sequence[DeliveryKey]) -> None:
    """Ends deliveries that wait in batches nobody leases; the batches stay, and pass them over."""
    if not keys:
        return
    free = [id_ for (id_,) in sql.rows(_LOCK, _key_params(keys))]
    if free:
        params = {**_key_params(keys), "batches": sql.Bigints(free), "code": ERASED}
        [(results,)] = sql.rows(_STOP, params)
        counting.count_results(results)


_CHOSEN: LiteralString = _GIVEN + " WHERE t.stream_id = c.stream_id AND t.position = c.position"
_DELIVERIES: LiteralString = f"""
UPDATE deliveries_delivery t
SET address = %(erased)s, variables = NULL, contact_id = NULL, dedupe_key = NULL
FROM {_CHOSEN} AND t.state <> 'waiting'
RETURNING t.stream_id, t.position
"""
_BODIES: LiteralString = f"""
UPDATE deliveries_body t
SET subject = '', html = '', text = '', headers = NULL, to_name = '', reply_to = '', tags = NULL,
    attachments = NULL, request_id = '', digest = NULL
FROM {_CHOSEN}
"""
_ATTEMPTS: LiteralString = f"UPDATE deliveries_attempt t SET detail = NULL FROM {_CHOSEN}"
_EVENTS: LiteralString = f"UPDATE deliveries_deliveryevent t SET data = '{{}}' FROM {_CHOSEN}"
_FEEDBACK: LiteralString = f"""
UPDATE deliveries_feedback t SET detail = NULL FROM {_CHOSEN}
"""
_WORDS: LiteralString = f"DELETE FROM deliveries_word t USING {_CHOSEN}"


def _empty(keys: Sequence[DeliveryKey]) -> int:
    """Empties those that have ended, and returns how many that are."""
    if not keys:
        return 0
    # Locked from here on: no requeue takes one of them before all its texts are gone.
    rows = sql.rows(_DELIVERIES, {**_key_params(keys), "erased": ERASED})
    ended = [(stream, position) for stream, position in rows]
    for statement in (_BODIES, _ATTEMPTS, _EVENTS, _FEEDBACK, _WORDS):
        sql.rows(statement, _key_params(ended))
    return len(ended)


_FORGET_VALUES: LiteralString = """
UPDATE deliveries_delivery SET variables = NULL
WHERE stream_id = ANY(%(streams)s::bigint[]) AND variables IS NOT NULL
"""


def forget_values(stream_ids: Sequence[int]) -> None:
    """Empties the values of all mails of cancelled streams: they may be another person's than the
    recipient's.
    """
    sql.rows(_FORGET_VALUES, {"streams": sql.Bigints(stream_ids)})


def _key_params(keys: Sequence[DeliveryKey]) -> dict[str, object]:
    return {
        "streams": sql.Bigints(stream for stream, _ in keys),
        "positions": sql.Bigints(position for _, position in keys),
    }
