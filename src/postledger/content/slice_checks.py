"""What a slice may hold: a place that readers can have, and values that every mail is given."""

import re
from collections.abc import Iterable, Iterator

from postledger.content import isolation
from postledger.content.rendering import mail_preview
from postledger.content.rendering.html import checks
from postledger.content.rendering.letter import GIVEN
from postledger.content.rendering.source import Format, Source
from postledger.content.slices import SliceFields
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.lib.values import OCD_ID_PATTERN

_TEXTS = ("title", "dek", "preheader", "body_md")
_OCD_ID = re.compile(OCD_ID_PATTERN)
_NAMES = re.compile(r"\{%-?\s*(?:assign|capture|increment|decrement)\s+(\w+)")


class InvalidSliceError(RefusedError):
    """A slice that nobody could get; `field` is the one that is wrong."""

    code = "invalid_slice"

    def __init__(self, sentence: str, field: str) -> None:
        super().__init__(sentence)
        self.field = field


def check_texts(fields: SliceFields) -> None:
    for place in ("scope_ocd_id", "section", *_TEXTS):
        checks.refuse_unstorable(place, getattr(fields, place) or "")


def check_place(fields: SliceFields) -> None:
    """Refuses a place that no contact can have, so that nobody would ever get the slice."""
    scope = fields.scope_ocd_id
    if scope is not None and not _OCD_ID.fullmatch(scope):
        raise refuse_place(scope)


def refuse_place(scope: str) -> InvalidSliceError:
    return InvalidSliceError(
        say(
            "The slice was not stored: '%(scope)s' is no OCD id. Write one like"
            " ocd-division/country:us/state:oh, or leave it out when the slice is for"
            " everybody.",
            scope=scope[:64],
        ),
        "scope_ocd_id",
    )


def check_values(workspace_id: int, fields: SliceFields, others: Iterable[SliceFields]) -> None:
    """Refuses values that neither every mail nor another slice of the article gives a name to."""
    for place in _TEXTS:
        text = getattr(fields, place)
        if "{{" not in text and "{%" not in text:
            continue
        source = Source("", text, Format.MARKDOWN)
        names = isolation.render(workspace_id, mail_preview.list_variables, source)
        unknown = set(names or ())
        if unknown:
            unknown -= {name for other in others for name in _list_named(other)}
        if unknown:
            raise _refuse_value(min(unknown), place)


def _list_named(fields: SliceFields) -> Iterator[str]:
    return (name for place in _TEXTS for name in _NAMES.findall(getattr(fields, place)))


def _refuse_value(name: str, place: str) -> InvalidSliceError:
    return InvalidSliceError(
        say(
            "The slice was not stored: no email has a value %(name)s for it. A slice can use"
            " %(given)s. Take one of them, or leave it out.",
            name=name,
            given=", ".join(sorted(GIVEN)),
        ),
        place,
    )
