"""Samples of requests in curl and Python, made from the examples of the OpenAPI document."""

import json
from collections.abc import Mapping
from typing import Any

type Schema = Mapping[str, Any]

JSON = "application/json"
_UNKNOWN = "…"
_EXAMPLES = {
    "date-time": "2026-12-24T18:00:00Z",
    "email": "alice@example.com",
    "uuid": "5b0f4d0e-0d8e-4d6e-9b1a-5a3c1f6f0c11",
}
_CHOICES = ("oneOf", "anyOf", "allOf")
_INDENT = 4
_FILE = "people.csv"
_FILE_COMMENT = f"# {_FILE} begins with\n# email,first_name\n# alice@example.com,Alice"


class SampleWriter:
    """Writes the samples of one document."""

    def __init__(self, document: Schema) -> None:
        self._schemas: Mapping[str, Schema] = document["components"]["schemas"]
        [server] = document["servers"]
        self._base_url: str = server["url"] if "://" in server["url"] else ""

    def write_curl(self, method: str, path: str, described: Schema) -> str:
        words = "curl" if method == "GET" else f"curl -X {method}"
        url = f"{self._base_url or '$URL'}{self._fill_path(path, described)}"
        lines = [f'{words} "{url}"', '  -H "Authorization: Bearer $KEY"']
        media_type, schema = _find_body(described)
        if media_type:
            lines.append(f'  -H "Content-Type: {media_type}"')
        if media_type == JSON:
            body = json.dumps(self.make_example(schema), indent=2, ensure_ascii=False)
            # An apostrophe would end the argument of the shell.
            lines.append("  -d '{}'".format(body.replace("'", r"'\''").replace("\n", "\n  ")))
        elif media_type:
            lines.append(f"  --data-binary @{_FILE}\n\n{_FILE_COMMENT}")
        return " \\\n".join(lines)

    def write_python(self, method: str, path: str, described: Schema) -> str:
        filled = json.dumps(f"{self._base_url}{self._fill_path(path, described)}")
        arguments = [filled if self._base_url else f'os.environ["URL"] + {filled}']
        headers = '"Authorization": f"Bearer {os.environ[\'KEY\']}"'
        media_type, schema = _find_body(described)
        if media_type not in {"", JSON}:
            headers += f', "Content-Type": "{media_type}"'
        arguments.append(f"headers={{{headers}}}")
        if media_type == JSON:
            arguments.append(f"json={write_literal(self.make_example(schema), depth=1)}")
        elif media_type:
            arguments.append(f'content=open("{_FILE}", "rb").read()')
        indent = " " * _INDENT
        lines = [
            *([f"{_FILE_COMMENT}\n"] if media_type not in {"", JSON} else []),
            "import os\n\nimport httpx\n",
            f"response = httpx.{method.lower()}(",
            *(f"{indent}{argument}," for argument in arguments),
            ")",
            "response.raise_for_status()",
            f"print({_read_answer(described)})",
        ]
        return "\n".join(lines)

    def make_example(self, schema: Schema) -> object:
        """A value of the schema: its own example, or its required fields, or else its first one."""
        schema = self.resolve(schema)
        values = [*schema.get("examples", ()), *schema.get("enum", ())]
        if "const" in schema:
            values.append(schema["const"])
        choices = [part for name in _CHOICES for part in schema.get(name, ())]
        if values or choices:
            return values[0] if values else self.make_example(choices[0])
        if schema.get("type") == "object":
            return self._make_object(schema)
        if schema.get("type") == "array":
            return [self.make_example(schema["items"])] if schema.get("minItems") else []
        return _make_plain(schema)

    def _make_object(self, schema: Schema) -> dict[str, object]:
        fields = schema.get("properties", {})
        names = list(schema.get("required", ())) or list(fields)[:1]
        values = {name: self.make_example(fields[name]) for name in names}
        return {} if list(values.values()) == [_UNKNOWN] and "required" not in schema else values

    def resolve(self, schema: Schema) -> Schema:
        """What stands beside a reference counts for more, as an example of the field."""
        name = schema.get("$ref", "").rpartition("/")[2]
        return {**self._schemas[name], **schema} if name else schema

    def _fill_path(self, path: str, described: Schema) -> str:
        for parameter in described["parameters"]:
            if parameter["in"] == "path":
                value = str(self.make_example(parameter["schema"]))
                path = path.replace(f"{{{parameter['name']}}}", value)
        return path


def _find_body(described: Schema) -> tuple[str, Schema]:
    """The first media type of the body, and its schema; an empty text without a body."""
    content = described.get("requestBody", {}).get("content", {})
    return next(((name, media["schema"]) for name, media in content.items()), ("", {}))


def _read_answer(described: Schema) -> str:
    answers = [answer for status, answer in described["responses"].items() if status < "400"]
    media_types = [name for answer in answers for name in answer.get("content", {})]
    if not media_types:
        return "response.status_code"
    return "response.json()" if JSON in media_types else "response.text"


def _make_plain(schema: Schema) -> object:
    match schema.get("type"):
        case "boolean":
            return True
        case "integer" | "number":
            return schema.get("default", schema.get("minimum", 1))
        case _:
            return _EXAMPLES.get(schema.get("format", ""), _UNKNOWN)


def write_literal(value: object, *, depth: int = 0) -> str:
    """A value of JSON as Python writes it, one entry a line."""
    inner, outer = " " * _INDENT * (depth + 1), " " * _INDENT * depth
    match value:
        case dict() if value:
            entries = [
                f"{inner}{json.dumps(name)}: {write_literal(part, depth=depth + 1)},"
                for name, part in value.items()
            ]
            return "\n".join(["{", *entries, f"{outer}}}"])
        case list() if value:
            entries = [f"{inner}{write_literal(part, depth=depth + 1)}," for part in value]
            return "\n".join(["[", *entries, f"{outer}]"])
        case str():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return repr(value)
