"""What a snapshot of a source says: its items, its hash, and how items differ from before. Pure.

An item that is seen for the first time has not changed, and one that is absent is only not there.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postledger.lib import values
from postledger.lib.errors import RefusedError
from postledger.notifications.events.publishing import NewEvent

MOST_ITEMS = 20_000
LARGEST_ITEM = 8_192  # bytes of JSON
LONGEST_VALUE = 200  # of an id field, and of the watched field
LONGEST_KEY = 1_000  # bytes; an index takes no more than 2,700


class InvalidSnapshotError(RefusedError):
    code = "invalid_snapshot"


@dataclass(frozen=True, slots=True)
class Reading:
    """How a source reads its items, and how an item becomes an event."""

    id_fields: Sequence[str]
    watched_field: str
    fields: Mapping[str, str]  # fields of the event, each by that of the item
    status_field: str = "statusAfter"  # of the event: the new value of the watched field


@dataclass(frozen=True, slots=True)
class Item:
    key: str  # the values of its id fields
    value: str  # of the watched field
    given: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Snapshot:
    items: Mapping[str, Item]  # by key
    hash: str  # whatever the order of the items was


@dataclass(frozen=True, slots=True)
class Change:
    item: Item
    before: str


def read_snapshot(given: Sequence[object], reading: Reading) -> Snapshot:
    """Refuses, as a whole, a snapshot with an item that cannot be told from others or compared."""
    if len(given) > MOST_ITEMS:
        raise InvalidSnapshotError(
            f"The snapshot has {len(given):,} items, and a source has at most {MOST_ITEMS:,}:"
            " divide it into several sources."
        )
    items: dict[str, Item] = {}
    for index, one in enumerate(given):
        item = _read_item(index, one, reading)
        if item.key in items:
            raise _refusal(index, "has the ids of an earlier one; each may be there once")
        items[item.key] = item
    return Snapshot(items, _hash([items[key].given for key in sorted(items)]))


def list_changes(known: Mapping[str, str], snapshot: Snapshot) -> list[Change]:
    """The items whose value differs from the known one, in the order of the snapshot."""
    return [
        Change(item, known[item.key])
        for item in snapshot.items.values()
        if known.get(item.key, item.value) != item.value
    ]


def make_event(
    change: Change, reading: Reading, *, source: tuple[int, str], hash_: str, taken_at: datetime
) -> NewEvent:
    """The event of a change; its key is the same whenever the same snapshot is compared again.

    `source` is the id and the key of the source.
    """
    given = change.item.given
    data = {name: given[field] for name, field in reading.fields.items() if field in given}
    source_id, source_key = source
    seen_at = taken_at.isoformat()
    identity = [source_id, change.item.key, change.before, change.item.value, hash_, seen_at]
    return NewEvent(
        data={
            **data,
            "statusBefore": change.before,
            reading.status_field: change.item.value,
            "eventDetectedAt": seen_at,
            "detectedBy": source_key,
            "snapshotHash": hash_,
        },
        key=f"{source_key}-{_hash(identity)[:32]}",
        occurred_at=taken_at,
    )


def _read_item(index: int, given: object, reading: Reading) -> Item:
    if not isinstance(given, dict):
        raise _refusal(index, "is not an object")
    flaw = values.find_flaw(given, most=LARGEST_ITEM)
    if flaw:
        raise _refusal(index, f"cannot be stored: {flaw}")
    ids = [_read_text(index, given, field) for field in reading.id_fields]
    # JSON keeps apart what a separator would join.
    key = ids[0] if len(ids) == 1 else json.dumps(ids, ensure_ascii=False)
    if len(key.encode()) > LONGEST_KEY:
        raise _refusal(index, f"has ids of more than {LONGEST_KEY:,} bytes together")
    return Item(key, _read_text(index, given, reading.watched_field), given)


def _read_text(index: int, given: Mapping[str, Any], field: str) -> str:
    value = given.get(field)
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not 0 < len(text) <= LONGEST_VALUE:
        raise _refusal(
            index,
            f"has no {field!r} that is a number or a text of 1 to {LONGEST_VALUE} characters",
        )
    return text


def _refusal(index: int, flaw: str) -> InvalidSnapshotError:
    text = f"Item {index} of the snapshot {flaw.removesuffix('.')}. Nothing of it was taken."
    return InvalidSnapshotError(text)


def _hash(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
