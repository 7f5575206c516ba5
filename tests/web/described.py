"""The operations of the API as its description tells them, each with a request that fits it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from postledger.accounts.keys import Scope
from postledger.web.api import openapi
from tests.web import uploads
from tests.web.callers import Caller, Reply

DOCUMENT = openapi.build_document()
# What a description cannot say: names of things that must exist.
BODIES: Mapping[str, Mapping[str, Any]] = {
    "sendCampaign": {"campaign_tag": "june", "article_key": "plan"},
    "testCampaign": {"addresses": ["r9@example.com"]},
    "previewTemplate": {"locale": "en"},
    "addTemplateVersion": {
        "texts": [{"locale": "en", "subject": "a", "format": "html", "body": "<p>a</p>"}]
    },
    "previewImport": uploads.WANTED,
    "startImport": uploads.WANTED,
    "putSubscription": {"state": "pending"},
    "createList": {"key": "weekly"},
    "createTopic": {"key": "alarms", "template": "plan"},
    "publishEvents": {"events": [{"data": {"place": "Porto"}}]},
    "createSource": {"key": "feed", "topic": "notices"},
    "changeSource": {"interval_seconds": 5},
    "createKey": {"scopes": ["setup:write"]},
    "addMember": {"role": "viewer"},
    "createAccount": {"kind": "sandbox"},
    "setQuotaSource": {"url": "https://api.example.com/credits", "path": "left"},
    "resolveDoubts": {"stream_id": 1},
    "requeueDeadLetters": {"code": "550 5.1.1"},
    "discardDeadLetters": {"code": "550 5.1.1"},
}
_BY_FORMAT = {
    "email": "r9@example.com",
    "uuid": "5b0f4d0e-0d8e-4d6e-9b1a-5a3c1f6f0c11",
    "date-time": "2036-01-31T12:00:00Z",
}


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    scopes: frozenset[Scope]
    shown_with: Scope | None
    is_open_to_test_keys: bool
    body: Any

    def ask(self, who: Caller, names: Mapping[str, object]) -> Reply:
        """Sends the request with what `names` has for the parameters of the path."""
        path = self.path
        for name, value in names.items():
            path = path.replace(f"{{{name}}}", str(value))
        assert "{" not in path, path
        if self.id == "uploadImport":
            return uploads.bring(who, uploads.PEOPLE)
        return who.ask(self.method, path, self.body)


def operations() -> list[Operation]:
    return [
        Operation(
            described["operationId"],
            method.upper(),
            path,
            frozenset(map(Scope, described["x-scopes"])),
            described["x-shown-with"] and Scope(described["x-shown-with"]),
            described["x-open-to-test-keys"],
            _body(described),
        )
        for path, methods in DOCUMENT["paths"].items()
        for method, described in methods.items()
        # A mailout needs a Notion, and has tests of its own.
        if described["operationId"] != "sendMailout"
    ]


def _body(described: Mapping[str, Any]) -> Any:
    content = described.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return None
    return {**_example(content["schema"]), **BODIES.get(described["operationId"], {})}


def _example(schema: Mapping[str, Any]) -> Any:
    """The smallest value that the schema allows, of its own examples where it has some."""
    if "$ref" in schema:
        return _example(DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    for choices in (schema.get("examples"), schema.get("enum")):
        if choices:
            return choices[0]
    for choices in (schema.get("anyOf"), schema.get("oneOf"), schema.get("allOf")):
        if choices:
            return _example(choices[0])
    return schema["const"] if "const" in schema else _example_of_type(schema)


def _example_of_type(schema: Mapping[str, Any]) -> Any:
    match schema["type"]:
        case "object":
            properties = schema.get("properties", {})
            return {name: _example(properties[name]) for name in schema.get("required", ())}
        case "array":
            return [_example(schema["items"])] * schema.get("minItems", 0)
        case "string":
            return _BY_FORMAT.get(schema.get("format", ""), "a")
        case "integer":
            return schema.get("minimum", 1)
        case kind:
            return {"boolean": False, "number": 1.5}[kind]
