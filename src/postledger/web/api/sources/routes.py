"""Routes for sources of events, and for the snapshots that are posted to them."""

from typing import Annotated

from ninja import Path, Query

from postledger.accounts.keys import Scope
from postledger.notifications.sources import sources
from postledger.notifications.sources.sources import SourceFields, TakenSnapshot
from postledger.web.api.common.fields import ListKey
from postledger.web.api.common.pagination import ByKeyQuery, cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.sources.schemas import (
    NewSourceIn,
    SnapshotIn,
    SnapshotOut,
    SourceChangeIn,
    SourceOut,
    SourcePage,
    source_fields,
)

routes = Routes("sources", read=Scope.NOTIFICATIONS_READ, write=Scope.NOTIFICATIONS_WRITE)

KeyInPath = Annotated[ListKey, Path(description="The key of the source.")]


@routes.get("", SourcePage)
def list_sources(call: Call, query: Query[ByKeyQuery]) -> dict[str, object]:
    """The sources of the workspace by key, archived ones included."""
    rows = sources.list_sources(call.workspace_id, after=query.after, limit=query.limit + 1)
    shown = [source_fields(row) for row in rows]
    return cut_page("sources", shown, query.limit, lambda source: source["key"])


@routes.post("", SourceOut, status=201, shown_with=None)
def create_source(call: Call, payload: NewSourceIn) -> dict[str, object]:
    """Creates a source of events. Its key and its topic never change."""
    wanted = payload.model_dump(exclude={"key", "topic"})
    created = sources.create_source(
        call.workspace_id,
        key=payload.key,
        topic=payload.topic,
        fields=SourceFields(**wanted),
        actor=call.actor,
    )
    return source_fields(created)


@routes.get("/{source_key}", SourceOut)
def get_source(call: Call, source_key: KeyInPath) -> dict[str, object]:
    """One source, with what is wrong with it and since when."""
    return source_fields(sources.get_source(call.workspace_id, source_key))


@routes.patch("/{source_key}", SourceOut)
def change_source(call: Call, source_key: KeyInPath, payload: SourceChangeIn) -> dict[str, object]:
    """Changes the fields that are sent. With other id_fields, or another watched_field, the next
    snapshot is the first one again.
    """
    changed = sources.change_source(
        call.workspace_id, key=source_key, changes=payload.changes(), actor=call.actor
    )
    return source_fields(changed)


@routes.post("/{source_key}/archive", SourceOut)
def archive_source(call: Call, source_key: KeyInPath) -> dict[str, object]:
    """Takes no more snapshots, for good. Events that were published stay."""
    archived = sources.archive_source(call.workspace_id, key=source_key, actor=call.actor)
    return source_fields(archived)


@routes.post("/{source_key}/snapshots", SnapshotOut, scopes=[Scope.EVENTS_PUBLISH], shown_with=None)
def take_snapshot(call: Call, source_key: KeyInPath, payload: SnapshotIn) -> TakenSnapshot:
    """Publishes an event for each item whose watched field is not what it was before.

    All or nothing, and the same snapshot again changes nothing; one that is older than the last is
    refused.
    """
    source = sources.get_source(call.workspace_id, source_key)
    return sources.take_snapshot(
        source, payload.items, taken_at=payload.taken_at or call.now, now=call.now
    )
