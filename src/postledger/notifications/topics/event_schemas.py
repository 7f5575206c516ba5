"""The JSON Schema of a topic's events: which schemas are taken, and whether an event has its form.

A schema has no references: one to another document would be fetched over the network, and ones
within it can make a small schema cost any amount of time.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NoReturn

from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

from postledger.lib import values
from postledger.lib.errors import RefusedError

LARGEST_SCHEMA = 8_192
MOST_PATTERNS = 50
DIALECT = "https://json-schema.org/draft/2020-12/schema"

_REFERENCES = ("$ref", "$dynamicRef", "$id")
_LONGEST_MESSAGE = 300
_LARGEST_PATTERN = 50_000  # bytes, compiled


class InvalidSchemaError(RefusedError):
    code = "invalid_event_schema"


def check_schema(schema: Mapping[str, Any]) -> None:
    """Refuses what is not a schema of Draft 2020-12, or has references."""
    flaw = values.find_flaw(schema, most=LARGEST_SCHEMA)
    if flaw:
        raise InvalidSchemaError(f"The event_schema was not stored: {flaw}")
    if schema.get("$schema", DIALECT) != DIALECT:
        raise InvalidSchemaError(
            f"The event_schema names another dialect than Draft 2020-12: write {DIALECT} as its"
            " $schema, or leave it out."
        )
    for key, _ in _entries(schema):
        if key in _REFERENCES:
            raise InvalidSchemaError(
                f"The event_schema contains {key}. Write the definition in its place."
            )
    patterns = _count_patterns(schema)
    if patterns > MOST_PATTERNS:
        raise InvalidSchemaError(
            f"The event_schema has {patterns} patterns; at most {MOST_PATTERNS} are allowed."
        )
    try:
        compile_schema(schema)
    except ValueError as error:
        raise InvalidSchemaError(
            f"The event_schema is not a schema of Draft 2020-12: {_shorten(error)}."
        ) from None


def compile_schema(schema: Mapping[str, Any]) -> Draft202012Validator:
    return _compile(json.dumps(dict(schema), sort_keys=True))


def find_flaw(validator: Draft202012Validator, data: Mapping[str, Any]) -> tuple[str, str] | None:
    """Where the data of an event differs first from the schema, and how.

    Only the first: a small event can differ in so many places that they fill the memory.
    """
    if validator.is_valid(data):
        return None
    try:
        validator.validate(data)
    except ValidationError as error:
        place = ".".join(["data", *map(str, error.instance_path)])
        return place, f"{_shorten(error)}."
    return None


def list_sure_fields(schema: Mapping[str, Any]) -> frozenset[str]:
    """The fields that every event of this schema has."""
    required = schema.get("required", [])
    return frozenset(field for field in required if isinstance(field, str))


@lru_cache(maxsize=64)
def _compile(text: str) -> Draft202012Validator:
    # Expressions in linear time: with those of other engines a short text can take hours.
    return Draft202012Validator(
        json.loads(text),
        validate_formats=True,
        pattern_options=RegexOptions(size_limit=_LARGEST_PATTERN, dfa_size_limit=_LARGEST_PATTERN),
        retriever=_fetch_nothing,
    )


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"{uri[:100]} is not fetched")


def _shorten(error: ValueError) -> str:
    text = error.message if isinstance(error, ValidationError) else str(error)
    return text.splitlines()[0][:_LONGEST_MESSAGE].rstrip(".")


def _count_patterns(schema: Mapping[str, Any]) -> int:
    count = 0
    for key, value in _entries(schema):
        if key == "pattern":
            count += 1
        elif key == "patternProperties" and isinstance(value, dict):
            count += len(value)
    return count


def _entries(schema: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    remaining: list[object] = [dict(schema)]
    while remaining:
        match remaining.pop():
            case list(items):
                remaining += items
            case dict(items):
                yield from items.items()
                remaining += items.values()
            case _:
                pass
