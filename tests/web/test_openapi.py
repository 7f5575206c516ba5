"""The description in OpenAPI is valid and complete, and its examples are accepted."""

import json
import re
from collections.abc import Iterator
from typing import Any

from django.test import Client
from openapi_spec_validator import OpenAPIV31SpecValidator

from postledger.web.api import openapi
from postledger.web.shared import problems
from tests.web.callers import Caller


def test_the_description_is_served_and_valid() -> None:
    document = openapi.build_document()
    response = Client().get("/v1/openapi.json")
    errors = OpenAPIV31SpecValidator(document).iter_errors()

    assert response.status_code == 200
    assert json.loads(response.content) == document
    assert document["openapi"].startswith("3.1")
    assert [(list(error.absolute_path), error.message) for error in errors] == []


def operations() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method} {path}", operation)
        for path, methods in openapi.build_document()["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_operation_is_described_and_declares_every_problem_and_its_key() -> None:
    for name, operation in operations():
        responses = operation["responses"]
        declared = {int(status) for status in responses if int(status) >= 400}

        assert declared == set(problems.DEFAULTS), name
        assert all(set(responses[str(s)]["content"]) == {problems.MEDIA_TYPE} for s in declared)
        assert operation["security"] == [{"ApiKeyAuth": []}], name
        assert operation["operationId"], name
        assert operation["description"], name
        parameters = operation["parameters"]
        assert [item["name"] for item in parameters if not item.get("description")] == [], name


def names(part: Any) -> Iterator[str]:
    match part:
        case {"properties": properties}:
            yield from properties
        case {"in": "path" | "query", "name": name}:
            yield name
        case _:
            pass
    for inner in (
        part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    ):
        yield from names(inner)


def test_every_field_and_every_parameter_is_spelt_in_snake_case() -> None:
    every = set(names(openapi.build_document()))

    assert len(every) > 100
    assert [name for name in every if not re.fullmatch("[a-z]+(_[a-z]+)*", name)] == []


def test_the_example_of_a_mail_is_taken(alice: Caller) -> None:
    [example] = openapi.build_document()["components"]["schemas"]["MailIn"]["examples"]

    assert alice.post("/v1/email/send", example).status == 202
