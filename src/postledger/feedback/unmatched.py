"""Events that could not be applied to a mail: stored once each, for people to look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from postledger.contacts import sql
from postledger.deliveries.entries import Mismatch
from postledger.providers.base import ProviderEvent

KEPT_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Stray:
    """An event, and why it belongs to no mail."""

    account_id: int
    event: ProviderEvent
    why: Mismatch
    received_at: datetime


# In one order: those who store the same events at once wait for each other, never in a circle.
_STORE = """
INSERT INTO feedback_unmatchedevent (
    account_id, key, kind, name, why, reference, provider_id, happened_at, received_at
)
SELECT * FROM unnest(
    %(accounts)s::bigint[], %(keys)s::text[], %(kinds)s::text[], %(names)s::text[],
    %(whys)s::text[], %(references)s::text[], %(provider_ids)s::text[],
    %(happened)s::timestamptz[], %(received)s::timestamptz[]
) AS stray (account_id, key)
ORDER BY stray.account_id, stray.key
ON CONFLICT (account_id, key) DO NOTHING
RETURNING account_id, key
"""


def store_unmatched(strays: Sequence[Stray]) -> list[Stray]:
    """Stores those that are not stored yet, and returns them; no address is stored."""
    by_key = {(stray.account_id, stray.event.key): stray for stray in reversed(strays)}
    given = list(by_key.values())
    if not given:
        return []
    params: dict[str, Any] = {
        "accounts": [stray.account_id for stray in given],
        "keys": [stray.event.key for stray in given],
        "kinds": [stray.event.kind.value for stray in given],
        "names": [stray.event.name for stray in given],
        "whys": [stray.why.value for stray in given],
        "references": [stray.event.reference or "" for stray in given],
        "provider_ids": [stray.event.provider_id or "" for stray in given],
        "happened": [stray.event.at for stray in given],
        "received": [stray.received_at for stray in given],
    }
    return [by_key[account_id, key] for account_id, key in sql.rows(_STORE, params)]


_DROPPED_AT_ONCE = 10_000
_DROP = """
DELETE FROM feedback_unmatchedevent WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM feedback_unmatchedevent WHERE received_at < %(before)s LIMIT %(most)s
))
"""


def drop_old_events(now: datetime) -> None:
    """Deletes those that came long ago: other mail of an account may have any number of them."""
    params = {"before": now - KEPT_FOR, "most": _DROPPED_AT_ONCE}
    while sql.execute(_DROP, params) == _DROPPED_AT_ONCE:
        pass
