"""Pages of results: the query parameters, and cursors that callers send back."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from postledger.deliveries.attention.deciding import BEFORE_ALL, MailKey
from postledger.deliveries.search import MailCursor
from postledger.lib.ids import LAST_ID
from postledger.lib.values import KEY_PATTERN
from postledger.web.api.common.fields import Matching

_LAST_POSITION = 1 << 62
_REMEDY = "give `next` of the previous page"


def cursor_like(pattern: str) -> Matching:
    return Matching(pattern, _REMEDY)


MailCursorText = Annotated[str, cursor_like("^[0-9a-f]{1,6}-[0-9a-f]{1,16}$")]

NextCursor = Annotated[
    str | None, Field(description="The `cursor` of the next page; null on the last page.")
]


class PageQuery(BaseModel):
    limit: int = Field(default=25, ge=1, le=100, description="Results per page.")


class ByKeyQuery(PageQuery):
    """For results that are ordered by a key that people gave."""

    cursor: Annotated[str, cursor_like(KEY_PATTERN)] | None = Field(
        default=None, description="`next` of the previous page."
    )

    @property
    def after(self) -> str:
        return self.cursor or ""


class NewestFirstQuery(PageQuery):
    """For results that are ordered by a number, the newest first."""

    cursor: Annotated[str, cursor_like("^[0-9]{1,18}$")] | None = Field(
        default=None, description="`next` of the previous page."
    )

    @property
    def before(self) -> int:
        return LAST_ID if self.cursor is None else int(self.cursor)


class OldestFirstQuery(PageQuery):
    """For results that are ordered by a number, the oldest first."""

    cursor: Annotated[str, cursor_like("^[0-9]{1,18}$")] | None = Field(
        default=None, description="`next` of the previous page."
    )

    @property
    def after(self) -> int:
        return -1 if self.cursor is None else int(self.cursor)


# Of mails of several streams.
MailKeyText = Annotated[str, cursor_like("^[0-9a-f]{1,12}-[0-9a-f]{1,13}$")]


def encode_mail_key(key: MailKey) -> str:
    return f"{key.stream_id:x}-{key.position:x}"


def decode_mail_key(text: str | None) -> MailKey:
    """For a text that matches `MailKeyText`."""
    if text is None:
        return BEFORE_ALL
    stream_id, position = (int(part, 16) for part in text.split("-"))
    return MailKey(stream_id, position)


def cut_page[Row](
    name: str, rows: Sequence[Row], limit: int, cursor: Callable[[Row], object]
) -> dict[str, object]:
    """A page under its name; `rows` has one row more than the page if there is a next page."""
    has_next = len(rows) > limit
    return {name: rows[:limit], "next": str(cursor(rows[limit - 1])) if has_next else None}


def encode_mail_cursor(cursor: MailCursor) -> str:
    return f"{cursor.month:x}-{cursor.position:x}"


def decode_mail_cursor(text: str) -> MailCursor:
    """For a text that matches `MailCursorText`."""
    month, position = (int(part, 16) for part in text.split("-"))
    return MailCursor(month, min(position, _LAST_POSITION))


def encode_text_cursor(key: str) -> str:
    return urlsafe_b64encode(key.encode()).decode().rstrip("=")


def decode_text_cursor(text: str) -> str:
    """Raises ValueError for a text that `encode_text_cursor` cannot have written."""
    try:
        key = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        key = ""
    if not key or "\0" in key:
        raise ValueError(_REMEDY)
    return key


TextCursor = Annotated[
    str, cursor_like("^[A-Za-z0-9_-]{1,500}$"), AfterValidator(decode_text_cursor)
]
