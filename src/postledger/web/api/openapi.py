"""The API's OpenAPI 3.1 document, built once in each process."""

import json
from functools import cache
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from postledger.web.api.api import api
from postledger.web.shared import problems
from postledger.web.shared.problems import Problem

_SCHEMAS = "#/components/schemas/"
_RETRY = frozenset({429, 503})
_RETRY_AFTER = {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds to wait."}


@require_safe
def serve_document(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(_build_json(), content_type="application/json")


def build_document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_build_json())
    return document


@cache
def _build_json() -> str:
    """Ninja's document with problems, which take it seconds: any operation may end with any one."""
    document: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema(path_prefix="/v1/")))
    schema = Problem.model_json_schema(mode="serialization", ref_template=f"{_SCHEMAS}{{model}}")
    document["components"]["schemas"] |= {**schema.pop("$defs"), "Problem": schema}
    answers = {str(status): _describe_problem(status) for status in problems.DEFAULTS}
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"] = dict(sorted((operation["responses"] | answers).items()))
            for parameter in operation["parameters"]:
                parameter["schema"] = _without_null(parameter["schema"])
    return json.dumps(document)


def _describe_problem(status: int) -> dict[str, Any]:
    content = {problems.MEDIA_TYPE: {"schema": {"$ref": f"{_SCHEMAS}Problem"}}}
    headers = {"headers": {"Retry-After": _RETRY_AFTER}} if status in _RETRY else {}
    return {"description": HTTPStatus(status).phrase, "content": content, **headers}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A URL or a header can leave a value out; it cannot contain null."""
    choices = [choice for choice in schema.pop("anyOf", []) if choice != {"type": "null"}]
    return {**schema, **choices[0]} if choices else schema
