"""The API's OpenAPI 3.1 document, built once in each process."""

import json
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from postledger.web.api.api import api
from postledger.web.shared import problems

_RETRY = frozenset({"429", "503"})
_RETRY_AFTER = {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds to wait."}


@require_safe
def serve_document(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(_json(), content_type="application/json")


@cache
def _json() -> str:
    return json.dumps(build_document())


def build_document() -> dict[str, Any]:
    """Ninja's document with the media type of problems and with headers, which it lacks."""
    document: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema(path_prefix="/v1/")))
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"] = dict(sorted(operation["responses"].items()))
            for status, response in operation["responses"].items():
                _correct_response(status, response)
            for parameter in operation["parameters"]:
                parameter["schema"] = _without_null(parameter["schema"])
    return document


def _correct_response(status: str, response: dict[str, Any]) -> None:
    if int(status) in problems.DEFAULTS:
        response["content"] = {problems.MEDIA_TYPE: response["content"].pop("application/json")}
    if status in _RETRY:
        response["headers"] = {"Retry-After": _RETRY_AFTER}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A URL or a header can leave a value out; it cannot contain null."""
    choices = [choice for choice in schema.pop("anyOf", []) if choice != {"type": "null"}]
    return {**schema, **choices[0]} if choices else schema
