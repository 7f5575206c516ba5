"""The OpenAPI document as a page shows it: operations and schemas, with every type in words."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from postledger.web.api.docs.samples import SampleWriter, Schema

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
    fields: Sequence[Field]


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
    curl: str
    python: str

    def mentions(self, words: str) -> bool:
        """Whether it has all of the words, in any case, in its text or its fields."""
        fields = [field.name for field in (*self.parameters, *self.fields)]
        parts = (self.method, self.path, self.id, self.title, self.description, *self.scopes)
        text = " ".join((*parts, *fields)).casefold()
        return all(word in text for word in words.casefold().split())


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
        self._samples = SampleWriter(document)

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
            list(self._fields(body)),
            list(self._answers(described["responses"])),
            self._samples.write_curl(method, path, described),
            self._samples.write_python(method, path, described),
        )

    def _fields(self, schema: Schema) -> Iterator[Field]:
        schema = self._samples.resolve(schema)
        required = schema.get("required", ())
        for name, part in schema.get("properties", {}).items():
            yield Field(name, describe_kind(part), _describe(part), name in required)

    def _answers(self, responses: Mapping[str, Schema]) -> Iterator[Answer]:
        """Those of success: any operation may end with any problem."""
        for status, response in responses.items():
            if status < "400":
                media = next(iter(response.get("content", {}).values()), None)
                schema: Schema = media["schema"] if media else {}
                kind = describe_kind(schema) if media else SafeString("")
                yield Answer(status, response["description"], kind, list(self._fields(schema)))


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
