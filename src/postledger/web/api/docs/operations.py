"""The OpenAPI document as a page shows it: operations and schemas, with every type in words."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

type Schema = Mapping[str, Any]

_KINDS = {
    "binary": "file",
    "date-time": "time",
    "email": "address",
    "password": "text",
    "uuid": "UUID",
}
_TYPES = {"boolean": "true or false", "integer": "whole number", "null": "null", "string": "text"}
_LIMITS = {
    "maxLength": "up to {:,} characters",
    "minimum": "at least {:,}",
    "maximum": "at most {:,}",
    "maxItems": "up to {:,} items",
    "maxProperties": "up to {:,} fields",
}
# Larger limits only say that a number fits into its column.
_LARGEST_LIMIT = 1_000_000
_EXAMPLES = {
    "address": "alice@example.com",
    "time": "2026-12-24T18:00:00Z",
    "UUID": "5b0f4d0e-0d8e-4d6e-9b1a-5a3c1f6f0c11",
}


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    kind: SafeString
    description: SafeString
    is_required: bool
    where: str = ""  # of a parameter: path, query or header


@dataclass(frozen=True, slots=True)
class Answer:
    status: str
    description: str
    kind: SafeString


@dataclass(frozen=True, slots=True)
class Operation:
    id: str
    method: str
    path: str
    title: str
    description: SafeString
    scopes: Sequence[str]
    is_open_to_test_keys: bool
    parameters: Sequence[Field]
    body: SafeString
    fields: Sequence[Field]
    answers: Sequence[Answer]
    example: str


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    operations: Sequence[Operation]


@dataclass(frozen=True, slots=True)
class NamedSchema:
    name: str
    description: SafeString
    kind: SafeString
    fields: Sequence[Field]


class Reader:
    """Reads one document."""

    def __init__(self, document: Schema) -> None:
        self._document = document
        self._schemas: Mapping[str, Schema] = document["components"]["schemas"]
        [server] = document["servers"]
        self._base_url = server["url"] if "://" in server["url"] else "$URL"

    def groups(self) -> list[Group]:
        operations: dict[str, list[Operation]] = {}
        for path, methods in self._document["paths"].items():
            for method, described in methods.items():
                [tag] = described["tags"]
                read = self._operation(method.upper(), path, described)
                operations.setdefault(tag, []).append(read)
        return [Group(name.capitalize(), group) for name, group in operations.items()]

    def schemas(self) -> list[NamedSchema]:
        return [
            NamedSchema(
                name,
                prose(schema.get("description", "")),
                describe_kind(schema),
                list(self._fields(schema)),
            )
            for name, schema in sorted(self._schemas.items())
        ]

    def _operation(self, method: str, path: str, described: Schema) -> Operation:
        content = described.get("requestBody", {}).get("content", {})
        body: Schema = next((media["schema"] for media in content.values()), {})
        return Operation(
            described["operationId"],
            method,
            path,
            described["summary"],
            prose(described.get("description", "")),
            described["x-scopes"],
            described["x-open-to-test-keys"],
            [_parameter(parameter) for parameter in described["parameters"]],
            describe_kind(body) if body else SafeString(""),
            list(self._fields(self._resolve(body))),
            list(_answers(described["responses"])),
            self._curl(method, path, content),
        )

    def _fields(self, schema: Schema) -> Iterator[Field]:
        required = schema.get("required", ())
        for name, part in schema.get("properties", {}).items():
            yield Field(name, describe_kind(part), _describe(part), name in required)

    def _resolve(self, schema: Schema) -> Schema:
        name = schema.get("$ref", "").rpartition("/")[2]
        return self._schemas[name] if name else schema

    def _curl(self, method: str, path: str, content: Mapping[str, Schema]) -> str:
        words = "curl" if method == "GET" else f"curl -X {method}"
        lines = [f'{words} "{self._base_url}{path}"', '  -H "Authorization: Bearer $KEY"']
        for media_type, media in [*content.items()][:1]:
            lines.append(f'  -H "Content-Type: {media_type}"')
            if media_type == "application/json":
                body = json.dumps(self._example(media["schema"]), indent=2, ensure_ascii=False)
                lines.append("  -d '{}'".format(body.replace("\n", "\n  ")))
            else:
                lines.append("  --data-binary @people.csv")
        return " \\\n".join(lines)

    def _example(self, schema: Schema) -> object:
        """A value of the schema: its own example, or its required fields."""
        schema = self._resolve(schema)
        values = [*schema.get("examples", ()), *schema.get("enum", ())]
        if "const" in schema:
            values.append(schema["const"])
        choices = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
        if values or choices:
            return values[0] if values else self._example(choices[0])
        if schema.get("type") == "object":
            required = schema.get("required", ())
            return {name: self._example(schema["properties"][name]) for name in required}
        if schema.get("type") == "array":
            return [self._example(schema["items"])] if schema.get("minItems") else []
        return _example_of_type(schema)


def _example_of_type(schema: Schema) -> object:
    match schema.get("type"):
        case "boolean":
            return True
        case "integer" | "number":
            return schema.get("minimum", 1)
        case _:
            return _EXAMPLES.get(_KINDS.get(schema.get("format", ""), ""), "…")


def prose(text: str) -> SafeString:
    """The text with what stands between backticks as code."""
    parts = text.split("`")
    return format_html_join(
        "",
        "{}",
        (
            (format_html("<code>{}</code>", part) if n % 2 else part,)
            for n, part in enumerate(parts)
        ),
    )


def describe_kind(schema: Schema) -> SafeString:
    """The type in words, with a link to a schema that has a name."""
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return format_html_join(" or ", "{}", ((describe_kind(part),) for part in choices))
    match schema:
        case {"$ref": reference}:
            name = reference.rpartition("/")[2]
            return format_html('<a href="#schema-{}">{}</a>', name, name)
        case {"enum": list(values)}:
            return format_html_join(" or ", "<code>{}</code>", ((value,) for value in values))
        case {"const": value}:
            return format_html("<code>{}</code>", value)
        case {"type": "array", "items": items}:
            return format_html("list of {}", describe_kind(items))
        case _:
            type_name = schema.get("type", "any value")
            kind = _KINDS.get(schema.get("format", ""), _TYPES.get(type_name, type_name))
            return format_html("{}", kind)


def _parameter(parameter: Schema) -> Field:
    schema = {**parameter["schema"], "description": parameter.get("description", "")}
    return Field(
        parameter["name"],
        describe_kind(schema),
        _describe(schema),
        parameter["required"],
        parameter["in"],
    )


def _answers(responses: Mapping[str, Schema]) -> Iterator[Answer]:
    """Those of success: any operation may end with any problem."""
    for status, response in responses.items():
        if status < "400":
            kinds = [
                describe_kind(media["schema"]) for media in response.get("content", {}).values()
            ]
            yield Answer(status, response["description"], (kinds or [SafeString("")])[0])


def _describe(schema: Schema) -> SafeString:
    """What the field is for, its limits and its default."""
    described = [schema, *(schema.get("anyOf") or ())]
    limits = [
        text.format(part[name])
        for part in described
        for name, text in _LIMITS.items()
        if isinstance(part.get(name), int) and abs(part[name]) < _LARGEST_LIMIT
    ]
    default = schema.get("default")
    if default not in (None, "", [], {}):
        limits.append(f"`{json.dumps(default)}` by default")
    sentence = ", ".join(limits)
    text = f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""
    return prose(" ".join(filter(None, (schema.get("description", ""), text))))
