"""The API's OpenAPI 3.1 document, built once in each process."""

import json
from functools import cache
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from ninja import NinjaAPI

from postledger.web.api.api import OUTSIDE, api
from postledger.web.shared import problems
from postledger.web.shared.problems import Problem

_SCHEMAS = "#/components/schemas/"
_RETRY = frozenset({429, 503})
_RETRY_AFTER = {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds to wait."}


@require_safe
def serve_document(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(_build_json(settings.PUBLIC_URL), content_type="application/json")


def build_document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_build_json(settings.PUBLIC_URL))
    return document


@cache
def _build_json(public_url: str) -> str:
    """Ninja's documents, which take it seconds, with problems: any operation may end with any."""
    document = _describe(api, "v1/")
    schemas = document["components"]["schemas"]
    for route, part in OUTSIDE.items():
        described = _describe(part, route)
        document["paths"] |= described["paths"]
        schemas |= described["components"]["schemas"]
    schema = Problem.model_json_schema(mode="serialization", ref_template=f"{_SCHEMAS}{{model}}")
    document["components"]["schemas"] = schemas | {**schema.pop("$defs"), "Problem": schema}
    document["servers"] = [{"url": public_url.rstrip("/") or "/"}]
    answers = {str(status): _describe_problem(status) for status in problems.DEFAULTS}
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"] = dict(sorted((operation["responses"] | answers).items()))
            operation["parameters"] = list(map(_describe_parameter, operation["parameters"]))
    return json.dumps(document)


def _describe(part: NinjaAPI, path_prefix: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        json.dumps(part.get_openapi_schema(path_prefix=path_prefix))
    )
    return document


def _describe_problem(status: int) -> dict[str, Any]:
    content = {problems.MEDIA_TYPE: {"schema": {"$ref": f"{_SCHEMAS}Problem"}}}
    headers = {"headers": {"Retry-After": _RETRY_AFTER}} if status in _RETRY else {}
    return {"description": HTTPStatus(status).phrase, "content": content, **headers}


def _describe_parameter(parameter: dict[str, Any]) -> dict[str, Any]:
    # Ninja repeats the examples of the schema beside it, where OpenAPI has another form for them.
    described = {name: value for name, value in parameter.items() if name != "examples"}
    return {**described, "schema": _without_null(parameter["schema"])}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A URL or a header can leave a value out; it cannot contain null."""
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    is_absent = "default" in schema and schema["default"] is None
    left_out = {"anyOf", *(["default"] if is_absent else [])}
    kept = {name: value for name, value in schema.items() if name not in left_out}
    return {**kept, **choices[0]} if choices else kept
