"""The API's description in OpenAPI 3.1, made once for each process."""

import json
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from postledger.web.api.door import api
from postledger.web.shared import problems

_RETRY = frozenset({"429", "503"})
_RETRY_AFTER = {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds to wait."}


@require_safe
def document(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(_written(), content_type="application/json")


@cache
def _written() -> str:
    return json.dumps(described())


def described() -> dict[str, Any]:
    """Ninja's schema, corrected: it knows one media type for all answers, and no headers."""
    schema: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema(path_prefix="/v1/")))
    for operations in schema["paths"].values():
        for operation in operations.values():
            operation["responses"] = dict(sorted(operation["responses"].items()))
            for status, response in operation["responses"].items():
                _correct_response(status, response)
            for parameter in operation["parameters"]:
                parameter["schema"] = _without_null(parameter["schema"])
    return schema


def _correct_response(status: str, response: dict[str, Any]) -> None:
    if int(status) in problems.KINDS:
        response["content"] = {problems.MEDIA_TYPE: response["content"].pop("application/json")}
    if status in _RETRY:
        response["headers"] = {"Retry-After": _RETRY_AFTER}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """An address and a header can leave a value out; they cannot hold a null."""
    choices = [choice for choice in schema.pop("anyOf", []) if choice != {"type": "null"}]
    return {**schema, **choices[0]} if choices else schema
