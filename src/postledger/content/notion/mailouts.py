"""What the row of a mailout in Notion says besides its content."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from postledger.content.notion import fields, rich_text
from postledger.content.notion.fields import Record


@dataclass(frozen=True, slots=True)
class Mailout:
    """An empty subject is kept: whether a mailout may be sent is for the caller to say."""

    page_id: str
    subject: str
    status: str  # Notion's word, such as Send or Failed; empty where there is none
    is_test: bool
    sent_at: datetime | None
    homes: frozenset[str] = frozenset()  # the ids of the table it is a row of


def parse(page: Record) -> Mailout:
    """Names of properties are read as people write them: is_test, Is test, IS-TEST."""
    properties = _properties(page)
    return Mailout(
        page_id=fields.text(page, "id"),
        subject=_subject(properties),
        status=_text(properties.get("status", {})),
        is_test=fields.flag(properties.get("istest", {}), "checkbox"),
        sent_at=_time(properties.get("sentat", {})),
        homes=_homes(fields.record(page, "parent")),
    )


def _homes(parent: Record) -> frozenset[str]:
    """A table has an id as a database, and another one as the source of its rows."""
    ids = (fields.text(parent, name) for name in ("database_id", "data_source_id"))
    return frozenset(found for found in ids if found)


def _properties(page: Record) -> Mapping[str, Record]:
    return {
        plain(name): value
        for name, value in fields.record(page, "properties").items()
        if isinstance(value, dict)
    }


def plain(name: str) -> str:
    """A property's name without everything by which people write the same name differently."""
    return "".join(filter(str.isalnum, name.casefold()))


def _subject(properties: Mapping[str, Record]) -> str:
    """The property of this name, else the title: every page has one, whatever it is called."""
    titles = (value for value in properties.values() if value.get("type") == "title")
    named = _text(properties.get("subject", {}))
    return named or _text(next(titles, {}))


def _text(value: Record) -> str:
    """The text of a title, of rich text, of a state or of a choice, on one line."""
    kind = fields.text(value, "type")
    if kind in {"title", "rich_text"}:
        found = rich_text.plain(rich_text.parse(fields.array(value, kind)))
    else:
        found = fields.text(fields.record(value, kind), "name")
    return " ".join(found.split())


def _time(value: Record) -> datetime | None:
    """A day without a time counts from its start in UTC."""
    written = fields.text(fields.record(value, "date"), "start")
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
