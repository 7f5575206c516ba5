"""The properties of a mailout's row in Notion."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from postledger.content.notion import fields, rich_text
from postledger.content.notion.fields import Record


@dataclass(frozen=True, slots=True)
class MailoutPage:
    """A mailout with an empty subject is valid here: the caller decides whether to send it."""

    page_id: str
    subject: str
    status: str  # such as Send or Failed; empty for a row without a status
    is_test: bool
    sent_at: datetime | None
    table_ids: frozenset[str] = frozenset()  # the ids of its table
    preheader: str = ""


def parse(page: Record) -> MailoutPage:
    """Names of properties are read as people write them: is_test, Is test, IS-TEST."""
    properties = _properties(page)
    return MailoutPage(
        page_id=fields.text(page, "id"),
        subject=_subject(properties),
        status=_text(properties.get("status", {})),
        is_test=fields.flag(properties.get("istest", {}), "checkbox"),
        sent_at=_time(properties.get("sentat", {})),
        table_ids=_table_ids(fields.record(page, "parent")),
        preheader=_text(properties.get("preheader", {})),
    )


def _table_ids(parent: Record) -> frozenset[str]:
    """A table has an id as a database, and another one as a data source."""
    ids = (fields.text(parent, name) for name in ("database_id", "data_source_id"))
    return frozenset(filter(None, ids))


def _properties(page: Record) -> Mapping[str, Record]:
    return {
        normalize_name(name): value
        for name, value in fields.record(page, "properties").items()
        if isinstance(value, dict)
    }


def normalize_name(name: str) -> str:
    """A property's name without case, spaces and punctuation."""
    return "".join(filter(str.isalnum, name.casefold()))


def _subject(properties: Mapping[str, Record]) -> str:
    """The property of this name, or else the title, which every page has."""
    titles = (value for value in properties.values() if value.get("type") == "title")
    named = _text(properties.get("subject", {}))
    return named or _text(next(titles, {}))


def _text(value: Record) -> str:
    """The text of a title, of rich text, of a status or of a select, on one line."""
    kind = fields.text(value, "type")
    if kind in {"title", "rich_text"}:
        text = rich_text.plain(rich_text.parse(fields.array(value, kind)))
    else:
        text = fields.text(fields.record(value, kind), "name")
    return " ".join(text.split())


def _time(value: Record) -> datetime | None:
    """A day without a time counts from its start in UTC."""
    written = fields.text(fields.record(value, "date"), "start")
    try:
        time = datetime.fromisoformat(written)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
