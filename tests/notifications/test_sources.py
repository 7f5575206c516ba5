"""Sources: snapshots become events, once for each change, whatever happens in between."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from postledger.accounts.models import AuditEntry
from postledger.notifications.models import Event, Source, SourceItem
from postledger.notifications.sources import source_items, sources
from postledger.notifications.sources.snapshots import InvalidSnapshotError
from postledger.notifications.sources.sources import (
    InvalidSourceError,
    SnapshotOutdatedError,
    SnapshotResult,
    SourceArchivedError,
    SourceExistsError,
    SourceFields,
    TakenSnapshot,
    TooManySourcesError,
)
from postledger.notifications.topics.topics import TopicArchivedError
from tests.notifications import cast

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 18, 10, tzinfo=UTC)
FIELDS = SourceFields(
    id_fields=["term", "index"],
    watched_field="status",
    fields={"termId": "term", "campusCode": "campus", "indexNumber": "index"},
)


def section(index: int = 1, status: str = "Closed", **more: Any) -> dict[str, Any]:
    return {"term": "92026", "campus": "NB", "index": f"{index:05}", "status": status, **more}


@pytest.fixture
def source(settings: Settings) -> Source:
    return add_source(settings)


def add_source(settings: Settings, **changes: Any) -> Source:
    topic = cast.topic(settings)
    return sources.create_source(
        topic.workspace_id,
        key="registrar",
        topic="open-seats",
        fields=replace(FIELDS, **changes),
        actor="alice",
    )


def take(source: Source, *items: object, minute: int = 0) -> TakenSnapshot:
    moment = NOW + timedelta(minutes=minute)
    return sources.take_snapshot(source, items, taken_at=moment, now=moment)


def test_after_a_first_snapshot_each_change_is_an_event_with_the_hash_of_its_snapshot(
    source: Source,
) -> None:
    first = take(source, section(1), section(2))
    assert (first.result, first.events) == (SnapshotResult.BASELINE, [])
    assert not Event.objects.exists()
    assert SourceItem.objects.filter(source=source).count() == 2

    taken = take(source, section(1, "Open"), section(2), minute=1)

    [published] = taken.events
    event = Event.objects.get(pk=published.id)
    assert taken.result is SnapshotResult.COMPARED
    assert event.data == {
        "termId": "92026",
        "campusCode": "NB",
        "indexNumber": "00001",
        "statusBefore": "Closed",
        "statusAfter": "Open",
        "eventDetectedAt": "2026-11-18T10:01:00+00:00",
        "detectedBy": "registrar",
        "snapshotHash": taken.hash,
    }
    assert (event.topic_id, event.actor) == (source.topic_id, "source registrar")
    assert event.occurred_at == NOW + timedelta(minutes=1)
    for minute, status in ((2, "Closed"), (3, "Open")):
        take(source, section(1, status), section(2), minute=minute)
    statuses = Event.objects.order_by("id").values_list("data__statusAfter", flat=True)
    assert list(statuses) == ["Open", "Closed", "Open"]


def test_the_same_snapshot_changes_nothing(source: Source) -> None:
    take(source, section(1))
    first = take(source, section(1, "Open"), minute=1)

    again = take(source, section(1, "Open"), minute=2)
    late = take(source, section(1, "Open"), minute=1)

    assert again.result is late.result is SnapshotResult.UNCHANGED
    assert again.hash == first.hash
    assert Event.objects.count() == 1
    source.refresh_from_db()
    assert source.last_snapshot_at == NOW + timedelta(minutes=2)


def test_a_snapshot_that_is_older_of_the_future_or_of_before_a_change_is_refused(
    source: Source,
) -> None:
    take(source, section(1))
    take(source, section(1, "Open"), minute=2)

    for minute in (1, 2):
        with pytest.raises(SnapshotOutdatedError, match="send newer ones"):
            take(source, section(1, "Wait"), minute=minute)
    with pytest.raises(InvalidSnapshotError, match="in the future"):
        sources.take_snapshot(source, [], taken_at=NOW + timedelta(hours=1), now=NOW)

    assert Event.objects.count() == 1
    assert SourceItem.objects.get(source=source).value == "Open"
    change(source, id_fields=["index"])
    with pytest.raises(SnapshotOutdatedError, match="changed meanwhile"):
        take(source, section(1), minute=3)


def test_a_change_that_is_no_event_is_left_out_alone_and_is_the_trouble_of_the_source(
    source: Source,
) -> None:
    take(source, section(1), section(2))
    source.topic.event_schema = {"properties": {"indexNumber": {"const": "00002"}}}
    source.topic.save()

    taken = take(source, section(1, "Open"), section(2, "Open"), minute=1)

    assert len(taken.events) == 1
    kept = SourceItem.objects.filter(source=source).order_by("key").values_list("value", flat=True)
    assert list(kept) == ["Closed", "Open"]
    source.refresh_from_db()
    assert "00001" in source.trouble
    source.topic.event_schema = {}
    source.topic.save()
    assert len(take(source, section(1, "Open"), section(2, "Open"), minute=2).events) == 1
    source.refresh_from_db()
    assert source.trouble == ""
    assert source.trouble_since is None


def test_the_new_value_is_in_the_status_field_of_the_topic(source: Source) -> None:
    source.topic.status_field = "seat"
    source.topic.save()
    take(source, section(1))

    take(source, section(1, "Open"), minute=1)

    data = Event.objects.get(topic=source.topic).data
    assert data["seat"] == "Open"
    assert "statusAfter" not in data


def test_more_changes_than_one_request_has_events_are_all_published(source: Source) -> None:
    take(source, *(section(index) for index in range(1_100)))

    taken = take(source, *(section(index, "Open") for index in range(1_100)), minute=1)

    assert len(taken.events) == Event.objects.count() == 1_100


def test_an_archived_source_or_one_of_an_archived_topic_takes_no_snapshot(source: Source) -> None:
    take(source, section(1))
    source.topic.list.archived_at = NOW
    source.topic.list.save()
    with pytest.raises(TopicArchivedError):
        take(source, section(1, "Open"), minute=1)

    archived = sources.archive_source(source.workspace_id, key="registrar", actor="alice")

    assert archived.archived_at is not None
    assert not SourceItem.objects.exists()
    with pytest.raises(SourceArchivedError):
        take(source, section(1))
    with pytest.raises(SourceArchivedError):
        change(source, watched_field="seats")


def change(source: Source, **changes: Any) -> Source:
    return sources.change_source(
        source.workspace_id, key=source.key, changes=changes, actor="alice"
    )


def test_another_watched_field_begins_anew_and_other_fields_are_only_read_differently(
    source: Source,
) -> None:
    take(source, section(1, seats=0))

    changed = change(source, watched_field="seats")

    assert not SourceItem.objects.filter(source=source).exists()
    assert take(changed, section(1, seats=3)).result is SnapshotResult.BASELINE
    changed = change(source, fields={"sectionIndex": "index"}, interval_seconds=5)
    [event] = take(changed, section(1, seats=4), minute=1).events
    assert Event.objects.get(pk=event.id).data["sectionIndex"] == "00001"
    assert AuditEntry.objects.filter(action="source.changed", subject="source registrar").exists()


def test_a_source_remembers_so_many_items_and_forgets_the_longest_gone(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_items, "MOST_REMEMBERED", 2)

    for index in (1, 2, 3):
        take(source, section(index), minute=index)

    assert keys(source) == {"00002", "00003"}


def test_a_workspace_has_so_many_sources_without_the_archived_ones_each_of_its_own_key(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(key: str) -> Source:
        return sources.create_source(
            source.workspace_id, key=key, topic="open-seats", fields=FIELDS, actor="alice"
        )

    with pytest.raises(SourceExistsError):
        create("registrar")
    monkeypatch.setattr(sources, "MOST_SOURCES", 1)
    with pytest.raises(TooManySourcesError, match="has 1 sources"):
        create("second")
    sources.archive_source(source.workspace_id, key="registrar", actor="alice")
    assert create("second").key == "second"


def test_a_source_that_cannot_be_read_is_refused(source: Source) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"id_fields": []}, "id_fields"),
        ({"id_fields": [f"f{n}" for n in range(7)]}, "id_fields"),
        ({"watched_field": ""}, "cannot be a field"),
        ({"fields": {"a\n": "b"}}, "cannot be a field"),
        ({"fields": {f"f{n}": "a" for n in range(51)}}, "at most 50"),
        ({"interval_seconds": 0}, "interval_seconds"),
        ({"items_path": "a..b"}, "items_path"),
        ({"url": "registrar.example"}, "write it as https"),
        ({"url": "file:///etc/passwd"}, "write it as https"),
        ({"url": "https://a:b@registrar.example/"}, "write it as https"),
        ({"url": "http://registrar.example/"}, "SOURCE_HOSTS"),
        ({"url": "http://127.0.0.1:8700/"}, "SOURCE_HOSTS"),
        ({"url": "https://registrar.example:9200/"}, "the port 9200"),
    ]
    for changes, words in cases:
        with pytest.raises(InvalidSourceError, match=words):
            change(source, **changes)


def test_the_operator_allows_hosts_inside(source: Source, settings: Settings) -> None:
    settings.SOURCE_HOSTS = frozenset({"127.0.0.1:8700", "registrar.internal"})

    for url in ("http://127.0.0.1:8700/sections", "http://registrar.internal:80/"):
        assert change(source, url=url).url == url
    for url in ("http://127.0.0.1:8701/", "http://registrar.internal:9/"):
        with pytest.raises(InvalidSourceError):
            change(source, url=url)


def keys(source: Source) -> set[str]:
    rows = SourceItem.objects.filter(source=source)
    return {json.loads(key)[1] for key in rows.values_list("key", flat=True)}


def test_an_item_that_stays_away_is_forgotten_and_one_that_returns_is_compared(
    source: Source,
) -> None:
    day = 24 * 60
    take(source, section(1), section(2), section(3))
    take(source, section(1), minute=day)
    assert keys(source) == {"00001", "00002", "00003"}

    returned = take(source, section(1), section(2, "Open"), minute=29 * day)
    assert len(returned.events) == 1
    take(source, section(1, "Open"), section(2, "Open"), minute=32 * day)

    assert keys(source) == {"00001", "00002"}
    late = take(source, section(1, "Open"), section(3, "Open"), minute=33 * day)
    assert late.events == [], "an item that was forgotten is seen for the first time"
