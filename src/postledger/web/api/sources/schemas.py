"""Sources and snapshots as callers send and get them."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, JsonValue

from postledger.notifications.sources import snapshots, sources
from postledger.notifications.sources.sources import SnapshotResult
from postledger.web.api.common.fields import ListKey, Moment, TextOrNull
from postledger.web.api.common.pagination import NextCursor
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

_FieldName = Annotated[str, Field(min_length=1, max_length=64)]
IdFields = Annotated[
    list[_FieldName],
    Field(
        min_length=1,
        max_length=sources.MOST_ID_FIELDS,
        description="Fields of an item that tell it from others.",
        examples=[["term", "index"]],
    ),
]
WatchedField = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        description="A change of this field becomes an event.",
        examples=["status"],
    ),
]
EventFields = Annotated[
    dict[_FieldName, _FieldName],
    Field(
        max_length=sources.MOST_FIELDS,
        description="Fields of the event, each by the field of the item that it is taken from.",
        examples=[{"indexNumber": "index"}],
    ),
]
Url = Annotated[
    str, Field(max_length=2_000, description="Polled by the workers; empty: snapshots are posted.")
]
Interval = Annotated[int, Field(ge=1, le=sources.LONGEST_INTERVAL)]
ItemsPath = Annotated[
    str,
    Field(
        max_length=1_100,
        description="Of the array in the answer of the URL, with dots; empty: the answer is one.",
    ),
]
KeyOfTopic = Annotated[str, BeforeValidator(lambda topic: topic.list.key)]


class NewSourceIn(RequestSchema):
    """A new source; its first snapshot is what later ones are compared with."""

    key: ListKey
    topic: ListKey = Field(
        description="The topic that its events are published to.", examples=["seats"]
    )
    id_fields: IdFields
    watched_field: WatchedField
    fields: EventFields = Field(default={})
    url: Url = ""
    interval_seconds: Interval = 60
    items_path: ItemsPath = ""


class SourceChangeIn(RequestSchema):
    """Absent fields do not change."""

    # No default in the OpenAPI document: `model_fields_set` tells which fields were sent.
    id_fields: IdFields = Field(default_factory=list)
    watched_field: WatchedField = Field(default_factory=str)
    fields: EventFields = Field(default_factory=dict)
    url: Url = Field(default_factory=str)
    interval_seconds: Interval = Field(default_factory=int)
    items_path: ItemsPath = Field(default_factory=str)

    def changes(self) -> dict[str, Any]:
        sent = {name: getattr(self, name) for name in self.model_fields_set}
        return {name: tuple(v) if name == "id_fields" else v for name, v in sent.items()}


class SourceOut(ResponseSchema):
    key: str
    topic: KeyOfTopic
    id_fields: list[str]
    watched_field: str
    fields: dict[str, str]
    url: TextOrNull
    interval_seconds: int
    items_path: str
    created_at: datetime
    archived_at: datetime | None = Field(description="Since then it takes no snapshots.")
    next_poll_at: datetime | None = Field(description="Null where nothing is polled.")
    last_snapshot_at: datetime | None = Field(description="Null before the first snapshot.")
    snapshot_hash: TextOrNull = Field(description="Of the last snapshot.")
    trouble: TextOrNull = Field(
        description="Why the last poll gave no snapshot, or which items the last one left out."
    )
    trouble_since: datetime | None


class SourcePage(ResponseSchema):
    """By key."""

    sources: list[SourceOut]
    next: NextCursor


class SnapshotIn(RequestSchema):
    """All items of the source as they are at one moment."""

    items: list[dict[str, JsonValue]] = Field(max_length=snapshots.MOST_ITEMS)
    taken_at: Moment | None = Field(default=None, description="By default now.")


class EventOfSnapshot(ResponseSchema):
    id: int
    key: str


class SnapshotOut(ResponseSchema):
    hash: str = Field(description="SHA-256 of the items, which is in each event, too.")
    result: SnapshotResult
    events: list[EventOfSnapshot] = Field(description="In the order of their items.")


def source_fields(source: Any) -> dict[str, object]:
    """Names what is shown: the time of the next poll only where there is one."""
    shown = {name: getattr(source, name) for name in SourceOut.model_fields}
    is_polled = source.url and source.archived_at is None
    return {**shown, "next_poll_at": source.next_poll_at if is_polled else None}
