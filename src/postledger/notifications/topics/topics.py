"""A workspace's topics: created with their lists, changed, archived and looked up."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, LiteralString

from django.db import transaction
from django.db.models import QuerySet

from postledger.accounts import queries as accounts
from postledger.accounts import trail
from postledger.contacts import details, lists, sql
from postledger.contacts.states import ListKind
from postledger.content import locales, templates
from postledger.content.templates import TemplateUnknownError
from postledger.content.versions import Version
from postledger.lib.errors import ConflictError, NotFoundError, RefusedError
from postledger.notifications.models import Topic, TopicSubscription
from postledger.notifications.topics import event_schemas
from postledger.notifications.topics.matching import MOST_MATCH_FIELDS

LONGEST_DEDUPE = 86_400  # seconds
SHORTEST_TTL = 60
LONGEST_TTL = 30 * 86_400
MOST_STATUSES = 50

# Known of every recipient: the contact's address and names, and the links that composing adds.
OF_RECIPIENTS = frozenset(
    {"email", "name", "from_name", "manageUrl", "unsubscribeUrl", "unsubscribe_url"}
)


class TopicUnknownError(NotFoundError):
    code = "topic_unknown"


class InvalidTopicError(RefusedError):
    code = "invalid_topic"


class TopicInUseError(ConflictError):
    code = "topic_in_use"


class TopicArchivedError(ConflictError):
    code = "topic_archived"


@dataclass(frozen=True, slots=True)
class TopicFields:
    """A topic as a caller wants it; its key never changes."""

    name: str
    template: str
    template_version: int | None = None  # None: the newest at each event
    event_schema: Mapping[str, Any] = field(default_factory=dict)
    match_fields: Sequence[str] = ()
    status_field: str = "statusAfter"
    notify_on: Sequence[str] = ("Open",)  # empty: every event
    fallback_locale: str = ""
    dedupe_seconds: int = 180
    ttl_seconds: int = 86_400
    sender: str | None = None  # None: the workspace's default
    is_public: bool = False
    is_by_job: bool = False


def create_topic(workspace_id: int, *, key: str, fields: TopicFields, actor: str) -> Topic:
    """Creates a topic together with the list that its recipients consent to."""
    columns = _check(workspace_id, fields)
    with transaction.atomic():
        list_id = lists.create_list(
            workspace_id,
            key=key,
            name=fields.name,
            kind=ListKind.TOPIC,
            is_public=fields.is_public,
            actor=actor,
        )
        Topic.objects.create(workspace_id=workspace_id, list_id=list_id, **columns)
        trail.note(workspace_id, actor=actor, action="topic.created", subject=f"topic {key}")
    return get_topic(workspace_id, key)


def change_topic(workspace_id: int, *, key: str, changes: Mapping[str, Any], actor: str) -> Topic:
    """Changes some fields for later events; those that are not named keep their values."""
    with transaction.atomic():
        topic = get_topic(workspace_id, key, is_locked=True)
        if topic.list.archived_at is not None:
            raise _archived(key)
        before = read_fields(topic)
        after = replace(before, **changes)
        if after == before:
            return topic
        columns = _check(workspace_id, after)
        _keep_matches(topic, after.match_fields)
        Topic.objects.filter(pk=topic.pk).update(**columns)
        if (after.name, after.is_public) != (before.name, before.is_public):
            lists.update_list(
                workspace_id, key=key, name=after.name, is_public=after.is_public, actor=actor
            )
        trail.note(
            workspace_id,
            actor=actor,
            action="topic.changed",
            subject=f"topic {key}",
            data={"fields": [*changes]},
        )
    return get_topic(workspace_id, key)


def archive_topic(workspace_id: int, *, key: str, actor: str) -> Topic:
    """Ends new events and subscriptions; what was published before is still sent."""
    if get_topic(workspace_id, key).list.archived_at is None:
        lists.archive_list(workspace_id, key=key, actor=actor)
    return get_topic(workspace_id, key)


def restore_topic(workspace_id: int, *, key: str, actor: str) -> Topic:
    if get_topic(workspace_id, key).list.archived_at is not None:
        lists.restore_list(workspace_id, key=key, actor=actor)
    return get_topic(workspace_id, key)


def list_topics(workspace_id: int, *, after: str = "", limit: int) -> list[Topic]:
    """The topics after a key, in the order of keys, archived ones too."""
    topics = _select(workspace_id).filter(list__key__gt=after)
    return list(topics.order_by("list__key")[:limit])


def list_keys_with_match(workspace_id: int) -> set[str]:
    """The keys of the topics of which people choose what they are told."""
    topics = Topic.objects.filter(workspace_id=workspace_id, match_fields__len__gt=0)
    return set(topics.values_list("list__key", flat=True))


# Without the schema itself, which may be large.
_TITLES: LiteralString = """
SELECT list.key, field, left(topic.event_schema #>> ARRAY['properties', field, 'title'], 100)
FROM notifications_topic AS topic
JOIN contacts_list AS list ON list.id = topic.list_id
CROSS JOIN unnest(topic.match_fields) AS field
WHERE topic.workspace_id = %(workspace)s AND list.key = ANY(%(keys)s)
  AND jsonb_typeof(topic.event_schema #> ARRAY['properties', field, 'title']) = 'string'
"""


def find_titles(workspace_id: int, keys: Collection[str]) -> Mapping[tuple[str, str], str]:
    """What people call the match fields of some topics, by the topic's key and the field.

    It is the `title` in the schema of the topic's events; a field without one is left out.
    """
    rows = sql.rows(_TITLES, {"workspace": workspace_id, "keys": list(keys)}) if keys else []
    return {(key, field): title for key, field, title in rows if title.strip()}


def find_topic(workspace_id: int, key: str) -> Topic | None:
    """The topic of a list; None for any other list."""
    return _select(workspace_id).filter(list__key=key).first()


def get_topic(workspace_id: int, key: str, *, is_locked: bool = False) -> Topic:
    """A topic with its list and sender, archived or not."""
    topics = _select(workspace_id).filter(list__key=key)
    if is_locked:
        topics = topics.select_for_update(no_key=True, of=("self",))
    topic = topics.first()
    if topic is None:
        raise TopicUnknownError(f"There is no topic {key[:64]!r}. Create it first.")
    return topic


def _select(workspace_id: int) -> QuerySet[Topic]:
    return Topic.objects.filter(workspace_id=workspace_id).select_related("list", "sender")


def refuse_archived(topic: Topic) -> None:
    if topic.list.archived_at is not None:
        raise _archived(topic.list.key)


def read_fields(topic: Topic) -> TopicFields:
    return TopicFields(
        name=topic.list.name,
        template=topic.template,
        template_version=topic.template_version,
        event_schema=topic.event_schema,
        match_fields=tuple(topic.match_fields),
        status_field=topic.status_field,
        notify_on=tuple(topic.notify_on),
        fallback_locale=topic.fallback_locale,
        dedupe_seconds=topic.dedupe_seconds,
        ttl_seconds=topic.ttl_seconds,
        sender=None if topic.sender is None else topic.sender.address,
        is_public=topic.list.is_public,
        is_by_job=topic.is_by_job,
    )


def _check(workspace_id: int, fields: TopicFields) -> dict[str, Any]:
    """Returns the columns of the topic's own row; refuses what no mail could be made of."""
    _check_names(fields)
    _check_times(fields)
    event_schemas.check_schema(fields.event_schema)
    version = _find_version(workspace_id, fields)
    _check_variables(fields, version)
    sender = fields.sender
    return {
        "template": fields.template,
        "template_version": fields.template_version,
        "event_schema": dict(fields.event_schema),
        "match_fields": list(fields.match_fields),
        "status_field": fields.status_field,
        "notify_on": list(fields.notify_on),
        "fallback_locale": _check_fallback(fields, version),
        "dedupe_seconds": fields.dedupe_seconds,
        "ttl_seconds": fields.ttl_seconds,
        "sender": None if sender is None else accounts.select_sender(workspace_id, address=sender),
        "is_by_job": fields.is_by_job,
    }


def _check_names(fields: TopicFields) -> None:
    names = fields.match_fields
    if len(names) > MOST_MATCH_FIELDS or len(set(names)) < len(names):
        raise InvalidTopicError(
            f"A topic has at most {MOST_MATCH_FIELDS} match_fields, each of them once."
        )
    for name in (*names, fields.status_field, *fields.notify_on):
        if not details.is_key(name):
            raise InvalidTopicError(
                f"{name[:64]!r} cannot be a field or a status of events: use 1 to"
                f" {details.LONGEST_KEY} visible characters."
            )
    if len(fields.notify_on) > MOST_STATUSES:
        raise InvalidTopicError(f"Name at most {MOST_STATUSES} statuses in notify_on.")


def _check_times(fields: TopicFields) -> None:
    if not 0 <= fields.dedupe_seconds <= LONGEST_DEDUPE:
        raise InvalidTopicError(f"dedupe_seconds must be between 0 and {LONGEST_DEDUPE}.")
    if not SHORTEST_TTL <= fields.ttl_seconds <= LONGEST_TTL:
        raise InvalidTopicError(f"ttl_seconds must be between {SHORTEST_TTL} and {LONGEST_TTL}.")


def _find_version(workspace_id: int, fields: TopicFields) -> Version:
    try:
        return templates.find_version(
            workspace_id, key=fields.template, number=fields.template_version
        )
    except TemplateUnknownError as unknown:
        raise InvalidTopicError(str(unknown)) from None


def _check_variables(fields: TopicFields, version: Version) -> None:
    """Every required variable must be in every event; jobs bring variables of their own."""
    if fields.is_by_job:
        return
    known = OF_RECIPIENTS | event_schemas.list_sure_fields(fields.event_schema)
    missing = [name for name in version.required if name not in known]
    if missing:
        raise InvalidTopicError(
            f"The template {fields.template!r} needs {', '.join(missing)}, which events may lack."
            " Name them under `required` of event_schema, or choose another template."
        )


def _check_fallback(fields: TopicFields, version: Version) -> str:
    if not fields.fallback_locale:
        return ""
    locale = locales.canonical(fields.fallback_locale)
    if locale not in version.locales():
        raise InvalidTopicError(
            f"The template {fields.template!r} has no text for the fallback_locale {locale}; it has"
            f" {', '.join(version.locales())}."
        )
    return locale


def _keep_matches(topic: Topic, match_fields: Sequence[str]) -> None:
    """A subscription whose field is no longer matched would never be told anything again."""
    removed = sorted(set(topic.match_fields) - set(match_fields))
    by_removed = TopicSubscription.objects.filter(topic=topic, match__has_any_keys=removed)
    if removed and by_removed.exists():
        raise TopicInUseError(
            f"Subscriptions match on {', '.join(removed)}. Keep it in match_fields, or create"
            " another topic."
        )


def _archived(key: str) -> TopicArchivedError:
    return TopicArchivedError(f"The topic {key!r} is archived. Restore it first.")


def choose_variables(data: Mapping[str, Any]) -> dict[str, Any]:
    """What the data of an event gives to its mails: nothing that belongs to the recipient."""
    return {name: value for name, value in data.items() if name not in OF_RECIPIENTS}
