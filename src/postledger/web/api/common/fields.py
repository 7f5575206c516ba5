"""Field types of requests that several resources share, each with its limits."""

import binascii
import re
from base64 import b64decode
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Annotated, Any

from ninja.params.functions import Path
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    PlainValidator,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from postledger.accounts import constraints
from postledger.contacts import details
from postledger.content import locales
from postledger.content.rendering.html import checks
from postledger.lib import moments, values
from postledger.lib.ids import LAST_ID
from postledger.lib.moments import FarMomentError
from postledger.providers import addresses
from postledger.web.api.common.schema_errors import WRONG_FORM

MOST_VARIABLES = 100
MOST_OCD_IDS = 1_000
LAST_NUMBER = 2**31 - 1

_LARGEST_VALUES = 65_536
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class Matching:
    """A text of one form; what to write is said in words, where Pydantic would show the pattern."""

    pattern: str
    remedy: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        form = core_schema.custom_error_schema(
            core_schema.str_schema(pattern=self.pattern),
            custom_error_type=WRONG_FORM,
            custom_error_message=self.remedy,
        )
        return core_schema.chain_schema([handler(source), form])

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "pattern": self.pattern}


def path_id(description: str) -> Any:
    """A number in the path that names an object."""
    return Path(ge=1, le=LAST_ID, description=description)


def _any_moment(value: object) -> datetime:
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        raise ValueError("write a time with its zone, such as 2026-01-31T12:00:00Z")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("this time does not exist") from None


def _moment(value: object) -> datetime:
    moment = _any_moment(value)
    try:
        return moments.to_utc(moment)
    except FarMomentError:
        years = f"from {moments.FIRST_YEAR} to {moments.LAST_YEAR}"
        raise ValueError(f"use a year {years}, or leave it out") from None


def _base64(value: object) -> bytes:
    if not isinstance(value, str):
        raise ValueError("write base64")  # noqa: TRY004  pydantic collects ValueErrors only
    try:
        return b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("write base64") from None


def _canonical_address(value: str) -> str:
    try:
        return addresses.canonical(value)
    except addresses.InvalidAddressError as error:
        raise ValueError(str(error)) from None


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("write one line of visible characters")
    return text


def _storable_values(given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    issue = values.find_flaw(given, most=_LARGEST_VALUES)
    if issue:
        raise ValueError(issue)
    return given


_MOMENT_SCHEMA = WithJsonSchema({"type": "string", "format": "date-time"})
Moment = Annotated[datetime, PlainValidator(_moment), _MOMENT_SCHEMA]
# Compared with others only, or checked by the application, which has an error code for it.
AnyMoment = Annotated[datetime, PlainValidator(_any_moment), _MOMENT_SCHEMA]
Base64 = Annotated[
    bytes,
    PlainValidator(_base64),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
# Checked by the application, which has an error code for it; the schema only tells the limits.
Address = Annotated[str, Field(json_schema_extra={"format": "email", "maxLength": 254})]
CanonicalAddress = Annotated[Address, AfterValidator(_canonical_address)]

VersionNumber = Annotated[int, Field(ge=1, le=LAST_NUMBER)]
Name = Annotated[
    str, Field(min_length=1, max_length=constraints.LONGEST_NAME, examples=["Welcome"])
]
Line = Annotated[str, AfterValidator(_one_line), Field(max_length=details.LONGEST_TEXT)]
_KEY = Matching(
    values.KEY_PATTERN,
    "use up to 64 lowercase letters, digits and hyphens; the first is no hyphen",
)
ListKey = Annotated[str, _KEY, Field(examples=["news"])]
TemplateKey = Annotated[str, _KEY, Field(examples=["welcome"])]
ArticleKey = Annotated[
    str,
    Matching("^[a-z0-9-]{1,200}$", "use up to 200 lowercase letters, digits and hyphens"),
    Field(examples=["may-news"]),
]
Scope = Annotated[
    str,
    Field(max_length=255, examples=["ocd-division/country:us/state:oh"]),
    Matching(
        f"^{values.OCD_ID_PATTERN}$",
        "write an OCD id like ocd-division/country:us/state:oh, or null for everybody",
    ),
]
OcdId = Annotated[
    str,
    Field(max_length=500, examples=["ocd-division/country:us/state:oh"]),
    Matching(r"^\S+$", "write an OCD id, without spaces"),
]
_WRITE_LOCALE = (
    "write the code of a language like en, and a region after a hyphen where it matters, like pt-BR"
)
ContentLocale = Annotated[
    str,
    Field(max_length=locales.LONGEST, examples=["en", "pt-BR"]),
    Matching(
        "^[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|[0-9]{3}))?"
        "([-_]([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*$",
        _WRITE_LOCALE,
    ),
]
Locale = Annotated[
    str,
    Field(max_length=locales.LONGEST, examples=["en", "pt-BR"]),
    Matching(
        "^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$",
        _WRITE_LOCALE,
    ),
]
_VariableName = Annotated[
    str,
    Matching(
        "^[A-Za-z_][A-Za-z0-9_]{0,63}$",
        "use up to 64 letters, digits and _; the first is no digit",
    ),
    Field(examples=["name"]),
]
Variables = Annotated[
    list[_VariableName],
    Field(max_length=MOST_VARIABLES),
]
Values = Annotated[
    dict[str, JsonValue],
    AfterValidator(_storable_values),
    Field(description="Up to 65,536 bytes of JSON.", examples=[{"name": "Alice"}]),
]
# The renderer checks the limit in bytes and reports it as a finding.
Text = Annotated[str, Field(max_length=checks.MAX_HTML_BYTES)]
# In responses: the key of a list, given the list itself.
KeyOfList = Annotated[str, BeforeValidator(attrgetter("key"))]
# In responses: the domain stores an absent text as an empty one.
TextOrNull = Annotated[str | None, BeforeValidator(lambda text: text or None)]
