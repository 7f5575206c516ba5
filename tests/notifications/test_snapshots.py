"""What a snapshot says: its items, its hash, and what has changed."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.notifications.sources import snapshots
from postledger.notifications.sources.snapshots import (
    Change,
    InvalidSnapshotError,
    Reading,
    list_changes,
    make_event,
    read_snapshot,
)

READING = Reading(["term", "index"], "status", {"indexNumber": "index", "courseTitle": "title"})
NOW = datetime(2026, 11, 18, 10, tzinfo=UTC)


def section(index: object = "10001", status: object = "Closed", **more: Any) -> dict[str, Any]:
    return {"term": "92026", "index": index, "status": status, **more}


def describe(*items: Mapping[str, Any]) -> dict[str, str]:
    return {item.key: item.value for item in read_snapshot(items, READING).items.values()}


def test_the_hash_is_that_of_the_items_whatever_their_order() -> None:
    one, other = section("1"), section("2")

    assert read_snapshot([one, other], READING) == read_snapshot([other, one], READING)
    assert (
        read_snapshot([one], READING).hash
        == read_snapshot([dict(reversed(one.items()))], READING).hash
    )
    assert read_snapshot([one], READING).hash != read_snapshot([one, other], READING).hash


def test_ids_are_kept_apart() -> None:
    items = [section(term="1", index="23"), section(term="12", index="3")]

    assert len(describe(*items)) == 2


def test_a_number_is_the_text_of_its_digits() -> None:
    assert describe(section(10001)) == describe(section("10001"))


def test_what_cannot_be_compared_is_refused_as_a_whole() -> None:
    cases: list[tuple[list[object], str]] = [
        (["Open"], "Item 0 of the snapshot is not an object"),
        ([section(), section()], "Item 1 of the snapshot has the ids of an earlier one"),
        ([section(), section(10001)], "has the ids of an earlier one"),
        ([section(index=None)], "has no 'index' that is a number or a text"),
        ([section(status="")], "has no 'status'"),
        ([section(status=True)], "has no 'status'"),
        ([section(status=["Open"])], "has no 'status'"),
        ([section(status="x" * (snapshots.LONGEST_VALUE + 1))], "has no 'status'"),
        ([section(title="a\0b")], "cannot be stored"),
        ([section(title=float("nan"))], "cannot be stored"),
        ([section(title="x" * snapshots.LARGEST_ITEM)], "cannot be stored"),
        ([section(index="\N{GRINNING FACE}" * 200, term="\N{GRINNING FACE}" * 60)], "1,000 bytes"),
        ([{}] * (snapshots.MOST_ITEMS + 1), "divide it into several sources"),
    ]
    for items, words in cases:
        with pytest.raises(InvalidSnapshotError, match=words):
            read_snapshot(items, READING)


@given(
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["Open", "Closed"])),
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["Open", "Closed"])),
)
def test_exactly_the_items_that_both_have_with_other_values_change(
    before: dict[str, str], after: dict[str, str]
) -> None:
    reading = Reading(["index"], "status", {})
    items = [{"index": index, "status": status} for index, status in after.items()]

    changed = list_changes(before, read_snapshot(items, reading))

    assert {change.item.key for change in changed} == {
        key for key in before.keys() & after.keys() if before[key] != after[key]
    }


def make(status: str = "Open", taken_at: datetime = NOW, **more: Any) -> Any:
    [item] = read_snapshot([section(status=status, **more)], READING).items.values()
    change = Change(item, "Closed")
    return make_event(change, READING, source=(7, "registrar"), hash_="5ad", taken_at=taken_at)


def test_the_same_change_has_the_same_key_and_a_later_one_another() -> None:
    assert make().key == make().key
    assert len({make().key, make("Wait").key, make(taken_at=NOW.replace(hour=11)).key}) == 3
