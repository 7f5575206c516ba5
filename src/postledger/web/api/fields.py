"""The fields of requests that need more than a type: moments, addresses and attached bytes."""

import binascii
import re
from base64 import b64decode
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)")


def _moment(value: object) -> datetime:
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        raise ValueError("write a moment as in 2026-01-31T12:00:00Z")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("there is no such moment") from None


def _attached(value: object) -> bytes:
    if not isinstance(value, str):
        raise ValueError("write base64")  # noqa: TRY004  pydantic collects ValueErrors only
    try:
        return b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("write base64") from None


Moment = Annotated[
    datetime,
    BeforeValidator(_moment),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
Attached = Annotated[
    bytes,
    BeforeValidator(_attached),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
# The validations judge addresses and texts, each with its own code; the schema only tells.
Address = Annotated[str, Field(json_schema_extra={"format": "email", "maxLength": 254})]
