"""The items of a source as its last snapshots had them, and for how long they are remembered.

An item that vanished keeps its value: if it returns with another one, that is a change. So a source
remembers more items than a snapshot has, and forgets those that stay away.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import LiteralString

from django.db.models import QuerySet

from postledger.contacts import sql
from postledger.notifications.models import Source, SourceItem
from postledger.notifications.sources import snapshots
from postledger.notifications.sources.snapshots import Item

# How long an item that vanished is remembered, and how many items at most.
MISSING_FOR = timedelta(days=30)
MOST_REMEMBERED = 2 * snapshots.MOST_ITEMS
_BULK = 2_000


def read_values(source: Source) -> dict[str, str]:
    """The value of each known item, by its key; at most `MOST_REMEMBERED`."""
    return dict(_of(source).values_list("key", "value"))


def remember(source: Source, items: Collection[Item], taken_at: datetime) -> None:
    """Stores the values of these items, which are new or have changed."""
    SourceItem.objects.bulk_create(
        [
            SourceItem(source=source, key=item.key, value=item.value, changed_at=taken_at)
            for item in items
        ],
        batch_size=_BULK,
        update_conflicts=True,
        unique_fields=["source", "key"],
        update_fields=["value", "changed_at"],
    )


# Rows are written only where an item vanishes or returns.
_NOTE_MISSING: LiteralString = """
UPDATE notifications_sourceitem AS item
SET missing_since = CASE WHEN item.missing_since IS NULL THEN %(taken_at)s::timestamptz END
WHERE item.source_id = %(source)s
  AND (item.missing_since IS NULL) <> (item.key IN (SELECT unnest(%(keys)s::text[])))
"""
_FORGET: LiteralString = """
DELETE FROM notifications_sourceitem AS item
USING (
    SELECT key FROM notifications_sourceitem
    WHERE source_id = %(source)s AND missing_since IS NOT NULL
      AND missing_since < %(forgotten_before)s
    UNION
    (SELECT key FROM notifications_sourceitem
     WHERE source_id = %(source)s
     ORDER BY missing_since DESC NULLS FIRST, key OFFSET %(most)s)
) AS old
WHERE item.source_id = %(source)s AND item.key = old.key
"""


def forget_missing(source: Source, keys: Collection[str], taken_at: datetime) -> None:
    """Notes which items are not among those of a snapshot, and forgets those that are long gone."""
    params = {"source": source.pk, "keys": list(keys), "taken_at": taken_at}
    sql.execute(_NOTE_MISSING, params)
    sql.execute(
        _FORGET,
        {
            "source": source.pk,
            "forgotten_before": taken_at - MISSING_FOR,
            "most": MOST_REMEMBERED,
        },
    )


def forget_all(source: Source) -> None:
    _of(source).delete()


def _of(source: Source) -> QuerySet[SourceItem]:
    return SourceItem.objects.filter(source=source)
