"""Topics as callers send and get them."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, JsonValue, model_validator

from postledger.contacts.details import LONGEST_KEY
from postledger.notifications.models import Topic
from postledger.notifications.topics import topics
from postledger.notifications.topics.matching import MOST_MATCH_FIELDS
from postledger.notifications.topics.topics import TopicFields
from postledger.web.api.common.fields import (
    Address,
    ContentLocale,
    ListKey,
    Name,
    TemplateKey,
    TextOrNull,
    VersionNumber,
)
from postledger.web.api.common.pagination import NextCursor
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

EventField = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY, examples=["indexNumber"])]
Schema = Annotated[
    dict[str, JsonValue],
    Field(
        description="JSON Schema, Draft 2020-12, of an event's data, without references. Variables"
        " that the template needs are named under `required`.",
        examples=[{"type": "object", "required": ["courseTitle"]}],
    ),
]
MatchFields = Annotated[
    list[EventField],
    Field(
        max_length=MOST_MATCH_FIELDS,
        description="Fields of an event by which people choose what they are told.",
    ),
]
NotifyOn = Annotated[
    list[EventField],
    Field(
        max_length=topics.MOST_STATUSES,
        description="The statuses that are told to those who chose none; empty: every event.",
    ),
]
DedupeSeconds = Annotated[
    int,
    Field(
        ge=0,
        le=topics.LONGEST_DEDUPE,
        description="Nobody is told the same thing twice within this time.",
    ),
]
TtlSeconds = Annotated[
    int,
    Field(
        ge=topics.SHORTEST_TTL,
        le=topics.LONGEST_TTL,
        description="A notification that could not go by then expires.",
    ),
]
StatusField = Annotated[EventField, Field(description="What `notify_on` is about.")]
IsByJob = Annotated[
    bool, Field(description="Its mails are made from the jobs that are posted, not by the fan-out.")
]


class NewTopicIn(RequestSchema):
    """A new topic, with the list that its recipients consent to."""

    key: Annotated[ListKey, Field(examples=["seats"])]
    name: Name
    template: TemplateKey
    template_version: VersionNumber | None = Field(
        default=None, description="The newest at each event by default."
    )
    event_schema: Schema = Field(default_factory=dict)
    match_fields: MatchFields = Field(default_factory=list)
    status_field: StatusField = "statusAfter"
    notify_on: NotifyOn = Field(default=["Open"])
    fallback_locale: ContentLocale | None = Field(
        default=None, description="For languages in which the template has no text."
    )
    dedupe_seconds: DedupeSeconds = 180
    ttl_seconds: TtlSeconds = 86_400
    sender: Address | None = Field(default=None, description="Defaults to the workspace's sender.")
    is_public: bool = Field(default=False, description="Whether people may find and join it.")
    is_by_job: IsByJob = False

    def fields(self) -> TopicFields:
        given = {name: getattr(self, name) for name in type(self).model_fields if name != "key"}
        return TopicFields(**as_fields(given))


class TopicChangeIn(RequestSchema):
    """Absent fields do not change."""

    # No default in the OpenAPI document: `model_fields_set` tells which fields were sent.
    name: Name = Field(default_factory=str)
    template: TemplateKey = Field(default_factory=str)
    template_version: VersionNumber | None = None
    event_schema: Schema = Field(default_factory=dict)
    match_fields: MatchFields = Field(default_factory=list)
    status_field: StatusField = Field(default_factory=str)
    notify_on: NotifyOn = Field(default_factory=list)
    fallback_locale: ContentLocale | None = None
    dedupe_seconds: DedupeSeconds = Field(default_factory=int)
    ttl_seconds: TtlSeconds = Field(default_factory=int)
    sender: Address | None = None
    is_public: bool = Field(default_factory=bool)
    is_by_job: IsByJob = Field(default_factory=bool)

    def changes(self) -> dict[str, Any]:
        return as_fields({name: getattr(self, name) for name in self.model_fields_set})


def as_fields(given: dict[str, Any]) -> dict[str, Any]:
    """The values as a topic has them: sequences that compare, and an empty text for none."""
    values = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
    if "fallback_locale" in values:
        values["fallback_locale"] = values["fallback_locale"] or ""
    return values


class TopicOut(ResponseSchema):
    key: str = Field(examples=["seats"])
    name: str
    template: str
    template_version: int | None
    event_schema: dict[str, JsonValue]
    match_fields: list[str]
    status_field: str
    notify_on: list[str]
    fallback_locale: TextOrNull
    dedupe_seconds: int
    ttl_seconds: int
    sender: str | None
    is_public: bool
    is_by_job: bool
    created_at: datetime
    archived_at: datetime | None = Field(description="When it was archived.")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, topic: Topic) -> dict[str, object]:
        fields = topics.read_fields(topic)
        return {
            **{name: getattr(fields, name) for name in TopicFields.__dataclass_fields__},
            "key": topic.list.key,
            "created_at": topic.created_at,
            "archived_at": topic.list.archived_at,
        }


class TopicPage(ResponseSchema):
    """By key."""

    topics: list[TopicOut]
    next: NextCursor
